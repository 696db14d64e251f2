from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holocron_assets.entities.history import current_rows, resolve_entities
from holocron_assets.entities.promotion import PromotionPolicy, Thresholds
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITIES

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)
NAMES = ["Varn", "Gort", "Ithra", "Sulom", "Kessa", "Dorn"]
POLICY = PromotionPolicy(
    id="test-1",
    default=Thresholds(staged=0.5, candidate=0.80, promoted=0.90, requires=("page", "lead")),
    types={},
)


def candidate(title: str, page_id: int | None = None, **changes: Any) -> Row:
    return {
        "source": "sample",
        "batch": "sample-000001",
        "title": title,
        "title_key": title_key("sample", title),
        "page_id": page_id,
        "revision_id": 100,
        "entity_type": "Species",
        "name": title.removesuffix("/Legends").removesuffix(" (Legends)"),
        "continuity": "legends" if "Legends" in title else "canon",
        "confidence": 0.95,
        "method": "rules",
        "rule_ids": ["infobox.species"],
        "needs_review": False,
        "has_lead": True,
        "origin": "page",
        "run_id": "run-candidates",
        **changes,
    }


def resolve(
    candidates: Sequence[Row],
    standing: Sequence[Row] = (),
    *,
    now: datetime = NOON,
    run_id: str = "run-1",
    policy: PromotionPolicy = POLICY,
) -> list[Row]:
    rows = resolve_entities("Species", candidates, standing, policy=policy, now=now, run_id=run_id)
    as_stored: list[Row] = ENTITIES.to_arrow(rows, "Species").to_pylist()
    return as_stored


def current(rows: Sequence[Row], title: str) -> Row:
    (row,) = [row for row in rows if row["valid_to"] is None and row["title"] == title]
    return row


def test_a_new_entity_leads_back_to_page_revision_rule_and_run() -> None:
    (row,) = resolve([candidate("Varn", 4)])
    assert {**row, "entity_id": "any"} == {
        "entity_id": "any",
        "entity_type": "Species",
        "source": "sample",
        "name": "Varn",
        "continuity": "canon",
        "title": "Varn",
        "title_key": title_key("sample", "Varn"),
        "page_id": 4,
        "revision_id": 100,
        "batch": "sample-000001",
        "confidence": 0.95,
        "method": "rules",
        "rule_ids": ["infobox.species"],
        "origin": "page",
        "state": "promoted",
        "state_by": "policy:test-1",
        "state_reason": (
            "Confidence is 0.90 or above, a page is about it, the page has a lead, nobody needs to look"
        ),
        "merged_into": None,
        "state_at": NOON,
        "review_reason": None,
        "review_since": None,
        "valid_from": NOON,
        "valid_to": None,
        "run_id": "run-1",
    }


def test_canon_and_legends_are_two_entities_of_one_name() -> None:
    rows = resolve([candidate("Varn", 4), candidate("Varn/Legends", 5)])
    assert {(row["name"], row["continuity"]) for row in rows} == {("Varn", "canon"), ("Varn", "legends")}
    assert len({row["entity_id"] for row in rows}) == 2


def test_the_same_pages_in_a_rebuilt_lake_get_the_same_ids() -> None:
    pages = [candidate("Varn", 4), candidate("Varn/Legends", 5)]
    first, rebuilt = resolve(pages), resolve(pages, now=LATER, run_id="run-9")
    assert [row["entity_id"] for row in first] == [row["entity_id"] for row in rebuilt]


def test_running_again_later_changes_nothing() -> None:
    pages = [candidate("Varn", 4), candidate("Gort")]
    standing = resolve(pages)
    assert resolve(pages, standing, now=LATER, run_id="run-2") == standing


@pytest.mark.parametrize(
    "same", [{"batch": "sample-000002"}, {"run_id": "run-x"}, {"rule_ids": ("infobox.species",)}]
)
def test_where_and_when_a_revision_was_read_is_no_change(same: dict[str, Any]) -> None:
    standing = resolve([candidate("Varn", 4)])
    assert resolve([candidate("Varn", 4, **same)], standing, now=LATER) == standing


@pytest.mark.parametrize(
    "change",
    [
        {"revision_id": 101},
        {"confidence": 0.96},
        {"rule_ids": ["category.species"]},
        {"method": "person"},
        {"page_id": 9},
        {"continuity": "legends"},
        {"needs_review": True},
        {"has_lead": False},
        {"name": "Varns"},
    ],
)
def test_what_the_page_says_differently_closes_a_row_and_opens_one(change: dict[str, Any]) -> None:
    standing = resolve([candidate("Varn", 4)])
    before, after = resolve([{**candidate("Varn", 4), **change}], standing, now=LATER, run_id="run-2")
    assert before == {**standing[0], "valid_to": LATER}
    assert after["entity_id"] == before["entity_id"]
    assert (after["valid_from"], after["valid_to"], after["run_id"]) == (LATER, None, "run-2")
    assert all(after[name] == value for name, value in change.items() if name in after)


