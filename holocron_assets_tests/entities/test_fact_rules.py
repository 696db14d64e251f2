"""Infobox rules: how fields are matched, whose rules count, and what is wrong with a file."""

import textwrap
from itertools import takewhile
from pathlib import Path

import pytest

from holocron_assets.entities.facts import rules
from holocron_assets.entities.facts.rules import (
    FACT_READER_VERSION,
    RULES_FOLDER,
    InfoboxRuleError,
    check_rule_files,
    load_rule_book,
    normalised_field,
    read_rule_file,
    rules_version,
)
from holocron_assets.planning.batch_derivations import FACTS_DERIVATION
from holocron_assets.settings import PROJECT_FOLDER, infobox_rules_folder


def keys(source: str, template: str, field: str, *folders: Path) -> list[str]:
    return [one.rule.key for one in load_rule_book(source, *folders).of(template, field)]


def write(folder: Path, text: str, name: str = "own.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Homeworld", "homeworld"),
        ("Affiliation(s)", "affiliation"),
        ("affiliation_s", "affiliation"),
        ("Point(s) of interest", "point of interest"),
        (" release_date ", "release date"),
        ("commanders2", "commanders"),
        ("Height/depth", "height depth"),
        ("", ""),
    ],
)
def test_case_spaces_plural_signs_and_numbers_of_a_field_do_not_count(written: str, name: str) -> None:
    assert normalised_field(written) == name


def test_a_source_without_rules_of_its_own_has_those_for_any() -> None:
    assert keys("sample", "Character", "Affiliation(s)") == ["affiliated_with"]
    assert keys("sample", "Character", "no such field") == []


def test_a_sources_own_rules_go_first_and_those_for_a_template_before_those_for_any() -> None:
    assert keys("wookieepedia", "Character", "Affiliation(s)") == ["member_of"]
    assert keys("wookieepedia", "Planet", "Affiliation(s)") == ["affiliated_with"]


@pytest.mark.parametrize(
    ("template", "field", "key"),
    [
        ("Galaxy", "Regions", "contains_region"),
        ("Galaxy", "Sectors", "contains_sector"),
        ("Region", "Sectors", "contains_sector"),
        ("Trade route", "Regions", "in_region"),
        ("System", "Sector", "in_sector"),
    ],
)
def test_a_galaxy_lies_in_none_of_its_regions_and_a_region_in_none_of_its_sectors(
    template: str, field: str, key: str
) -> None:
    assert keys("sample", template, field) == [key]


@pytest.mark.parametrize(
    ("template", "field", "key"),
    [
        ("Moon", "orbits", "orbits"),
        ("Planet", "Orbits", "orbits"),
        ("Space station", "orbited_body", "orbits"),
        ("Star", "orbits", "orbited_by"),
        ("Star system", "Orbits", "orbited_by"),
        ("Planet", "orbiting bodies", "orbited_by"),
    ],
)
def test_a_moon_circles_what_it_orbits_and_what_a_star_lists_circles_the_star(
    template: str, field: str, key: str
) -> None:
    assert keys("sample", template, field) == [key]


@pytest.mark.parametrize("template", ["Planet", "Moon", "System", "Sector", "Nebula", "Constellation"])
def test_the_species_of_a_place_are_native_to_it(template: str) -> None:
    assert keys("wookieepedia", template, "species") == ["native_species"]
    assert keys("wookieepedia", "Character", "species") == ["species", "of_species"]


@pytest.mark.parametrize(
    ("template", "field", "key"),
    [
        ("Starship class", "sensor", "sensor_system"),
        ("Droid series", "sensor", "sensor_color"),
        ("City", "moon", "on_planet"),
        ("Planet", "moon", "moon"),
        ("Force power", "alternate", "alias"),
        ("Force power", "Alternate name(s)", "alias"),
        ("Starship class", "hdsystem", "hyperdrive_system"),
        ("Starship class", "skeleton", "minimum_crew"),
        ("Company", "founding", "founded"),
        ("Character", "cyber", "cybernetics"),
        ("Weapon", "type", "type"),
    ],
)
def test_a_parameter_of_wookieepedia_means_what_its_label_says(template: str, field: str, key: str) -> None:
    assert keys("wookieepedia", template, field) == [key]


