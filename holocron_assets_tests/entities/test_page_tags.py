"""The tags of pages and of chunks of lists: who says what, how much and how surely."""

from typing import Any

import pytest

from holocron_assets.entities.tags.names import LONGEST_TAG, tag_id, tag_name
from holocron_assets.entities.tags.page_tags import chunk_tag_rows, page_tag_rows
from holocron_assets.entities.tags.worth import tag_worth
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row

PAGE = {
    "source": "sample",
    "batch": "sample-000001",
    "title": "Varn",
    "title_key": title_key("sample", "Varn"),
    "revision_id": 7,
}


def signals(**columns: Any) -> Row:
    return {**PAGE, "is_redirect": False, "categories": [], "continuity": "unknown", **columns}


def page_type(**columns: Any) -> Row:
    nothing: Row = {"types": [], "canon_context": None, "work_medium": None, "tags": None}
    return {**PAGE, "primary_type": "Species", "confidence": 0.9, **nothing, **columns}


def tags(signals_row: Row, type_row: Row) -> dict[tuple[str, str], tuple[float, float]]:
    """Weight and confidence by tag and method."""
    return {
        (row["tag_id"], row["method"]): (row["weight"], row["confidence"])
        for row in page_tag_rows(signals_row, type_row)
    }


def test_categories_are_tags_once_each() -> None:
    worth = tag_worth().category
    found = tags(signals(categories=["Sentient species", "sentient_species", "?!", "Ötherons"]), page_type())
    expected = (worth.weight, worth.confidence)
    assert {tag: value for tag, value in found.items() if tag[1] == "category"} == {
        ("category:sentient species", "category"): expected,
        ("category:ötherons", "category"): expected,
    }


def test_types_weigh_what_they_weigh_for_the_page() -> None:
    types = [{"type": "Species", "weight": 0.7}, {"type": "PersonCharacter", "weight": 0.2}]
    assert tags(signals(), page_type(types=types)) == {
        ("type:species", "types"): (0.7, 0.9),
        ("type:personcharacter", "types"): (0.2, 0.2),
    }


def test_a_type_that_a_person_gave_against_all_weights_is_all_of_the_page() -> None:
    assert tags(signals(), page_type(confidence=1.0)) == {("type:species", "types"): (1.0, 1.0)}


@pytest.mark.parametrize("continuity", ["canon", "legends", "both", "real"])
def test_a_known_continuity_is_a_tag(continuity: str) -> None:
    assert (f"continuity:{continuity}", "signals") in tags(signals(continuity=continuity), page_type())


def test_a_work_has_its_medium_and_the_continuity_of_its_story() -> None:
    work = page_type(primary_type="WorkMedia", work_medium="film", canon_context="legends")
    found = tags(signals(continuity="real"), work)
    assert found.keys() == {
        ("continuity:real", "signals"),
        ("continuity:legends", "types"),
        ("medium:film", "types"),
        ("type:workmedia", "types"),
    }
    assert found["medium:film", "types"] == (tag_worth().medium.weight, 0.9)


def test_what_is_unknown_is_no_tag() -> None:
    work = page_type(primary_type="WorkMedia", work_medium="unknown", canon_context="unknown")
    assert tags(signals(), work).keys() == {("type:workmedia", "types")}


def test_a_models_words_are_topics() -> None:
    worth = tag_worth().topic
    found = tags(signals(), page_type(tags=["Smuggling", " smuggling ", "the Lamp\tWar"]))
    expected = (worth.weight, worth.confidence)
    assert {tag: value for tag, value in found.items() if tag[1] == "model"} == {
        ("topic:smuggling", "model"): expected,
        ("topic:the lamp war", "model"): expected,
    }


def test_a_redirect_carries_nothing() -> None:
    assert page_tag_rows(signals(is_redirect=True, categories=["Redirects"]), page_type()) == []


def test_a_chunk_is_about_the_types_of_what_it_names_by_their_share() -> None:
    said = [("Droid", True), ("Droid", True), ("Droid", False), ("Species", True)]
    rows = chunk_tag_rows(
        [{**PAGE, "chunk": 2, "type": name, "supported": supported} for name, supported in said]
        + [{**PAGE, "chunk": None, "type": "Species", "supported": True}]
    )
    assert [(row["target_id"], row["chunk"], row["tag_id"], row["weight"]) for row in rows] == [
        (f"{PAGE['title_key']}#0", 0, "type:species", 1.0),
        (f"{PAGE['title_key']}#2", 2, "type:droid", 0.75),
        (f"{PAGE['title_key']}#2", 2, "type:species", 0.25),
    ]
    named = tag_worth().named
    assert rows[1]["confidence"] == round((2 * named.supported + named.unsupported) / 3, 3)
    assert {row["target_kind"] for row in rows} == {"chunk"}


def test_names_are_data() -> None:
    assert tag_name("a\x00b\u200bc_d\u202e") == "a bc d"
    assert len(tag_name("x" * 5_000)) == LONGEST_TAG
    assert tag_id("category", "Straße:  <b>") == "category:strasse: <b>"