def test_the_state_keeps_its_date_and_author_while_it_stays_the_same_for_the_same_reason() -> None:
    renamed = POLICY.model_copy(update={"id": "test-2"})
    standing = resolve([candidate("Varn", 4)])
    rows = resolve([candidate("Varn", 4, revision_id=101)], standing, now=LATER, policy=renamed)
    after = current(rows, "Varn")
    assert (after["state"], after["state_at"], after["state_by"]) == ("promoted", NOON, "policy:test-1")


def test_a_policy_of_another_id_that_decides_the_same_changes_nothing() -> None:
    standing = resolve([candidate("Varn", 4)])
    renamed = POLICY.model_copy(update={"id": "test-2"})
    assert resolve([candidate("Varn", 4)], standing, now=LATER, policy=renamed) == standing


def test_a_stricter_policy_takes_a_promotion_back_and_records_who_when_and_why() -> None:
    strict = PromotionPolicy(
        id="strict", default=Thresholds(staged=0.5, candidate=0.8, promoted=0.99, requires=()), types={}
    )
    rows = resolve([candidate("Varn", 4)], resolve([candidate("Varn", 4)]), now=LATER, policy=strict)
    after = current(rows, "Varn")
    assert (after["state"], after["state_by"], after["state_at"]) == ("candidate", "policy:strict", LATER)
    assert after["state_reason"] == "Not promoted: confidence is below 0.99"


def test_an_entity_without_a_page_is_suppressed_with_its_last_facts() -> None:
    standing = resolve([candidate("Varn", 4)])
    before, after = resolve([], standing, now=LATER, run_id="run-2")
    assert before["valid_to"] == after["valid_from"] == after["state_at"] == LATER
    assert (after["state"], after["state_by"]) == ("suppressed", "policy:test-1")
    assert "no longer typed Species" in after["state_reason"]
    assert (after["page_id"], after["revision_id"], after["run_id"]) == (4, 100, "run-2")


def test_a_suppressed_entity_stays_as_it_is_while_no_page_supports_it() -> None:
    suppressed = resolve([], resolve([candidate("Varn", 4)]), now=LATER)
    assert resolve([], suppressed, now=LATER + MICROSECOND) == suppressed


def test_a_suppressed_entity_comes_back_under_its_id() -> None:
    standing = resolve([candidate("Varn", 4)])
    suppressed = resolve([], standing, now=LATER)
    rows = resolve([candidate("Varn", 4)], suppressed, now=LATER + MICROSECOND)
    assert [row["state"] for row in rows] == ["promoted", "suppressed", "promoted"]
    assert {row["entity_id"] for row in rows} == {standing[0]["entity_id"]}
    assert rows[-1]["state_at"] == LATER + MICROSECOND


def test_an_id_survives_a_rename() -> None:
    standing = resolve([candidate("Varn", 4)])
    rows = resolve([candidate("Varnite", 4)], standing, now=LATER)
    assert current(rows, "Varnite")["entity_id"] == standing[0]["entity_id"]
    assert len(rows) == 2


def test_an_id_survives_a_page_that_is_deleted_and_created_again() -> None:
    standing = resolve([candidate("Varn", 4)])
    rows = resolve([candidate("Varn", 88)], standing, now=LATER)
    assert {row["entity_id"] for row in rows} == {standing[0]["entity_id"]}


def test_an_id_survives_a_merge_into_the_other_way_to_write_the_title() -> None:
    standing = resolve([candidate("Varn (Legends)", 4)])
    rows = resolve([candidate("Varn/Legends", 88)], standing, now=LATER)
    assert {row["entity_id"] for row in rows} == {standing[0]["entity_id"]}


def test_a_new_canon_page_does_not_inherit_from_the_legends_page_moved_off_its_title() -> None:
    old = candidate("Varn", 4, continuity="legends")
    (standing,) = resolve([old])
    rows = resolve([candidate("Varn", 88), candidate("Varn/Legends", 4)], [standing], now=LATER)
    assert current(rows, "Varn/Legends")["entity_id"] == standing["entity_id"]
    assert current(rows, "Varn")["entity_id"] != standing["entity_id"]


def test_the_moved_legends_page_may_be_read_after_the_new_canon_page() -> None:
    (standing,) = resolve([candidate("Varn", 4, continuity="legends")])
    between = resolve([candidate("Varn", 88)], [standing], now=LATER)
    pages = [candidate("Varn", 88), candidate("Varn/Legends", 4)]
    rows = resolve(pages, between, now=LATER + MICROSECOND)
    assert current(rows, "Varn/Legends")["entity_id"] == standing["entity_id"]


def test_pages_without_ids_are_never_taken_for_a_renamed_one() -> None:
    standing = resolve([candidate("Varn")])
    rows = resolve([candidate("Gort")], standing, now=LATER)
    assert current(rows, "Gort")["entity_id"] != standing[0]["entity_id"]
    assert current(rows, "Varn")["state"] == "suppressed"