def test_what_is_retired_is_not_destroyed() -> None:
    assert keys("wookieepedia", "Starship class", "retired") == []


def test_a_field_that_a_file_ignores_has_no_rule_in_infoboxes_of_that_template(tmp_path: Path) -> None:
    assert keys("wookieepedia", "Character", "type") == []
    write(tmp_path, "ignored: {Info box: [Crew_size]}\nrules: [{fields: [crew size], key: crew, kind: fact}]")
    assert keys("mine", "info_box", "Crew size", tmp_path) == []
    assert keys("mine", "Ship", "Crew size", tmp_path) == ["crew"]


def test_only_what_circles_a_sun_has_a_position_among_its_planets() -> None:
    assert keys("sample", "Planet", "position") == ["orbital_position"]
    assert keys("sample", "Moon", "Position") == ["orbital_position"]
    assert keys("sample", "Celestial body", "orbital position") == ["orbital_position"]
    assert keys("sample", "Football player", "position") == []


def test_a_person_adds_rules_for_a_source_in_a_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        "sources: [sample]\nconfidence: 0.7\nrules:\n"
        "  - {fields: [Bell tone], key: tone, kind: fact, means: FROM sounds like VALUE}\n"
        "  - {fields: [homeworld], key: hails_from, kind: relation, means: FROM hails from TO}\n",
    )
    [rule] = load_rule_book("sample", tmp_path).of("Bell", "bell_tone")
    assert (rule.rule.key, rule.rule_id, rule.confidence) == ("tone", "own:bell tone", 0.7)
    assert keys("sample", "Character", "Homeworld", tmp_path) == ["hails_from"]
    assert keys("wookieepedia", "Character", "Homeworld", tmp_path) == ["homeworld", "comes_from"]


def test_a_folder_that_is_not_there_has_no_rules(tmp_path: Path) -> None:
    assert keys("sample", "Character", "Gender", tmp_path / "none") == ["gender"]
    assert rules_version(tmp_path / "none") == rules_version(tmp_path / "neither")


def test_another_word_in_a_rule_makes_another_version(tmp_path: Path) -> None:
    path = write(tmp_path, "rules:\n  - {fields: [a], key: one, kind: fact}\n")
    before = rules_version(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("one", "two"), encoding="utf-8")
    assert rules_version(tmp_path) != before


def test_another_word_in_a_shipped_rule_makes_page_facts_again() -> None:
    version = rules_version(RULES_FOLDER, infobox_rules_folder())
    assert FACTS_DERIVATION.code_version == f"{FACT_READER_VERSION}-{version}"
    assert rules_version(infobox_rules_folder()) != version


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules: [", "cannot be read as YAML"),
        ("rules:\n  - {fields: [a], key: Bad Key, kind: fact}\n", r"rules\.0\.key"),
        ("rules:\n  - {fields: [a], key: a, kind: opinion}\n", r"rules\.0\.kind"),
        ("rules:\n  - {fields: [], key: a, kind: fact}\n", r"rules\.0\.fields"),
        (
            "rules:\n  - {fields: [a], key: a, kind: fact, colour: red}\n",
            r"rules\.0\.colour: is no known key; allowed ",
        ),
        ("rules:\n  - {fields: [a], kind: fact, kye: a}\n", r"rules\.0\.key: is missing"),
        ("confidence: 2\nrules: []\n", "confidence"),
        (
            "rules:\n  - {fields: [a], key: a, kind: fact}\n  - {fields: [A], key: a, kind: fact}\n",
            r"rules\.1\.fields: 'a' gives 'a' already",
        ),
        (
            "rules:\n  - {fields: [a], key: tone, kind: fact}\n",
            r"rules\.0\.key: the vocabulary has no fact 'tone': .* `means: a sentence with FROM and VALUE`",
        ),
        (
            "rules:\n  - {fields: [a], key: rings_for, kind: relation}\n",
            r"rules\.0\.key: the vocabulary has no relation 'rings_for': .* FROM and TO`",
        ),
        (
            "rules:\n  - {fields: [a], key: tone, kind: fact, means: How it sounds}\n",
            r"rules\.0\.key: what 'tone' means is a sentence with FROM and VALUE",
        ),
        (
            (
                "rules:\n  - {fields: [a], key: gender, kind: fact}\n"
                "  - {fields: [b], key: gender, kind: fact, means: FROM is VALUE}\n"
            ),
            r"rules\.1\.key: the vocabulary says what 'gender' means already: leave `means` out",
        ),
        (
            "rules:\n  - {fields: [a], key: homeworld, kind: relation}\n",
            r"rules\.0\.key: 'homeworld' is a fact in the vocabulary, and no relation",
        ),
        (
            (
                "rules:\n  - {fields: [a], key: tone, kind: fact, means: FROM sounds like VALUE}\n"
                "  - {fields: [b], key: tone, kind: relation}\n"
            ),
            r"rules\.1\.key: 'tone' is a fact in this file, and no relation",
        ),
    ],
)
def test_what_is_wrong_with_a_file_names_the_file_and_the_key(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InfoboxRuleError, match=problem) as caught:
        read_rule_file(path)
    assert str(path) in str(caught.value)


