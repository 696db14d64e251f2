import pytest
from pages_read import signals, typed

from holocron_assets.classify.merge import page_type_row
from holocron_assets.classify.rule_file import RULES_VERSION
from holocron_assets.classify.rules import classify_page
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import PAGE_TYPES, RULE_CLASSIFICATIONS

PAGES = [
    signals("Vessa", "Vessa was a planet.", infobox_template="Planet", categories=["Planets"]),
    signals("User:Someone", namespace=2),
    signals("Osk"),
    signals("Salt", infobox_template="Book", continuity="real"),
]


def merged(page: Row) -> Row:
    return page_type_row(page, classify_page(page), "run-1")


@pytest.mark.parametrize("page", PAGES)
def test_rows_fit_their_tables(page: Row) -> None:
    assert RULE_CLASSIFICATIONS.to_arrow([classify_page(page)], "sample-000001").num_rows == 1
    assert PAGE_TYPES.to_arrow([merged(page)], "sample-000001").num_rows == 1


def test_the_page_type_says_who_answered_from_which_revision_by_which_rules_and_why() -> None:
    row = merged(PAGES[0])
    assert (row["primary_type"], row["method"], row["run_id"]) == ("LocationPlace", "rules", "run-1")
    assert row["rule_ids"] == ["wookieepedia.place", "place.celestial"]
    assert row["revision_id"] == 40
    assert row["reason"] == "The template is for places (Planet)"


def test_the_reason_names_the_strongest_contradiction() -> None:
    row = merged(signals("Vessa", "Vessa was a pilot.", infobox_template="Planet"))
    assert row["needs_review"]
    assert row["reason"] == (
        "The template is for places (Planet); against it: PersonCharacter, "
        "The head noun names somebody who fights or serves under arms (pilot)"
    )


def test_a_page_that_nothing_is_known_of_says_so() -> None:
    row = merged(PAGES[2])
    assert (row["primary_type"], row["confidence"], row["needs_review"]) == ("Unknown", 0.0, True)
    assert row["reason"] == "Too little speaks for any type"


def test_the_row_names_the_rules_version() -> None:
    assert typed("Osk")["rules_version"] == RULES_VERSION


@pytest.mark.parametrize(
    ("continuity", "evidence", "categories", "context"),
    [
        ("canon", [], [], "canon"),
        ("legends", [], [], "legends"),
        ("both", [], [], "both"),
        ("unknown", [], [], "unknown"),
        ("real", [], [], "unknown"),
        ("real", ["template:Top|leg=legends", "template:Top|rwm=real"], [], "legends"),
        ("real", [], ["Canon novels"], "canon"),
        ("real", [], ["Canon novels", "Legends novels"], "both"),
        ("real", [], ["Canonical forms"], "unknown"),
    ],
)
def test_the_canon_context_of_a_work_is_the_continuity_of_its_story(
    continuity: str, evidence: list[str], categories: list[str], context: str
) -> None:
    answer = typed(
        "Salt",
        infobox_template="Book",
        continuity=continuity,
        continuity_evidence=evidence,
        categories=categories,
    )
    assert answer["canon_context"] == context