@pytest.mark.parametrize("name", NAMES)
def test_two_pages_of_one_name_and_continuity_keep_their_ids_when_both_are_created_again(name: str) -> None:
    suffixed, subpage = f"{name} (Legends)", f"{name}/Legends"
    standing = resolve([candidate(suffixed, 4), candidate(subpage, 5)])
    rows = resolve([candidate(suffixed, 84), candidate(subpage, 85)], standing, now=LATER)
    for title in (suffixed, subpage):
        assert current(rows, title)["entity_id"] == current(standing, title)["entity_id"]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_on_a_new_title_stands_for_the_entity_that_was_held_last(name: str) -> None:
    suffixed, subpage = candidate(f"{name} (Legends)", 4), candidate(f"{name}/Legends", 5)
    both = resolve([suffixed, subpage])
    one = resolve([subpage], both, now=LATER)
    moved = candidate(name, 88, continuity="legends")
    rows = resolve([moved], one, now=LATER + MICROSECOND)
    assert current(rows, name)["entity_id"] == current(both, subpage["title"])["entity_id"]


def test_two_pages_that_swap_titles_keep_their_ids() -> None:
    standing = resolve([candidate("Varn", 4), candidate("Gort", 5)])
    rows = resolve([candidate("Varn", 5), candidate("Gort", 4)], standing, now=LATER)
    assert current(rows, "Varn")["entity_id"] == current(standing, "Gort")["entity_id"]
    assert current(rows, "Gort")["entity_id"] == current(standing, "Varn")["entity_id"]


def test_a_page_that_takes_the_name_of_a_moved_entity_gets_an_id_of_its_own() -> None:
    standing = resolve([candidate("Varn", 4)])
    renamed = resolve([candidate("Varnite", 4)], standing, now=LATER)
    rows = resolve([candidate("Varnite", 4), candidate("Varn", 5)], renamed, now=LATER + MICROSECOND)
    assert current(rows, "Varnite")["entity_id"] == standing[0]["entity_id"]
    assert current(rows, "Varn")["entity_id"] != standing[0]["entity_id"]


def test_two_sources_never_share_an_entity() -> None:
    other = candidate("Varn", 4, source="other", title_key=title_key("other", "Varn"))
    rows = resolve([candidate("Varn", 4), other])
    assert len({row["entity_id"] for row in rows}) == 2


def test_a_change_after_the_clock_moved_back_still_comes_later() -> None:
    standing = resolve([candidate("Varn", 4)])
    before, after = resolve([candidate("Varn", 4, revision_id=101)], standing, now=NOON - timedelta(days=1))
    assert before["valid_to"] == after["valid_from"] == NOON + MICROSECOND


def test_two_changes_in_one_microsecond_follow_each_other() -> None:
    rows: list[Row] = []
    for revision in range(100, 104):
        rows = resolve([candidate("Varn", 4, revision_id=revision)], rows, now=NOON)
    assert [row["valid_from"] - NOON for row in rows] == [MICROSECOND * step for step in range(4)]


def test_a_retyped_page_keeps_its_id_in_its_new_types_file() -> None:
    standing = resolve([candidate("Varn", 4)])
    (_, suppressed) = resolve([], standing, now=LATER)
    retyped = candidate("Varn", 4, entity_type="Concept")
    (minted,) = resolve_entities("Concept", [retyped], [], policy=POLICY, now=LATER, run_id="run-2")
    assert minted["entity_id"] == suppressed["entity_id"]
    assert (minted["state"], suppressed["state"]) == ("promoted", "suppressed")


def test_a_wiki_without_entities_gives_no_rows() -> None:
    assert resolve([]) == []


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Species: .* has no time zone"):
        resolve([candidate("Varn", 4)], now=NOON.replace(tzinfo=None))


def test_a_candidate_of_another_type_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="Species: 'Varn' of sample is a row of type Droid"):
        resolve([candidate("Varn", 4, entity_type="Droid")])


def test_a_standing_row_of_another_type_is_refused_by_name() -> None:
    standing = [{**row, "entity_type": "Droid"} for row in resolve([candidate("Varn", 4)])]
    with pytest.raises(ValueError, match="Species: 'Varn' of sample is a row of type Droid"):
        resolve([], standing)


def test_one_title_given_twice_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'Varn' of sample is a candidate 2 times.*newest revision"):
        resolve([candidate("Varn", 4), candidate("Varn", 4, revision_id=101)])


def test_a_file_with_two_current_rows_of_an_entity_is_refused_by_name() -> None:
    (row,) = resolve([candidate("Varn", 4)])
    with pytest.raises(ValueError, match=r"\('Varn'\) has 2 current rows"):
        resolve([], [row, {**row, "valid_from": LATER}])


def test_a_file_with_an_entity_that_ended_is_refused_by_name() -> None:
    (row,) = resolve([candidate("Varn", 4)])
    with pytest.raises(ValueError, match=r"\('Varn'\) has 0 current rows"):
        current_rows([{**row, "valid_to": LATER}])
