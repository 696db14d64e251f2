"""The closed list of keys: infobox rules keep to it, and models' words are read as a part of it only."""

import subprocess
import sys
from pathlib import Path

import pytest

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.entities.data_files import DataFileError
from holocron_assets.entities.facts.reference import vocabulary_markdown
from holocron_assets.entities.facts.rules import RULES_FOLDER, read_rule_file
from holocron_assets.entities.facts.stated_keys import InfoboxVocabulary, closed_list, load_keys
from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.settings import PROJECT_FOLDER

KEYS = load_keys()
RULES = [rule for path in sorted(RULES_FOLDER.glob("*.yaml")) for rule in read_rule_file(path).rules]


def infobox_vocabulary(**sections: object) -> InfoboxVocabulary:
    empty: dict[str, object] = {"relations": {}, "facts": {}, "names": {}, "external_ids": {}}
    return InfoboxVocabulary.model_validate({"of_both_kinds": ["founded"], **empty, **sections})


def test_each_shipped_rule_states_a_key_of_the_list_and_each_key_of_infoboxes_has_a_rule() -> None:
    stated = {(rule.kind, rule.key) for rule in RULES}
    assert stated <= KEYS.keys()
    assert {name for name, one in KEYS.items() if not one.is_read} <= stated


def test_shipped_rules_read_values_of_the_kind_that_the_list_gives() -> None:
    for rule in (rule for rule in RULES if rule.kind == "fact"):
        value = KEYS["fact", rule.key].value
        assert rule.reads == (value if value in {"number", "date"} else "text"), rule.key


def test_a_key_of_shipped_rules_that_can_have_one_value_only_is_single_in_the_list() -> None:
    single = {(rule.kind, rule.key) for rule in RULES if rule.single}
    assert {name for name in single if not KEYS[name].single} == set()
    facts = {name for name, one in KEYS.items() if one.single and one.kind == "fact"}
    assert facts == {name for name in single if name[0] == "fact"}


def test_an_inverse_says_the_same_with_the_ends_changed_over() -> None:
    for one in (one for one in KEYS.values() if one.inverse and one.inverse != one.key):
        back = KEYS["relation", str(one.inverse)]
        assert (back.inverse, back.from_types, back.to_types) == (one.key, one.to_types, one.from_types)
    assert KEYS["relation", "has_member"].means == "TO belongs to the group FROM, or serves in it"


def test_definitions_name_both_ends_and_types_are_those_of_pages() -> None:
    types = set(load_taxonomy().types)
    for one in KEYS.values():
        assert "FROM" in one.means
        assert one.is_read or ("TO" if one.kind == "relation" else "VALUE") in one.means, one.key
        assert types.issuperset({*one.from_types, *one.to_types}), one.key


def test_no_models_word_and_no_sentence_is_read_as_what_only_infoboxes_say() -> None:
    words = load_vocabulary()
    read = {("relation", key) for key in words.relations} | {("fact", key) for key in words.facts}
    assert read == {name for name, one in KEYS.items() if one.is_read}
    assert {(row["kind"], row["key"]) for row in words.words()} == read
    assert words.key_of("fact", "armament") is None
    assert words.key_of("relation", "commanded_by") == "led_by"


def test_a_key_that_is_declared_twice_or_as_two_kinds_is_refused() -> None:
    words = load_vocabulary()
    said = {"means": "FROM and TO"}
    for sections, problem in (
        ({"relations": {"member_of": said}}, "relation 'member_of' is declared twice"),
        ({"relations": {"has_member": said}}, "relation 'has_member' is declared twice"),
        ({"relations": {"homeworld": said}}, "of_both_kinds: homeworld: a key has one kind"),
        ({"names": {"homeworld": said}}, "of_both_kinds: homeworld: a key has one kind"),
        ({"of_both_kinds": ["founded", "died"]}, "of_both_kinds: died: a key has one kind"),
    ):
        with pytest.raises(DataFileError, match=problem):
            closed_list(words, infobox_vocabulary(**sections))
    assert closed_list(words, infobox_vocabulary(facts={"tone": said}))["fact", "tone"].means == "FROM and TO"


def test_no_command_reads_the_list_before_it_needs_it() -> None:
    code = (
        "import holocron_assets.cli.main\n"
        "from holocron_assets.entities.facts.stated_keys import load_keys\n"
        "print(load_keys.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert done.stdout.split() == ["0"]


def test_the_page_of_the_vocabulary_is_what_the_data_gives() -> None:
    page = Path(PROJECT_FOLDER, "docs", "vocabulary.md").read_text(encoding="utf-8")
    assert page == vocabulary_markdown(), (
        "docs/vocabulary.md is not what the data gives; write it again with "
        "`.venv/bin/python -m holocron_assets.entities.facts.reference > docs/vocabulary.md`"
    )
