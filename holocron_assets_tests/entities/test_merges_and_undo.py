"""What people decide about entities of a real lake, and what is there again once they take it back."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from resolved_wiki import START, Seen, Wiki, missing, redirect, wiki_of

from holocron_assets.decisions.log import new_decision, record, undo
from holocron_assets.entities.deciding import decide_merge, decide_state
from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITY_PAIRS

pytestmark = pytest.mark.system

VARN, GORT, DUNE = (entity_id("sample", title) for title in ("Varn", "Gort", "Dune"))
PAGES_OF_BOTH = (("Varn", 1), ("Gort", 2))


def decide(wiki: Wiki, kind: str, **about: Any) -> str:
    row = new_decision(kind, author="Kim", reason="It is so.", **about)
    record(wiki.lake, [row])
    wiki.batches += 1
    wiki.resolve_all()
    return str(row["decision_id"])


def merge(wiki: Wiki, gone: str, into: str) -> str:
    return decide(wiki, "merge", entity_id=gone, other_id=into)


def take_back(wiki: Wiki, decision: str) -> None:
    undo(wiki.lake, decision, author="Kim", reason="It was not so.")
    wiki.batches += 1
    wiki.resolve_all()


def stands(wiki: Wiki, identifier: str, entity_type: str = "Species") -> Row:
    [row] = wiki.query(
        "from lake.entities where valid_to is null "
        f"and entity_id = '{identifier}' and entity_type = '{entity_type}'"
    )
    return row


def states_by_type(wiki: Wiki) -> dict[str, str]:
    """The state of the only entity, in each type that ever had it."""
    rows = wiki.query("select entity_type, state from lake.entities where valid_to is null")
    return {row["entity_type"]: row["state"] for row in rows}


def says(wiki: Wiki) -> list[dict[str, Any]]:
    columns = "entity_type, entity_id, title, state, merged_into"
    return wiki.query(f"select {columns} from lake.entities where valid_to is null order by all")  # noqa: S608 - our own


def names(wiki: Wiki, identifier: str) -> set[str]:
    rows = wiki.query("from lake.entity_aliases")
    return {row["alias"] for row in rows if row["entity_id"] == identifier}


@pytest.fixture
def wiki(tmp_path: Path) -> Wiki:
    made = wiki_of(tmp_path, Seen("Varn", 1), Seen("Gort", 2), Seen("Dune", 3), redirect("Gortians", "Gort"))
    made.resolve_all()
    return made


def test_what_was_merged_leads_to_its_survivor_and_gives_it_its_names(wiki: Wiki) -> None:
    merge(wiki, GORT, VARN)
    gort = stands(wiki, GORT)
    assert (gort["state"], gort["merged_into"], gort["state_by"]) == ("merged", VARN, "person:Kim")
    assert stands(wiki, VARN)["state"] == "promoted"
    assert (gort["review_reason"], stands(wiki, VARN)["review_reason"]) == (None, None)
    assert (names(wiki, VARN), names(wiki, GORT)) == ({"Varn", "Gort", "Gortians"}, set())
    assert wiki.stale() == []


def test_undo_brings_back_ids_states_and_names(wiki: Wiki) -> None:
    before, aliases = says(wiki), wiki.query("from lake.entity_aliases order by all")
    decision = merge(wiki, GORT, VARN)
    assert says(wiki) != before
    take_back(wiki, decision)
    assert says(wiki) == before
    assert wiki.query("from lake.entity_aliases order by all") == aliases
    history = wiki.query("from lake.entities order by valid_from")
    states = [row["state"] for row in history if row["entity_id"] == GORT]
    assert states == ["promoted", "merged", "promoted"]


def test_a_merged_id_leads_to_the_last_survivor_when_that_is_merged_too(wiki: Wiki) -> None:
    merge(wiki, GORT, VARN)
    second = merge(wiki, VARN, DUNE)
    assert [stands(wiki, each)["merged_into"] for each in (GORT, VARN, DUNE)] == [DUNE, DUNE, None]
    take_back(wiki, second)
    assert [stands(wiki, each)["merged_into"] for each in (GORT, VARN, DUNE)] == [VARN, None, None]


def test_an_entity_that_a_person_promoted_stays_so_whatever_becomes_of_its_page(wiki: Wiki) -> None:
    decide(wiki, "promote", entity_id=GORT)
    wiki.crawl(Seen("Gort", 2, "Droid", revision_id=101, confidence=0.99))
    wiki.resolve_all()
    gort = stands(wiki, GORT)
    assert (gort["state"], gort["state_by"]) == ("adjudicated", "person:Kim")
    assert "a person promoted or merged it as Species" in gort["review_reason"]
    assert wiki.query("from lake.entities where entity_type = 'Droid'") == []
    wiki.crawl(missing("Gort"))
    wiki.resolve_all()
    gort = stands(wiki, GORT)
    assert (gort["state"], gort["review_reason"]) == ("adjudicated", "page deleted")
    assert wiki.stale() == []


def test_what_a_person_suppressed_stays_out_until_that_is_undone(wiki: Wiki) -> None:
    decision = decide(wiki, "suppress", entity_id=GORT)
    wiki.crawl(Seen("Gort", 2, revision_id=101, confidence=0.99))
    wiki.resolve_all()
    assert (stands(wiki, GORT)["state"], stands(wiki, GORT)["state_by"]) == ("suppressed", "person:Kim")
    take_back(wiki, decision)
    assert stands(wiki, GORT)["state"] == "promoted"


def test_a_merge_outlives_the_page_of_what_was_merged(wiki: Wiki) -> None:
    merge(wiki, GORT, VARN)
    wiki.crawl(redirect("Gort", "Varn", 2, revision_id=101))
    wiki.resolve_all()
    assert stands(wiki, GORT)["merged_into"] == VARN
    wiki.crawl(missing("Varn"), Seen("Gort", 2, revision_id=102))
    wiki.resolve_all()
    assert (stands(wiki, GORT)["state"], stands(wiki, VARN)["merged_into"]) == ("promoted", GORT)


def test_a_merge_outlives_the_page_of_what_was_merged_though_another_page_has_its_title(wiki: Wiki) -> None:
    merge(wiki, GORT, VARN)
    wiki.crawl(missing("Dune"), Seen("Gort", 3, "Droid", revision_id=101, confidence=0.99))
    wiki.resolve_all()
    assert stands(wiki, GORT)["merged_into"] == VARN
    assert stands(wiki, DUNE, "Droid")["title"] == "Gort"
    assert wiki.stale() == []


def test_a_machine_that_types_a_merged_page_otherwise_only_raises_a_flag(wiki: Wiki) -> None:
    decision = merge(wiki, GORT, VARN)
    wiki.crawl(Seen("Gort", 2, "Droid", revision_id=101, confidence=0.99))
    wiki.resolve_all()
    assert stands(wiki, GORT)["merged_into"] == VARN
    assert "type in dispute" in stands(wiki, GORT)["review_reason"]
    take_back(wiki, decision)
    assert stands(wiki, GORT)["state"] == "suppressed"
    assert stands(wiki, GORT, "Droid")["state"] == "promoted"
    assert wiki.stale() == []


def test_a_merged_page_that_a_person_types_otherwise_is_not_lost_and_flagged(wiki: Wiki) -> None:
    merge(wiki, GORT, VARN)
    wiki.crawl(Seen("Gort", 2, "Droid", revision_id=101, method="person"))
    wiki.resolve_all()
    gort = stands(wiki, GORT, "Droid")
    assert (gort["state"], gort["merged_into"]) == ("promoted", None)
    assert "Kim merged it with 'Varn', which is of type Species" in gort["review_reason"]
    assert stands(wiki, GORT)["state"] == "suppressed"
    wiki.crawl(Seen("Gort", 2, revision_id=102, method="person"))
    wiki.resolve_all()
    assert stands(wiki, GORT)["merged_into"] == VARN
    assert wiki.stale() == []


def test_entities_that_no_type_has_any_more_are_merged_in_the_type_that_had_them_last(wiki: Wiki) -> None:
    wiki.crawl(*(Seen(title, page_id, "Droid", method="person") for title, page_id in PAGES_OF_BOTH))
    wiki.resolve_all()
    wiki.crawl(*(Seen(title, page_id, "ReferenceMeta") for title, page_id in PAGES_OF_BOTH))
    wiki.resolve_all()
    record(wiki.lake, [new_decision("merge", author="Kim", reason="So.", entity_id=GORT, other_id=VARN)])
    wiki.resolve_in_stages()
    assert stands(wiki, GORT, "Droid")["merged_into"] == VARN
    assert (stands(wiki, GORT)["state"], stands(wiki, GORT)["merged_into"]) == ("suppressed", None)
    assert wiki.stale() == []


@pytest.mark.parametrize(("old", "new"), [("Species", "Droid"), ("Droid", "Species")])
@pytest.mark.parametrize("is_suppressed_first", [False, True])
def test_an_entity_without_a_page_that_two_types_had_is_promoted_in_the_one_that_had_it_last(
    tmp_path: Path, old: str, new: str, *, is_suppressed_first: bool
) -> None:
    wiki = wiki_of(tmp_path, Seen("Gort", 2, old))
    wiki.resolve_all()
    for revision, kind in enumerate((new, "ReferenceMeta"), start=101):
        wiki.crawl(Seen("Gort", 2, kind, revision_id=revision, method="person"))
        wiki.resolve_all()
    if is_suppressed_first:
        decide(wiki, "suppress", entity_id=GORT)
        wiki.resolve_all()
    decide(wiki, "promote", entity_id=GORT)
    wiki.resolve_all()
    assert states_by_type(wiki) == {new: "adjudicated", old: "suppressed"}
    assert wiki.stale() == []


@pytest.mark.parametrize(("old", "new"), [("Species", "Droid"), ("Droid", "Species")])
def test_a_promoted_entity_goes_with_its_page_to_another_type_after_the_page_was_about_no_entity(
    tmp_path: Path, old: str, new: str
) -> None:
    wiki = wiki_of(tmp_path, Seen("Gort", 2, old))
    wiki.resolve_all()
    decide(wiki, "promote", entity_id=GORT)
    for revision, kind in enumerate(("ReferenceMeta", new), start=101):
        wiki.crawl(Seen("Gort", 2, kind, revision_id=revision, method="person"))
        wiki.resolve_all()
    assert states_by_type(wiki) == {new: "adjudicated", old: "suppressed"}
    assert wiki.stale() == []


@pytest.mark.parametrize("new", ["Droid", "PersonCharacter"])
@pytest.mark.parametrize("between", ["ReferenceMeta", "Unknown"])
@pytest.mark.parametrize("pair", [(GORT, VARN), (VARN, GORT)])
def test_a_merged_entity_goes_with_its_page_to_another_type_after_the_page_was_about_no_entity(
    tmp_path: Path, pair: tuple[str, str], between: str, new: str
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1), Seen("Gort", 2, method="person"))
    wiki.resolve_all()
    merge(wiki, *pair)
    for revision, kind in enumerate((between, new), start=101):
        method = "person" if kind == new else "rules"
        wiki.crawl(Seen("Gort", 2, kind, revision_id=revision, method=method, confidence=0.9))
        wiki.resolve_all()
    assert (stands(wiki, GORT)["state"], stands(wiki, GORT, new)["state"]) == ("suppressed", "promoted")
    assert "Kim merged it with 'Varn', which is of type Species" in stands(wiki, GORT, new)["review_reason"]
    assert wiki.stale() == []


def test_a_decision_follows_no_merge_of_two_entities_that_have_different_types_now(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1), Seen("Gort", 2), Seen("Dune", 3))
    wiki.resolve_all()
    merge(wiki, VARN, DUNE)
    wiki.crawl(Seen("Dune", 3, "Droid", revision_id=101, method="person"))
    wiki.resolve_all()
    decide_merge(wiki.lake, gone=GORT, into=VARN, author="Kim", reason="One and the same.")
    promoted = decide_state(wiki.lake, "promote", entity_id=GORT, author="Kim", reason="It belongs here.")
    assert promoted["title"] == "Varn"


@pytest.mark.parametrize(("old", "new"), [("Species", "Droid"), ("Droid", "Species")])
@pytest.mark.parametrize("days", [1, -1])
def test_a_suppressed_entity_has_the_type_that_its_page_has_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, days: int
) -> None:
    wiki = wiki_of(tmp_path, Seen("Gort", 2, old))
    wiki.resolve_all()
    decide(wiki, "suppress", entity_id=GORT)
    now = START + timedelta(days=wiki.batches + days)
    monkeypatch.setattr(Wiki, "_now", lambda _: now)
    wiki.crawl(Seen("Gort", 2, new, revision_id=101, method="person"))
    wiki.resolve_all()
    assert wiki.query("select entity_type, state from entities") == [
        {"entity_type": new, "state": "suppressed"}
    ]
    history = wiki.query("from lake.entities order by valid_from, valid_to nulls last")
    assert [row["entity_type"] for row in history] == [old, old, old, new]
    assert wiki.stale() == []


def test_a_decision_that_is_there_before_its_pages_takes_effect_with_them(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1))
    merge(wiki, GORT, VARN)
    decide(wiki, "promote", entity_id=VARN)
    assert says(wiki) == [{**says(wiki)[0], "title": "Varn", "state": "adjudicated"}]
    wiki.crawl(Seen("Gort", 2))
    wiki.resolve_all()
    assert stands(wiki, GORT)["merged_into"] == VARN
    assert wiki.stale() == []


def test_pairs_that_were_damaged_are_made_again_also_in_a_type_that_lost_its_last_page(wiki: Wiki) -> None:
    wiki.crawl(missing("Varn"), missing("Gort"), missing("Dune"), missing("Gortians"))
    wiki.resolve_all()
    wiki.lake.file(ENTITY_PAIRS, "Species").unlink()  # as a damaged file is set aside
    assert wiki.stale() == ["Species"], "without pairs, no merge by a person is followed"
    merge(wiki, VARN, into=GORT)
    assert (stands(wiki, VARN)["state"], stands(wiki, VARN)["merged_into"]) == ("merged", GORT)
