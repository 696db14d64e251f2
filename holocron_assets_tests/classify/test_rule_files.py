import re
import shutil
from pathlib import Path

import pytest
from pages_read import signals

from holocron_assets.classify.rule_file import RULES_FOLDER, RULES_VERSION, RuleError, rules_version
from holocron_assets.classify.rules import (
    RuleBook,
    classify_page,
    load_rules,
)

RULE = """
rules:
  - id: own.lighthouse
    type: LocationPlace
    reason: The head noun names a light for ships
    confidence: {lead: 0.9}
    nouns: [phare]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the project's rules, to be broken."""
    return Path(shutil.copytree(RULES_FOLDER, tmp_path / "rules"))


def test_every_rule_has_an_id_of_its_own_a_type_and_a_reason() -> None:
    rules = load_rules().rules
    assert len(rules) > 100
    assert all(rule.reason and rule.confidence for rule in rules.values())


def test_a_rule_in_a_file_of_its_own_takes_effect_without_any_code(folder: Path) -> None:
    page = signals("Vessa", "Vessa was a phare near the coast.")
    assert classify_page(page)["primary_type"] == "Unknown"
    (folder / "own.yaml").write_text(RULE, encoding="utf-8")
    answer = classify_page(page, RuleBook(folder))
    assert (answer["primary_type"], answer["rule_ids"]) == ("LocationPlace", ["own.lighthouse"])


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("LocationPlace", "Place", "type 'Place' is not in the taxonomy"),
        ("{lead: 0.9}", "{lead: 1.5}", "confidence.lead"),
        ("{lead: 0.9}", "{verse: 0.9}", "confidence.verse"),
        ("{lead: 0.9}", "{title: 0.9}", "nouns cannot fire in title"),
        ("nouns: [phare]", "nouns: []", "nouns: "),
        ("nouns: [phare]", "", "has nothing to match"),
        ("nouns: [phare]", "nouns: [phare]\n    suffixes: [phare]", "matches in several ways"),
        ("nouns: [phare]", "nouns: [Planet]", "noun 'planet' is taken by rule 'place.celestial'"),
        ("nouns: [phare]", "lead_pattern: '('", "lead_pattern"),
        ("nouns: [phare]", "noun: [phare]", "noun: "),
        ("nouns: [phare]", "nouns: [phare]\n    work_medium: film", "work_medium is for WorkMedia only"),
        ("nouns: [phare]", "nouns: [phare]\n    unless: [no.such.rule]", "no.such.rule"),
        ("own.lighthouse", "place.celestial", "id 'place.celestial' is taken"),
        ("    reason: The head noun names a light for ships\n", "", "reason"),
    ],
)
def test_a_wrong_rule_names_where_it_is_and_what_is_wrong(
    folder: Path, before: str, after: str, problem: str
) -> None:
    assert before in RULE
    (folder / "own.yaml").write_text(RULE.replace(before, after), encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        RuleBook(folder)
    message = str(caught.value)
    assert problem in message
    assert str(folder) in message
    assert re.search(r"rule '(own\.lighthouse|place\.celestial)'", message)


@pytest.mark.parametrize("content", ["- a list", "rules: text", "rules: [1]", "rules: [", "other: []", ""])
def test_a_file_that_holds_no_rules_is_named(folder: Path, content: str) -> None:
    path = folder / "own.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RuleError, match=re.escape(str(path))):
        RuleBook(folder)


@pytest.mark.parametrize(
    ("name", "before", "after", "key"),
    [
        ("weighing.yaml", "settled: 0.80", "settled: 80", "settled"),
        ("weighing.yaml", "pieces: 3", "pieces: 0", "pieces"),
        ("weighing.yaml", "margin:", "margins:", "margin"),
    ],
)
def test_wrong_thresholds_name_file_and_key(
    folder: Path, name: str, before: str, after: str, key: str
) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(RuleError, match=f"{re.escape(str(path))}: key '{key}'"):
        RuleBook(folder)


def test_the_version_changes_with_any_rule_or_threshold(folder: Path) -> None:
    versions = {rules_version(folder)}
    assert versions == {RULES_VERSION}
    for path in sorted(folder.glob("*.yaml")):
        path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
        versions.add(rules_version(folder))
    (folder / "own.yaml").write_text(RULE, encoding="utf-8")
    versions.add(rules_version(folder))
    assert len(versions) == len(list(folder.glob("*.yaml"))) + 1
    assert RuleBook(folder).version == rules_version(folder)
