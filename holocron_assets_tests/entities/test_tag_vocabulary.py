"""The vocabulary: what it says, and what is wrong with one that cannot be used."""

from pathlib import Path

import pytest

from holocron_assets.entities.data_files import DataFileError
from holocron_assets.entities.tags.vocabulary import Vocabulary, read_vocabulary
from holocron_assets.settings import PROJECT_FOLDER, written_by_people

_TEXT = """
visibility:
  internal:
    any: ["category:.+ stubs"]
    sample: ["category:driftpedia .+"]
tags:
  topic:smuggling:
    name: Smuggling
    synonyms: ["category:smugglers", "topic:contraband"]
    broader: ["category:crime"]
  topic:contraband:
    name: Contraband
  topic:free trade:
    name: Free trade
    replaced_by: topic:smuggling
    visibility: hidden
"""


def read(folder: Path, text: str) -> Vocabulary:
    file = folder / "words.yaml"
    file.write_text(text, encoding="utf-8")
    return read_vocabulary(file)


def test_the_projects_own_vocabulary_can_be_used() -> None:
    vocabulary = read_vocabulary(PROJECT_FOLDER / "data" / "tags.yaml")
    assert vocabulary.words["category:smugglers"] == "topic:smuggling"


def test_a_person_may_keep_the_vocabulary_elsewhere(tmp_path: Path) -> None:
    assert written_by_people({})["tags.yaml"] == PROJECT_FOLDER / "data" / "tags.yaml"
    moved = written_by_people({"HOLOCRON_TAGS": str(tmp_path / "own.yaml")})
    assert moved["tags.yaml"] == tmp_path / "own.yaml"


def test_synonyms_and_what_was_replaced_lead_to_one_word(tmp_path: Path) -> None:
    assert read(tmp_path, _TEXT).words == {
        "category:smugglers": "topic:smuggling",
        "topic:contraband": "topic:smuggling",
        "topic:free trade": "topic:smuggling",
    }


def test_relations_are_written_from_both_sides(tmp_path: Path) -> None:
    assert read(tmp_path, _TEXT).relations == [
        ("category:crime", "narrower", "topic:smuggling"),
        ("category:smugglers", "synonym", "topic:smuggling"),
        ("topic:contraband", "synonym", "topic:smuggling"),
        ("topic:free trade", "replaced_by", "topic:smuggling"),
        ("topic:smuggling", "broader", "category:crime"),
    ]


def test_a_source_has_its_own_patterns_next_to_those_of_any_source(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, _TEXT)
    assert vocabulary.patterns("internal", "sample") == ("category:.+ stubs", "category:driftpedia .+")
    assert vocabulary.patterns("internal", "other") == ("category:.+ stubs",)
    assert vocabulary.patterns("hidden", "sample") == ()


def test_an_empty_vocabulary_says_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "tags: {}\n").words == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tags: {Smuggling: {name: x}}", "must be a tag's id, TYPE:NAME"),
        ("tags: {'topic:Smuggling': {name: x}}", "must be written 'topic:smuggling'"),
        ("tags: {'topic:a': {}}", r"tags\.topic:a\.name: is missing"),
        (
            "tags: {'topic:a': {name: x, broder: []}}",
            r"tags\.topic:a\.broder: is no known key; did you mean 'broader'.; allowed are name, ",
        ),
        ("tags: {'topic:a': {name: x, visibility: secret}}", r"tags\.topic:a\.visibility: .*'internal'"),
        ("tags: {'topic:a': {name: x, synonyms: ['topic:a']}}", "leads in a circle: topic:a to topic:a"),
        (
            (
                "tags: {'topic:a': {name: x, replaced_by: 'topic:b'}, "
                "'topic:b': {name: y, replaced_by: 'topic:a'}}"
            ),
            "leads in a circle: topic:a to topic:b to topic:a",
        ),
        (
            (
                "tags: {'topic:a': {name: x, synonyms: ['topic:c']}, "
                "'topic:b': {name: y, synonyms: ['topic:c']}}"
            ),
            r"tags\.topic:c: leads to 'topic:a' and to 'topic:b'",
        ),
        ("visibility: {internal: {any: ['(?=x)']}}", r"visibility\.internal\.any\.0: .*RE2"),
        ("visibility: {secret: {}}", r"visibility\.secret"),
        ("- a", "top level"),
        ("tags: [", "not a readable YAML file"),
    ],
)
def test_a_vocabulary_that_cannot_be_used_names_file_and_key(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DataFileError, match=rf"words\.yaml.*{problem}"):
        read(tmp_path, text)


def test_a_missing_vocabulary_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"gone\.yaml"):
        read_vocabulary(tmp_path / "gone.yaml")
