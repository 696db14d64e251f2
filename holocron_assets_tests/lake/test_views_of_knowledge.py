"""Views over what is resolved, decided and asked: one row for one thing, by ids that stand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asked_lake import ask_lake

from holocron_assets.decisions.log import new_decision, record, undo
from holocron_assets.derive.results.llm_rows import write_attempts
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Table, type_time
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_MENTIONS,
    LLM_ATTEMPTS,
    LLM_RUNS,
    PAGES,
    REVIEW_ITEMS,
    SITES,
)
from holocron_assets.review.queue import read_queue

pytestmark = pytest.mark.system

START = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
KINDS = ("page", "pair", "entity", "promotion", "statement")
_SOMETHING = {pa.string(): "any", pa.int64(): 1, pa.float64(): 0.5, pa.bool_(): True, type_time: START}


def row_of(table: Table, **values: Any) -> dict[str, Any]:
    """A row with something in every column that may not be empty."""
    row = {column.name: _SOMETHING.get(column.type, []) for column in table.columns if not column.nullable}
    return {**row, **values}


def asked(lake: Lake, sql: str) -> list[dict[str, Any]]:
    return ask_lake(lake, sql)


@pytest.mark.parametrize(
    ("base", "path", "title", "url"),
    [
        ("https://a.example/wiki/Main_Page", None, "Lamp War", "https://a.example/wiki/Lamp_War"),
        ("https://a.example/i.php/Main", None, "Talk:A/B é?", "https://a.example/i.php/Talk:A/B_%C3%A9%3F"),
        ("https://a.example/i.php?title=Main", None, "Varn", "https://a.example/i.php?title=Varn"),
        ("https://a.example/wiki/Main_Page", "/wiki/$1", "$1", "https://a.example/wiki/%241"),
        ("https://a.example:8080/", "/wiki/$1", "Lamp War", "https://a.example:8080/wiki/Lamp_War"),
        ("https://a.example/wiki/A/Main", "/wiki/$1", "Varn", "https://a.example/wiki/Varn"),
        ("https://a.example/", "/i.php?title=$1", "A&B", "https://a.example/i.php?title=A%26B"),
        ("https://a.example/wiki/Main_Page", "", "Varn", "https://a.example/wiki/Varn"),
        (None, None, "Varn", None),
        (None, "/wiki/$1", "Varn", None),
    ],
)
def test_a_page_has_the_address_that_its_wiki_states_or_one_next_to_the_main_page(
    tmp_path: Path, base: str | None, path: str | None, title: str, url: str | None
) -> None:
    lake = Lake(tmp_path)
    site = row_of(SITES, source="sample", base_url=base, article_path=path)
    write_partition(lake, SITES, "sample", [site])
    page = row_of(PAGES, source="sample", batch="sample-000001", title=title, status="ok")
    write_partition(lake, PAGES, "sample-000001", [page])
    assert asked(lake, "select title, url from source_pages") == [{"title": title, "url": url}]


def test_a_mention_means_what_its_titles_entity_has_become(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    entities = [
        row_of(ENTITIES, entity_id="1", title_key=1, state="merged", merged_into="2"),
        row_of(ENTITIES, entity_id="2", title_key=2, state="promoted"),
        row_of(ENTITIES, entity_id="0", title_key=2, state="suppressed"),
    ]
    write_partition(lake, ENTITIES, "Droid", entities)
    mentions = [row_of(ENTITY_MENTIONS, mention_id=str(key), means_key=key) for key in (1, 2, 3)]
    write_partition(lake, ENTITY_MENTIONS, "Droid", mentions)
    rows = asked(lake, "select mention_id, entity_id from entity_mentions order by mention_id")
    assert [tuple(row.values()) for row in rows] == [("1", "2"), ("2", "2"), ("3", None)]
    forwards = asked(lake, "select entity_id, merged_into from entity_forwards")
    assert forwards == [{"entity_id": "1", "merged_into": "2"}]


def test_a_mention_means_the_entity_of_the_page_and_not_one_whose_page_left_the_title(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    pages = [
        row_of(
            PAGES,
            source="sample",
            requested_key=key,
            position=key,
            title_key=key,
            page_id=page_id,
            status="ok",
        )
        for key, page_id in ((1, 12), (2, 22))
    ]
    write_partition(lake, PAGES, "sample-000001", pages)
    entities = [
        row_of(
            ENTITIES,
            entity_id=str(page_id),
            source="sample",
            title_key=key,
            page_id=page_id,
            state="promoted",
        )
        for key, page_id in ((1, 11), (1, 12), (2, 21))
    ]
    write_partition(lake, ENTITIES, "Droid", entities)
    mentions = [row_of(ENTITY_MENTIONS, mention_id=str(key), means_key=key) for key in (1, 2)]
    write_partition(lake, ENTITY_MENTIONS, "Droid", mentions)
    rows = asked(lake, "select mention_id, entity_id from entity_mentions order by mention_id")
    assert [tuple(row.values()) for row in rows] == [("1", "12"), ("2", None)]


def test_usage_is_counted_by_interrogation_model_and_day_in_utc(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    late = START + timedelta(hours=23, minutes=59)
    attempts = [
        row_of(LLM_ATTEMPTS, call_id="1", item_id="1", outcome="malformed", started_at=late, total_ms=1500.0),
        row_of(LLM_ATTEMPTS, call_id="2", item_id="1", outcome="ok", started_at=late, total_ms=500.0),
        row_of(LLM_ATTEMPTS, call_id="3", item_id="2", outcome="ok", started_at=START + DAY),
    ]
    write_partition(lake, LLM_ATTEMPTS, "any", attempts)
    rows = asked(lake, "select * exclude (interrogation, model) from llm_usage order by day")
    first = {"items": 1, "calls": 2, "failures": 1, "tokens_in": 2, "tokens_out": 2, "seconds": 2.0}
    assert rows[0] == {"day": START.date(), **first}
    assert (rows[1]["day"], rows[1]["calls"]) == ((START + DAY).date(), 1)


def test_the_cost_of_an_item_is_averaged_by_interrogation_and_model(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    costs = {"total_ms": 2000.0, "tokens_in": 900, "tokens_out": 40, "calls": 2, "status": "ok"}
    runs = [
        row_of(LLM_RUNS, item_id="1", interrogation="facts", model="small:1b", **costs),
        row_of(
            LLM_RUNS, item_id="2", interrogation="facts", model="small:1b", **{**costs, "total_ms": 1000.0}
        ),
        row_of(LLM_RUNS, item_id="3", interrogation="facts", model="small:1b", **{**costs, "status": "dead"}),
        row_of(LLM_RUNS, item_id="4", interrogation="facts", model="small:1b", **{**costs, "calls": 0}),
        row_of(LLM_RUNS, item_id="5", interrogation="facts", model="large:3b", **costs),
    ]
    write_partition(lake, LLM_RUNS, "any", runs)
    large, small = asked(lake, "select * exclude (interrogation) from llm_costs order by model")
    assert (large["model"], large["items"]) == ("large:3b", 1)
    assert small["average_seconds"] == pytest.approx(5 / 3)
    assert (small["average_tokens_in"], small["average_tokens_out"]) == (900, 40)
    counted = {"items": 3, "answered": 2, "calls": 6, "seconds": 5.0, "tokens_in": 2700, "tokens_out": 120}
    assert counted.items() <= small.items()


def test_attempts_at_items_are_counted_by_interrogation(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    took = [(1, "ok"), (1, "ok"), (2, "ok"), (3, "failed"), (4, "dead"), (0, "ok")]
    runs = [
        row_of(LLM_RUNS, item_id=str(place), interrogation="facts", attempts=attempts, status=status)
        for place, (attempts, status) in enumerate(took)
    ]
    write_partition(lake, LLM_RUNS, "any", [*runs, row_of(LLM_RUNS, interrogation="kinds", status="ok")])
    facts, kinds = asked(lake, "from llm_attempt_counts order by interrogation")
    counts = {"one_attempt": 2, "two_attempts": 1, "three_attempts": 1, "four_attempts": 1}
    assert {"items": 5, **counts, "answered": 3, "failed": 1, "dead": 1}.items() <= facts.items()
    assert facts["average_attempts"] == pytest.approx(11 / 5)
    assert (kinds["items"], kinds["average_attempts"]) == (1, 1.0)


def test_calls_that_an_earlier_version_stored_have_no_machine_and_newer_ones_join_them(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    columns = tuple(column for column in LLM_ATTEMPTS.columns if column.name != "machine")
    earlier = replace(LLM_ATTEMPTS, columns=columns)
    write_partition(lake, earlier, "any", [row_of(earlier, call_id="1", item_id="1")])
    assert asked(lake, "select call_id, machine from llm_attempts") == [{"call_id": "1", "machine": None}]
    assert asked(lake, "select calls from llm_usage") == [{"calls": 1}]
    write_attempts(lake, "any", [row_of(LLM_ATTEMPTS, call_id="2", item_id="1", machine="worker-2")])
    rows = asked(lake, "select call_id, machine from llm_attempts order by call_id")
    assert [tuple(row.values()) for row in rows] == [("1", None), ("2", "worker-2")]


def items() -> Iterator[dict[str, Any]]:
    """An item of every kind about a few things, raised before or after the decisions, or at no time."""
    for kind, thing, since in product(KINDS, range(1, 5), (None, START, START + 9 * DAY)):
        yield row_of(
            REVIEW_ITEMS,
            item_id=f"{kind}-{thing}-{since}",
            kind=kind,
            source="sample",
            title_key=TITLE_KEYS[thing],
            page_id=PAGE_IDS.get(thing),
            entity_id=f"e{thing}",
            other_id=f"e{thing + 1}" if kind == "pair" else None,
            statement_ids=[f"s{number:08}" for number in range(thing)] if kind == "statement" else [],
            covered_by=[GLORB, thing] if kind == "page" and thing < 3 else None,
            since=since,
        )
    yield row_of(
        REVIEW_ITEMS, item_id="pair-e5+e6", kind="pair", source="sample", entity_id="e1", other_id="e7"
    )


GLORB = title_key("sample", "Template:Glorb")
DECIDED: Mapping[str, Sequence[dict[str, Any]]] = {
    "nothing": [],
    "types": [{"kind": "classify", "title": "T2", "value": "Droid"}],
    "the type of a page": [{"kind": "classify", "title": "T2", "page_id": 12, "value": "Droid"}],
    "the type of a page that moved": [{"kind": "classify", "title": "T4", "page_id": 13, "value": "Droid"}],
    "the type of a page without id": [{"kind": "classify", "title": "T1", "page_id": 11, "value": "Droid"}],
    "a template": [{"kind": "template", "title": "Template:Glorb", "value": "Droid"}],
    "merges": [{"kind": "merge", "entity_id": "e3", "other_id": "e2"}],
    "splits": [{"kind": "split", "entity_id": "e1", "other_id": "e2"}],
    "a merge that was split": [
        {"kind": "merge", "entity_id": "e3", "other_id": "e2"},
        {"kind": "split", "entity_id": "e2", "other_id": "e3"},
    ],
    "a split that was merged": [
        {"kind": "split", "entity_id": "e2", "other_id": "e3"},
        {"kind": "merge", "entity_id": "e3", "other_id": "e2"},
    ],
    "what a pair's item compared": [{"kind": "merge", "entity_id": "e5", "other_id": "e6"}],
    "the same, the other way round": [{"kind": "split", "entity_id": "e6", "other_id": "e5"}],
    "states": [{"kind": "promote", "entity_id": "e1"}, {"kind": "suppress", "entity_id": "e4"}],
    "an accepted statement": [{"kind": "accept", "statement_id": "s00000003"}],
    "rejected statements": [{"kind": "reject", "statement_id": f"s{number:08}"} for number in (0, 1)],
    "a statement that was judged twice": [
        {"kind": "accept", "statement_id": "s00000000"},
        {"kind": "reject", "statement_id": "s00000000"},
    ],
    "something else": [{"kind": "requeue", "title": "T1"}],
}
PAGE_IDS = {2: 12, 3: 13, 4: 14}
TITLE_KEYS = {
    number: new_decision("requeue", author="a", reason="b", source="sample", title=f"T{number}")["title_key"]
    for number in range(1, 5)
}


@pytest.mark.parametrize("undoes", [0, 1, 2], ids=["", "undone", "undone and restored"])
@pytest.mark.parametrize("decided", DECIDED.values(), ids=DECIDED)
def test_what_needs_review_is_what_the_queue_shows(
    tmp_path: Path, decided: Sequence[dict[str, Any]], undoes: int
) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, REVIEW_ITEMS, "sample", list(items()))
    rows = [
        new_decision(**decision, author="a", reason="b", source="sample", now=START + (number + 1) * DAY)
        for number, decision in enumerate(decided)
    ]
    record(lake, rows)
    last = rows[-1]["decision_id"] if rows and rows[-1]["kind"] != "requeue" else None
    for _ in range(undoes if last else 0):
        last = undo(lake, str(last), author="a", reason="b")["decision_id"]
    shown = {row["item_id"] for row in asked(lake, "select item_id from needs_review")}
    assert shown == {row["item_id"] for row in read_queue(lake)}
    counted = {row["decision_id"] for row in asked(lake, "from standing_decisions")}
    gone = {rows[-1]["decision_id"]} if undoes == 1 and last else set()
    assert counted == {row["decision_id"] for row in rows} - gone
