"""Batches that were begun: what is left of them, what a change has asked again, and what commands show."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from asked import DIGEST, GOOD, interrogation
from fake_ollama import SMALL, Behaviour, FakeOllama, malformed
from wiki_lake import BATCH, a_wiki, write_wiki

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.derive.dispatch import backlog as backlog_module
from holocron_assets.derive.dispatch.backlog import (
    OUTCOMES_LOST,
    REQUEUED,
    StalePartition,
    backlog,
    stale_partitions,
)
from holocron_assets.derive.dispatch.tallies import interrogation_rows, stale_rows
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results import partition_work
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.results.superseded import superseded_pages
from holocron_assets.lake.files.parquet import DamagedPartitionError, read_partition
from holocron_assets.lake.files.quarantine import set_aside
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

pytestmark = pytest.mark.system

TEXTS = {title: f"'''{title}''' is a {title.lower()} of note." for title in ("Ash", "Birch", "Cedar", "Elm")}
SECOND = "other-000001"
NEWER = "wiki-000002"
KINDS = interrogation(rows={})
DIGESTS = {SMALL: DIGEST}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return a_wiki(tmp_path, TEXTS)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))


def ask(
    lake: Lake,
    most: int = 100,
    asked: Interrogation = KINDS,
    batch: str = BATCH,
    on: Mapping[str, Behaviour] | None = None,
) -> int:
    """Ask about some items of a batch and write its table if that completes it; give the number of calls."""
    work = PartitionWork(lake, asked, batch, model=SMALL, digest=DIGEST, superseded=superseded_pages(lake))

    async def answer(fake: FakeOllama) -> None:
        async with open_client(fake.url) as client:
            engine = Engine(client, run_id="run-1")
            for item in work.ready(datetime.now(UTC))[:most]:
                attempt = work.start(item)
                work.record(item, await engine.answer(item, model=SMALL, digest=DIGEST, attempt=attempt))

    with FakeOllama(answer=lambda _: GOOD, on=dict(on or {})) as fake:
        asyncio.run(answer(fake))
        work.publish("run-1")
        return len(fake.chats)


def one(lake: Lake, asked: Interrogation = KINDS, **more: Any) -> StalePartition:
    (part,) = stale_partitions(lake, [asked], digests=DIGESTS, **more)
    return part


def test_what_is_left_of_a_batch_that_was_begun_is_counted_from_its_journal(lake: Lake) -> None:
    ask(lake, most=3, on={"What is Birch?": malformed()})
    counts = one(lake).counts
    assert counts is not None
    assert (counts.answered, counts.untried, len(counts.dues), counts.dead) == (2, 1, 1, 0)
    now = datetime.now(UTC)
    (waiting,) = backlog(lake, [KINDS], digests=DIGESTS, now=now)
    assert (waiting.items, waiting.uncounted) == (1, 0)
    assert waiting.due is not None
    assert timedelta(seconds=20) < waiting.due - now < timedelta(seconds=31)
    (later,) = backlog(lake, [KINDS], digests=DIGESTS, now=now + timedelta(minutes=1))
    assert later.items == 2


def test_a_batch_is_opened_again_only_when_its_journal_grew(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def counted(*arguments: Any, **named: Any) -> PartitionWork:
        opened.append(arguments[2])
        return PartitionWork(*arguments, **named)

    monkeypatch.setattr(partition_work, "PartitionWork", counted)
    one(lake)
    assert opened == []
    ask(lake, most=1)
    one(lake)
    one(lake)
    assert opened == [BATCH]
    ask(lake, most=1)
    counts = one(lake).counts
    assert (opened, counts and counts.untried) == ([BATCH, BATCH], 2)


def test_a_count_opens_a_few_batches_and_the_next_counts_open_the_others(lake: Lake) -> None:
    write_wiki(lake, {"Fir": "'''Fir''' is a fir.", "Yew": "'''Yew''' is a yew."}, SECOND)
    for batch in (BATCH, SECOND):
        ask(lake, most=1, batch=batch)

    def counted_batches() -> set[str]:
        parts = stale_partitions(lake, [KINDS], digests=DIGESTS, most_opened=1)
        return {part.partition for part in parts if part.counts}

    assert counted_batches() == {SECOND}
    assert counted_batches() == {BATCH, SECOND}


def test_a_page_that_another_batch_holds_newer_is_not_asked_about(lake: Lake) -> None:
    write_wiki(lake, {"Ash": "'''Ash''' is a newer ash."}, NEWER)
    assert superseded_pages(lake) == {(BATCH, 0)}
    assert ask(lake) == 3
    assert [part.partition for part in stale_partitions(lake, [KINDS], digests=DIGESTS)] == [NEWER]


def test_a_changed_schema_is_named_though_the_table_has_other_columns_then(lake: Lake) -> None:
    ask(lake)
    schema = {
        "type": "object",
        "required": ["sort"],
        "properties": {"sort": {"type": "string", "enum": ["person"], "description": "What it is"}},
    }
    changed = interrogation(rows={}, answer_schema=schema)
    assert changed.table.folder != KINDS.table.folder
    (row,) = stale_rows(lake, [changed], DIGESTS)
    assert (row["why"], row["to_ask"], row["kept"]) == (["schema"], 4, 0)


def test_stale_shows_beforehand_what_is_asked_again_and_what_is_kept(lake: Lake) -> None:
    write_wiki(lake, {"Fir": "'''Fir''' is a fir."}, SECOND)
    ask(lake)
    assert stale_rows(lake, [KINDS], DIGESTS) == [
        {
            "interrogation": "kinds",
            "model": SMALL,
            "why": ["new"],
            "partition": None,
            "partitions": 1,
            "to_ask": None,
            "kept": None,
            "dead": None,
        }
    ]
    write_wiki(lake, {**TEXTS, "Elm": "'''Elm''' was a town."})
    (row, _) = stale_rows(lake, [KINDS], DIGESTS)
    assert (row["partition"], row["to_ask"], row["kept"]) == (BATCH, 1, 3)
    assert "pages" in row["why"]
    assert ask(lake) == 1
    assert [row["partition"] for row in stale_rows(lake, [KINDS], DIGESTS)] == [None]


def test_a_changed_prompt_has_everything_asked_again(lake: Lake) -> None:
    ask(lake)
    changed = interrogation(rows={}, prompt="Tell what the page is about.")
    (row,) = stale_rows(lake, [changed], DIGESTS)
    assert (row["why"], row["to_ask"], row["kept"]) == (["prompt"], 4, 0)


def test_a_dead_letter_that_a_person_brought_back_is_work_again(lake: Lake) -> None:
    with time_machine.travel(datetime(2026, 5, 4, tzinfo=UTC), tick=False) as clock:
        for _ in range(4):
            ask(lake, on={"What is Birch?": malformed()})
            clock.shift(timedelta(minutes=11))
        assert stale_partitions(lake, [KINDS], digests=DIGESTS) == []
        by_whom: dict[str, Any] = {"author": "a person", "reason": "another look"}
        record(lake, [new_decision("requeue", source="wiki", title="Birch", **by_whom)])
        part = one(lake)
        assert part.differences == REQUEUED
        assert part.counts is not None
        assert (part.counts.untried, part.counts.answered, part.counts.dead) == (1, 3, 0)
        clock.shift(timedelta(minutes=1))
        assert ask(lake) == 1
    assert stale_partitions(lake, [KINDS], digests=DIGESTS) == []


def test_a_damaged_file_of_llm_runs_comes_back_from_its_journal_without_a_call(lake: Lake) -> None:
    work = PartitionWork(lake, KINDS, BATCH, model=SMALL, digest=DIGEST)
    for item in work.ready(datetime.now(UTC)):
        work.start(item)
        work.record(item, Outcome("dead", error="no") if item.subject == "Birch" else Outcome("ok", GOOD))
    work.publish("run-1")
    assert stale_partitions(lake, [KINDS], digests=DIGESTS) == []
    file, scope = lake.file(LLM_RUNS, work.scope), work.scope
    before = read_partition(lake, LLM_RUNS, scope)
    assert [row["subject"] for row in before if row["status"] == "dead"] == ["Birch"]
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DamagedPartitionError) as damaged:
        read_partition(lake, LLM_RUNS, scope)
    set_aside(lake, damaged.value)
    part = one(lake)
    assert (part.differences, part.is_to_write) == (OUTCOMES_LOST, True)
    assert ask(lake) == 0
    assert read_partition(lake, LLM_RUNS, scope) == before, "what was given up is still a dead letter"
    assert stale_partitions(lake, [KINDS], digests=DIGESTS) == []


def test_a_partition_whose_journal_is_about_nothing_that_is_wanted_now_is_not_stale(lake: Lake) -> None:
    work = PartitionWork(lake, KINDS, BATCH, model=SMALL, digest=DIGEST)
    work.start(work.items[0])
    nothing = interrogation(rows={}, wants={"sql": "false"})
    assert ask(lake, asked=nothing) == 0
    assert stale_partitions(lake, [nothing], digests=DIGESTS) == []


def test_the_tally_adds_up(lake: Lake) -> None:
    write_wiki(lake, {"Fir": "'''Fir''' is a fir.", "Yew": "'''Yew''' is a yew."}, SECOND)
    ask(lake, most=3, on={"What is Birch?": malformed()})
    (row,) = interrogation_rows(lake, [KINDS], DIGESTS, datetime.now(UTC))
    assert row == {
        "interrogation": "kinds",
        "domain": None,
        "model": SMALL,
        "done": 0,
        "to_do": 2,
        "wanted": 6,
        "answered": 2,
        "due": 3,
        "waiting": 1,
        "dead": 0,
        "next_due": row["next_due"],
    }
    assert row["next_due"] is not None
    ask(lake, batch=SECOND)
    (row,) = interrogation_rows(lake, [KINDS], DIGESTS, datetime.now(UTC))
    assert (row["done"], row["answered"], row["due"]) == (1, 4, 1)


def test_the_tally_leaves_out_answers_about_what_is_not_wanted_any_more(lake: Lake) -> None:
    ask(lake)
    narrowed = interrogation(rows={}, wants={"sql": "title in ('Ash', 'Cedar')"})
    ask(lake, asked=narrowed)
    for digests in (DIGESTS, {}):
        (row,) = interrogation_rows(lake, [narrowed], digests, datetime.now(UTC))
        assert (row["done"], row["wanted"], row["answered"], row["dead"]) == (1, 2, 2, 0)


def test_without_its_model_an_interrogation_is_shown_with_its_progress(lake: Lake) -> None:
    ask(lake)
    (row,) = interrogation_rows(lake, [KINDS], {}, datetime.now(UTC))
    assert (row["done"], row["to_do"], row["answered"]) == (1, 0, 4)


def test_a_batch_that_cannot_be_opened_keeps_no_other_from_its_turn(lake: Lake) -> None:
    write_wiki(lake, {"7": "'''Seven''' is a number."}, SECOND)
    for batch in (BATCH, SECOND):
        ask(lake, most=1, batch=batch)
    # It compiles, and fails at the first title that is no number.
    broken = interrogation(rows={}, wants={"sql": "title::int > 0"})
    counted = {part.partition: part.counts for part in stale_partitions(lake, [broken], digests=DIGESTS)}
    assert counted[BATCH] is None
    assert counted[SECOND] is not None
    (waiting,) = backlog(lake, [broken], digests=DIGESTS, now=datetime.now(UTC))
    assert (waiting.completions, waiting.uncounted) == (1, 1)


def test_a_count_ends_in_time_however_long_each_batch_takes(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wiki(lake, {"Fir": "'''Fir''' is a fir."}, SECOND)
    for batch in (BATCH, SECOND):
        ask(lake, most=1, batch=batch)
    monkeypatch.setattr(backlog_module, "OPENING_SECONDS", -1.0)
    assert not [part for part in stale_partitions(lake, [KINDS], digests=DIGESTS) if part.counts]
    all_of_them = stale_partitions(lake, [KINDS], digests=DIGESTS, most_opened=None)
    assert all(part.counts for part in all_of_them)
