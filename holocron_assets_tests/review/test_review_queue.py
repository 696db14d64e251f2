"""The queue: what is in it, in which order, and what takes an item out."""

from pathlib import Path
from typing import Any

import pytest
from review_lake import (
    ALSO_NEM,
    BATCH,
    HOSTILE,
    MENTIONED,
    NEM,
    OSK,
    PAIR,
    PERSON,
    QUAY,
    SOURCE,
    copied,
    fact,
    write,
)

from holocron_assets.decisions.log import new_decision, record, undo
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS, ENTITY_JUDGEMENTS, PAGE_TYPES, REVIEW_ITEMS
from holocron_assets.review.item_detail import item_detail
from holocron_assets.review.past_decisions import decisions_about
from holocron_assets.review.queue import read_queue
from holocron_assets.review.store import stale_review, store_review

CHESS = f"page-{title_key(SOURCE, 'Shoal-chess')}"
ITEMS = {
    CHESS,
    f"page-{title_key(SOURCE, HOSTILE)}",
    f"pair-{PAIR}",
    f"entity-{QUAY}",
    f"promotion-{OSK}",
    f"statement-{NEM}.homeworld",
    "statement-fact-rank",
}


@pytest.fixture
def lake(made_review_lake: Lake, tmp_path: Path) -> Lake:
    return copied(made_review_lake, tmp_path)


def open_ids(lake: Lake) -> set[str]:
    return {row["item_id"] for row in read_queue(lake)}


def said(lake: Lake, kind: str, **about: Any) -> str:
    row = new_decision(kind, author="Ada", reason="A test says so", **about)
    record(lake, [row])
    return str(row["decision_id"])


def test_everything_that_machines_left_open_is_in_it_once(lake: Lake) -> None:
    assert sorted(row["item_id"] for row in read_queue(lake)) == sorted(ITEMS)


def test_the_rank_follows_from_the_other_columns_of_its_row(lake: Lake) -> None:
    rows = {row["item_id"]: row for row in read_queue(lake)}
    page = rows[CHESS]
    assert (page["inbound"], page["dependants"], round(page["uncertainty"], 2)) == (2, 0, 0.39)
    assert page["rank"] == pytest.approx(0.39 * (1 + 1.0986), abs=0.001)
    pair = rows[f"pair-{PAIR}"]
    assert pair["dependants"] == 1, "one has two names, four facts and a relation, the other a name"
    assert pair["uncertainty"] == pytest.approx(0.5), "a model proposes an answer"
    ranks = [row["rank"] for row in read_queue(lake)]
    assert ranks == sorted(ranks, reverse=True)


def test_values_that_contradict_each_other_are_one_item_with_the_surest_first(lake: Lake) -> None:
    (item,) = (row for row in read_queue(lake) if row["item_id"] == f"statement-{NEM}.homeworld")
    assert item["statement_ids"] == ["fact-varn", "fact-rothe"]
    assert "Rothe; Varn" in item["reason"]


@pytest.mark.parametrize(
    ("kind", "about", "settled"),
    [
        ("classify", {"source": SOURCE, "title": "Shoal-chess", "value": "WorkMedia"}, CHESS),
        ("merge", {"entity_id": ALSO_NEM, "other_id": NEM}, f"pair-{PAIR}"),
        ("split", {"entity_id": NEM, "other_id": ALSO_NEM}, f"pair-{PAIR}"),
        ("suppress", {"entity_id": QUAY}, f"entity-{QUAY}"),
        ("promote", {"entity_id": OSK}, f"promotion-{OSK}"),
        ("accept", {"statement_id": "fact-rothe"}, f"statement-{NEM}.homeworld"),
        ("reject", {"statement_id": "fact-rothe"}, f"statement-{NEM}.homeworld"),
        ("reject", {"statement_id": "fact-rank"}, "statement-fact-rank"),
    ],
)
def test_what_is_decided_leaves_it_at_once_and_comes_back_when_that_is_undone(
    lake: Lake, kind: str, about: dict[str, str], settled: str
) -> None:
    decision_id = said(lake, kind, **about)
    assert open_ids(lake) == ITEMS - {settled}
    undo(lake, decision_id, author="Ada", reason="A test says so")
    assert open_ids(lake) == ITEMS


def judged_unsure(*pairs: tuple[str, str, float]) -> list[dict[str, Any]]:
    return [
        {
            "pair_id": f"{one}+{other}",
            "first_id": one,
            "second_id": other,
            "judgement": "unsure",
            "score": score,
        }
        for first, second, score in pairs
        for one, other in [sorted((first, second))]
    ]


@pytest.mark.parametrize(
    ("kind", "about"),
    [
        ("merge", {"entity_id": NEM, "other_id": ALSO_NEM}),
        ("split", {"entity_id": ALSO_NEM, "other_id": NEM}),
        ("split", {"entity_id": MENTIONED, "other_id": ALSO_NEM}),
    ],
)
def test_of_a_pair_with_a_merged_record_its_survivor_is_asked_about_and_settled(
    lake: Lake, kind: str, about: dict[str, str]
) -> None:
    write(lake, ENTITY_JUDGEMENTS, PERSON, judged_unsure((MENTIONED, ALSO_NEM, 0.9)))
    store_review(lake, SOURCE)
    (item,) = (row for row in read_queue(lake) if row["kind"] == "pair")
    assert {item["entity_id"], item["other_id"]} == {NEM, ALSO_NEM}
    assert item_detail(lake, item).judgement is not None
    said(lake, kind, **about)
    assert "pair" not in {row["kind"] for row in read_queue(lake)}