def test_a_key_of_ones_own_says_once_in_its_file_what_it_means(tmp_path: Path) -> None:
    write(
        tmp_path,
        "rules:\n  - {fields: [a], key: tone, kind: fact}\n"
        "  - {fields: [b], key: tone, kind: fact, means: FROM sounds like VALUE}\n",
    )
    assert keys("sample", "Bell", "a", tmp_path) == keys("sample", "Bell", "b", tmp_path) == ["tone"]


def test_two_files_that_give_one_key_two_meanings_are_refused_and_both_are_named(tmp_path: Path) -> None:
    one, other = (
        write(tmp_path, f"rules:\n  - {{fields: [a], key: tone, kind: {kind}, means: {means}}}\n", name)
        for name, kind, means in (
            ("one.yaml", "fact", "FROM sounds like VALUE"),
            ("other.yaml", "relation", "FROM sounds like TO"),
        )
    )
    for read in (lambda: load_rule_book("sample", tmp_path), lambda: check_rule_files(tmp_path)):
        with pytest.raises(InfoboxRuleError, match=r"rules\.0\.means: 'tone' is a fact in") as caught:
            read()
        assert str(one) in str(caught.value)
        assert str(other) in str(caught.value)


def test_a_shipped_rule_cannot_say_itself_what_a_key_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        tmp_path, "rules:\n  - {fields: [a], key: tone, kind: fact, means: FROM sounds like VALUE}\n"
    )
    assert read_rule_file(path).rules
    monkeypatch.setattr(rules, "RULES_FOLDER", tmp_path)
    with pytest.raises(InfoboxRuleError, match=r"rules\.0\.key: the vocabulary has no fact 'tone'"):
        read_rule_file(write(tmp_path, path.read_text(encoding="utf-8"), "another.yaml"))


def test_the_rules_in_the_docs_can_be_used(tmp_path: Path) -> None:
    for page, source in (("facts.md", "mywiki"), ("tutorial.md", "sample")):
        lines = (PROJECT_FOLDER / "docs" / page).read_text(encoding="utf-8").splitlines()
        start = next(at for at, line in enumerate(lines) if line.strip().startswith(f"sources: [{source}]"))
        text = "\n".join(takewhile(lambda line: line.strip() not in {"", "END"}, lines[start:]))
        assert read_rule_file(write(tmp_path, textwrap.dedent(text), f"{source}.yaml")).rules


@pytest.mark.parametrize("path", sorted(RULES_FOLDER.glob("*.yaml")), ids=lambda path: path.name)
def test_the_rules_that_the_project_ships_can_be_used(path: Path) -> None:
    assert read_rule_file(path).rules
