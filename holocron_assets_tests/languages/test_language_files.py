"""Files of languages: each can be used, and an error in one names the file and the key."""

import re
from pathlib import Path

import pytest

from holocron_assets.classify.rule_file import RuleError
from holocron_assets.classify.rules import load_rules
from holocron_assets.classify.rules_of_language import in_language
from holocron_assets.entities.facts.date_patterns import date_patterns
from holocron_assets.languages.language import (
    Language,
    LanguageError,
    known_languages,
    language_code,
    load_language,
    read_language,
)
from holocron_assets.settings import PROJECT_FOLDER
from holocron_assets.signals.vocabulary import page_words

FOLDER = PROJECT_FOLDER / "holocron_assets" / "languages"
KNOWN = sorted(known_languages())
RULES = list(load_rules().rules.values())


@pytest.mark.parametrize("code", KNOWN)
def test_every_part_of_a_language_can_be_used(code: str) -> None:
    language = load_language(code)
    assert language.name
    assert language.grammar.copulas_singular
    assert page_words(code).stops.abbreviations
    assert len(set(date_patterns(code).months.values())) == 12
    assert load_rules(code).rules.keys() == load_rules().rules.keys()


@pytest.mark.parametrize("code", sorted(known_languages() - {"en"}))
def test_a_language_knows_nouns_of_the_types_that_are_entities(code: str) -> None:
    by_id = load_rules().rules
    types = {by_id[name].type for name, words in load_language(code).rules.items() if "nouns" in words}
    assert types >= {"PersonCharacter", "Droid", "Species", "LocationPlace", "VehicleCraft", "ObjectItem"}
    assert types >= {"Organization", "EventConflict", "WorkMedia", "TimePeriod", "Concept"}


@pytest.mark.parametrize("code", sorted(known_languages() - {"en"}))
def test_labels_of_fields_are_spelled_as_they_are_looked_up(code: str) -> None:
    labels = load_language(code).english_labels()
    assert all(label == " ".join(label.lower().split()) for label in labels)


@pytest.mark.parametrize(
    ("stated", "code"),
    [(None, "en"), ("en", "en"), ("en-GB", "en"), ("de-formal", "de"), ("ja", "ja"), ("zh-hans", "zh-hans")],
)
def test_a_variant_of_a_language_has_the_words_of_the_language(stated: str | None, code: str) -> None:
    assert language_code(stated) == code


def test_a_language_without_a_file_has_no_words() -> None:
    assert load_language("ja") == Language()


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("copulas_plural: [are, were]", "copulas_plural: are", "grammar.copulas_plural"),
        ("joiners:", "joints:", "grammar.joints"),
        ("[may], [june, jun]", "[may]", "dates"),
        ("before_noun: [active,", "before_noun: [activ,", "grammar"),
        ('decimal: "."', 'decimal: ";"', "values.decimal"),
        ("name: English", "name: [", None),
    ],
)
def test_a_wrong_word_names_file_and_key(tmp_path: Path, before: str, after: str, key: str | None) -> None:
    text = (FOLDER / "en.yaml").read_text(encoding="utf-8")
    assert before in text
    path = tmp_path / "en.yaml"
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(LanguageError, match=re.escape(str(path)) + (f": key '{key}'" if key else "")):
        read_language(path)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"place.lighthouse": {"nouns": ["phare"]}}, "there is no rule 'place.lighthouse'"),
        ({"place.land": {"noun": ["phare"]}}, "rule 'place.land': noun"),
        ({"lead.who": {"category_pattern": ["x"]}}, "rule 'lead.who'.*category_pattern"),
        ({"title.redirect": {"nouns": ["phare"]}}, "rule 'title.redirect'.*nouns cannot fire in title"),
        (
            {"place.land": {"nouns": ["lac"]}, "plant": {"nouns": ["lac"]}},
            "rule 'plant': noun 'lac' is taken",
        ),
    ],
)
def test_wrong_words_of_a_rule_name_the_rule(words: dict[str, dict[str, list[str]]], problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        in_language(RULES, words, "Testish")
