"""Candidates for what lists name and no page is about, and what they are worth."""

from pathlib import Path

import pytest
from listed_wiki import ListedWiki, droid, list_of, named

from holocron_assets.entities.data_files import DataFileError, read_data_file
from holocron_assets.entities.mentions.confidence import (
    DEFAULT_CONFIDENCE_FILE,
    MentionConfidence,
    mention_confidence,
)
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.declaration.schema import Row


def candidates(wiki: ListedWiki, entity_type: str = "Droid") -> dict[str, Row]:
    """By title, the candidates that only lists give."""
    with open_snapshot(wiki.lake) as snapshot:
        rows = snapshot.mentions.candidates(entity_type, mention_confidence())
    return {row["title"]: row for row in rows}


def mention(**columns: object) -> Row:
    return {"supported": True, "method": "name", "title_key": 1, **columns}


def test_several_lists_that_name_one_thing_give_one_candidate(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"List of a": list_of("Nobody"), "List of b": list_of("nobody")})
    newest = wiki.crawl({"List of c": list_of("Nobody", continuity="")})
    wiki.read_lists(
        {
            "List of a": [named("Nobody")],
            "List of b": [named("nobody")],
            "List of c": [named("Nobody", revision_id=77)],
        }
    )
    found = candidates(wiki)
    assert list(found) == ["Nobody"]
    row = found["Nobody"]
    assert (row["origin"], row["method"], row["page_id"], row["has_lead"]) == (
        "mention",
        "model",
        None,
        False,
    )
    assert (row["batch"], row["revision_id"], row["continuity"]) == (newest, 77, "canon")
    assert (row["confidence"], row["needs_review"]) == (0.80, False)


def test_lists_of_both_continuities_name_what_is_in_both(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"List of a": list_of("Nobody"), "List of b": list_of("Nobody", continuity="leg")})
    wiki.read_lists({"List of a": [named("Nobody")], "List of b": [named("Nobody")]})
    assert candidates(wiki)["Nobody"]["continuity"] == "both"


@pytest.mark.parametrize(
    ("item", "said", "name"),
    [
        ("[[Brass Tam (droid)|Brass Tam]]", "Brass Tam", "Brass Tam"),
        ("[[Kettle]]s", "Kettles", "Kettle"),
        ("nobody", "nobody", "Nobody"),
        ("droid #9", "droid #9", "droid #9"),
    ],
)
def test_what_only_lists_name_is_called_as_its_page_would_be(
    tmp_path: Path, item: str, said: str, name: str
) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"List of a": list_of(item)})
    wiki.read_lists({"List of a": [named(said)]})
    assert [row["name"] for row in candidates(wiki).values()] == [name]


def test_what_a_page_is_about_is_no_candidate_of_a_list(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"List of a": list_of("[[Kettle]]"), "Kettle": droid("Kettle")})
    wiki.read_lists({"List of a": [named("Kettle", "Species"), named("Nobody", "Species")]})
    assert list(candidates(wiki)) == []
    assert list(candidates(wiki, "Species")) == ["Nobody"]


def test_what_a_page_may_be_about_is_a_candidate_until_the_page_is_sure(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"List of a": list_of("[[Kettle]]"), "Kettle": "Kettle is what it is."})
    wiki.read_lists({"List of a": [named("Kettle")]})
    assert list(candidates(wiki)) == ["Kettle"]
    wiki.crawl({"Kettle": droid("Kettle")})
    assert list(candidates(wiki)) == []


@pytest.mark.parametrize(
    ("mentions", "confidence"),
    [
        ([mention(supported=False)], 0.30),
        ([mention(supported=False), mention(supported=False, title_key=2)], 0.30),
        ([mention()], 0.70),
        ([mention(), mention()], 0.70),
        ([mention(), mention(title_key=2)], 0.75),
        ([mention(method="link")], 0.80),
        ([mention(method="link", supported=False), mention()], 0.70),
        ([mention(method="link", title_key=key) for key in range(9)], 0.89),
    ],
)
def test_confidence_is_that_of_the_surest_list_and_grows_with_lists(
    mentions: list[Row], confidence: float
) -> None:
    assert mention_confidence().of(mentions) == confidence


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("most: 0.60", "must not fall"),
        ("most: 1.5", "most: Input should be less than or equal to 1"),
        ("more: 0.5", "most: is missing"),
        ("most: [", "not a readable YAML file"),
    ],
)
def test_a_file_that_cannot_be_used_names_itself_and_the_key(
    tmp_path: Path, change: str, problem: str
) -> None:
    file = tmp_path / "worth.yaml"
    text = DEFAULT_CONFIDENCE_FILE.read_text(encoding="utf-8")
    file.write_text(text.replace("most: 0.89", change), encoding="utf-8")
    with pytest.raises(DataFileError, match=rf"worth\.yaml.*{problem}"):
        read_data_file(file, MentionConfidence)