def test_pairs_of_the_same_survivors_are_one_question_about_the_most_alike(lake: Lake) -> None:
    pairs = judged_unsure((MENTIONED, ALSO_NEM, 0.95), (NEM, ALSO_NEM, 0.9), (MENTIONED, NEM, 0.97))
    write(lake, ENTITY_JUDGEMENTS, PERSON, pairs)
    store_review(lake, SOURCE)
    found = [row["item_id"] for row in read_queue(lake) if row["kind"] == "pair"]
    assert found == [f"pair-{'+'.join(sorted([MENTIONED, ALSO_NEM]))}"]


def test_a_merge_that_a_split_replaced_settles_nothing(lake: Lake) -> None:
    said(lake, "merge", entity_id=OSK, other_id=QUAY)
    assert open_ids(lake) == ITEMS - {f"promotion-{OSK}", f"entity-{QUAY}"}
    said(lake, "split", entity_id=QUAY, other_id=OSK)
    assert open_ids(lake) == ITEMS


def test_a_candidate_that_another_was_merged_into_is_still_asked_about(lake: Lake) -> None:
    said(lake, "merge", entity_id=QUAY, other_id=OSK)
    assert open_ids(lake) == ITEMS - {f"entity-{QUAY}"}
    store_review(lake, SOURCE)
    assert open_ids(lake) == ITEMS - {f"entity-{QUAY}"}


def test_what_was_decided_stays_out_when_the_queue_is_made_anew(lake: Lake) -> None:
    said(lake, "promote", entity_id=OSK)
    assert stale_review(lake, [SOURCE]) == [SOURCE]
    store_review(lake, SOURCE)
    assert open_ids(lake) == ITEMS - {f"promotion-{OSK}"}
    assert stale_review(lake, [SOURCE]) == []


def test_the_queue_is_stale_when_anything_it_is_made_from_changes(lake: Lake) -> None:
    assert stale_review(lake, [SOURCE, "another"]) == []
    write(lake, ENTITY_FACTS, PERSON, [fact("fact-varn", "homeworld", "Varn", "[[Varn]]")])
    assert stale_review(lake, [SOURCE]) == [SOURCE]
    store_review(lake, SOURCE)
    assert open_ids(lake) == ITEMS - {f"statement-{NEM}.homeworld", "statement-fact-rank"}


def test_a_value_that_a_person_accepted_ends_its_dispute(lake: Lake) -> None:
    accepted = fact("fact-varn", "homeworld", "Varn", "[[Varn]]", is_disputed=True, status="accepted")
    other = fact("fact-rothe", "homeworld", "Rothe", "[[Rothe]]", is_disputed=True)
    write(lake, ENTITY_FACTS, PERSON, [accepted, other])
    store_review(lake, SOURCE)
    assert f"statement-{NEM}.homeworld" not in open_ids(lake)


def test_a_statement_of_two_types_is_asked_about_once(lake: Lake) -> None:
    write(
        lake, ENTITY_FACTS, "LocationPlace", [fact("fact-rank", "rank", "Admiral", "x", status="unsupported")]
    )
    store_review(lake, SOURCE)
    assert sorted(row["item_id"] for row in read_queue(lake)) == sorted(ITEMS)


def test_a_page_is_asked_about_with_the_entity_that_was_read_from_it(lake: Lake) -> None:
    stands = {"entity_type": "Concept", "state": "adjudicated", "origin": "page"}
    entities = [
        {
            **stands,
            "entity_id": "1-was-called-so",
            "title": "Shoal-chess",
            "name": "Shoal-chess",
            "page_id": 1,
        },
        {**stands, "entity_id": "2-of-this-page", "title": "Chess", "name": "Chess", "page_id": 2},
    ]
    write(lake, ENTITIES, "Concept", entities)
    unsure = {"page_id": 2, "primary_type": "Concept", "confidence": 0.6, "needs_review": True}
    write(lake, PAGE_TYPES, BATCH, [{"title": "Shoal-chess", **unsure}])
    store_review(lake, SOURCE)
    [item] = (row for row in read_queue(lake) if row["item_id"] == CHESS)
    assert item["entity_id"] == "2-of-this-page"


def test_a_page_is_not_asked_about_again_after_a_move_but_what_comes_to_its_title_is(lake: Lake) -> None:
    unsure = {"primary_type": "Concept", "confidence": 0.6, "needs_review": True}
    moved = [{"title": "Shoal-chess", "page_id": 7, **unsure}, {"title": "Osk", "page_id": 1, **unsure}]
    write(lake, PAGE_TYPES, BATCH, moved)
    store_review(lake, SOURCE)
    osk = f"page-{title_key(SOURCE, 'Osk')}"
    assert {CHESS, osk} <= open_ids(lake)
    said(lake, "classify", source=SOURCE, title="Shoal-chess", page_id=1, value="WorkMedia")
    assert open_ids(lake) & {CHESS, osk} == {CHESS}
    store_review(lake, SOURCE)
    assert open_ids(lake) & {CHESS, osk} == {CHESS}
    [item] = (row for row in read_queue(lake) if row["item_id"] == CHESS)
    assert decisions_about(lake, pages=[item]) == []
    [past] = decisions_about(lake, pages=[{**item, "page_id": 1}])
    assert past.row["title"] == "Shoal-chess"


def test_a_lake_without_anything_has_an_empty_queue(tmp_path: Path) -> None:
    empty = Lake(tmp_path / "nothing")
    assert list(read_queue(empty)) == []
    assert stale_review(empty, [SOURCE]) == []
    assert not empty.has(REVIEW_ITEMS, SOURCE)
