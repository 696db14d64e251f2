"""Answers in journals that were packed since: no question is asked twice for it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from asked import DIGEST, GOOD, interrogation
from fake_ollama import SMALL
from wiki_lake import BATCH, a_wiki, write_wiki

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.derive.results.partition_work import PartitionWork, journal_path
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.journals.packing import pack_journals
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

KINDS = interrogation(rows={})
TITLES = [f"Tree {number}" for number in range(20)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return a_wiki(tmp_path, {title: f"'''{title}''' is a tree." for title in TITLES})


def work_on(lake: Lake, batch: str = BATCH) -> PartitionWork:
    return PartitionWork(lake, KINDS, batch, model=SMALL, digest=DIGEST)


def answer(work: PartitionWork, count: int = len(TITLES)) -> None:
    for item in work.ready(datetime.now(UTC))[:count]:
        work.start(item)
        work.record(item, Outcome("ok", {**GOOD, "words": [item.subject]}))


def pack(lake: Lake) -> None:
    assert pack_journals(lake, now=utc_now() + timedelta(days=3)).journals
    assert not journal_path(lake, KINDS, BATCH).exists()


def answers_of(lake: Lake, batch: str = BATCH) -> str:
    rows = read_partition(lake, LLM_RUNS, scope_of(KINDS.name, batch))
    return json.dumps([(row["subject"], row["status"], row["attempts"], row["output"]) for row in rows])


def test_a_table_that_is_lost_is_made_again_from_packed_journals(lake: Lake) -> None:
    work = work_on(lake)
    answer(work)
    work.publish("run-1")
    before = answers_of(lake)
    pack(lake)
    for table in (KINDS.table, LLM_RUNS):
        lake.file(table, BATCH if table is KINDS.table else scope_of(KINDS.name, BATCH)).unlink()
    again = work_on(lake)
    assert again.is_complete
    assert again.publish("run-2") is not None
    assert answers_of(lake) == before


def test_a_partition_whose_journal_was_packed_half_way_goes_on_where_it_was(lake: Lake) -> None:
    answer(work_on(lake), 15)
    pack(lake)
    work = work_on(lake)
    assert (work.answered, len(work.ready(datetime.now(UTC)))) == (15, 5)
    answer(work)
    assert work_on(lake).is_complete
    assert work_on(lake).publish("run-1") is not None


def test_what_a_killed_run_was_answered_serves_other_batches_out_of_a_packed_journal(lake: Lake) -> None:
    answer(work_on(lake))
    assert work_on(lake).answered == len(TITLES)
    pack(lake)
    write_wiki(lake, {title: f"'''{title}''' is a tree." for title in TITLES}, "wiki-000002")
    later = work_on(lake, "wiki-000002")
    assert later.ready(datetime.now(UTC)) == []
    assert later.calls_saved == len(TITLES)
