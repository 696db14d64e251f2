"""What the views are given that no table has: who asks a model, when types were made, which runs failed."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from crawl_rows import key, outcome, put_outcomes, wiki_source
from knowledge_rows import row_of
from test_status_views import BATCH, FACTS, MINUTE, put_answers, put_typed

from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.derive.opening import open_lake
from holocron_assets.derive.results.result_journals import StateJournal, abandoned, begun, journal_path
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import NOTICES, PAGE_TYPES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.state.snapshot import status_tables
from holocron_assets.operations.state.staleness import FailedRun, read_staleness
from holocron_assets.operations.views import all_views, status_views

pytestmark = pytest.mark.system

_ASKING = """\
import sys, time
from pathlib import Path
from holocron_assets.derive.dispatch.under_way import lock_name
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.opening import open_lake
from holocron_assets.derive.results.result_journals import StateJournal, begun, journal_path

lake, item = open_lake(Path(sys.argv[1])), sys.argv[2]
facts = next(one for one in load_interrogations() if one.name == "entity_facts")
held = lake.lock(lock_name(facts, "wiki-000001"))
held.acquire()
StateJournal(journal_path(lake, facts, "wiki-000001")).add(begun(item, f"key of {item}"))
print("asked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path)


def asked(lake: Lake, sql: str, **staleness: Any) -> list[dict[str, Any]]:
    views = frontier_tables_of(lake, [wiki_source()]) + status_views(
        "table", read_staleness(lake, **staleness)
    )
    with connect(lake, tables=status_tables(), more_views=views) as connection:
        return query(connection, sql)


def put_pages(lake: Lake, batch: str, *titles: str) -> None:
    put_outcomes(lake, batch, *(outcome(title, fetched_at=utc_now() - 20 * MINUTE) for title in titles))
    put_typed(lake, batch, *titles)


def states(lake: Lake) -> tuple[int, int, int, int]:
    [row] = asked(lake, f"from processing_status where interrogation = '{FACTS.name}'")
    return row["pending"], row["in_flight"], row["waiting"], row["done"]


@pytest.mark.full
def test_an_item_is_in_flight_from_its_attempt_to_its_end_or_to_the_kill_of_its_process(lake: Lake) -> None:
    put_pages(lake, BATCH, "Asked", "Answered", "Untouched")
    put_answers(lake, Answered={"status": "ok"})
    assert states(lake) == (2, 0, 0, 1)
    command = [sys.executable, "-c", _ASKING, str(lake.root), str(key("Asked"))]
    asking = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
    try:
        assert asking.stdout
        assert asking.stdout.readline() == "asked\n"
        assert states(lake) == (1, 1, 0, 1)
        journal = StateJournal(journal_path(lake, FACTS, BATCH))
        journal.add(abandoned(str(key("Asked")), f"key of {key('Asked')}"))
        assert states(lake) == (2, 0, 0, 1)
        journal.add(begun(f"{key('Asked')}#1", "one chunk"))
        journal.add(begun(f"{key('Asked')}#2", "another"))
        assert states(lake) == (1, 1, 0, 1), "a page that is read in chunks is one"
    finally:
        asking.kill()
        asking.communicate()
    assert states(lake) == (2, 0, 0, 1), "nobody asks any more"


def test_types_are_done_when_their_file_was_written_and_so_have_a_speed_and_an_end(lake: Lake) -> None:
    now = utc_now()
    for number in (1, 2):
        put_outcomes(
            lake,
            f"wiki-00000{number}",
            *(outcome(f"{number}{title}", fetched_at=now - 90 * MINUTE) for title in "ABCDEF"),
        )
    put_typed(lake, "wiki-000001", *(f"1{title}" for title in "ABCDEF"))
    written = now - 10 * MINUTE
    os.utime(lake.file(PAGE_TYPES, "wiki-000001"), (written.timestamp(),) * 2)
    [row] = asked(lake, "from queue_health where stage = 'page_types'")
    assert (row["depth"], row["in_last_hour"], row["out_last_hour"]) == (6, 0, 6)
    assert row["eta_minutes"] == 60
    assert abs(row["last_done_at"] - written) < timedelta(seconds=1)
    with connect(lake, more_views=all_views([wiki_source()], lake)) as connection:
        [row] = query(connection, "from queue_health where stage = 'page_types'")
    assert (row["out_last_hour"], row["eta_minutes"]) == (None, None), "nobody read the times of files"


def test_what_is_to_be_made_again_is_pending_and_nothing_else_at_once(lake: Lake) -> None:
    put_pages(lake, "wiki-000001", "A", "B")
    put_pages(lake, "wiki-000002", "C")
    sql = "select pending, done, oldest_at from processing_status where stage = 'page_types'"
    assert asked(lake, sql) == [{"pending": 0, "done": 3, "oldest_at": None}]
    rows = asked(lake, sql, stale_batches=["wiki-000001"])
    assert rows == [{"pending": 2, "done": 1, "oldest_at": None}]


def failed(run_id: str, job: str, partition: str | None, error: str, ended_at: datetime) -> FailedRun:
    return FailedRun(run_id, job, "wiki", partition, error, ended_at)


def test_failed_runs_from_all_records_are_grouped_by_job_and_cause_and_counted_once(lake: Lake) -> None:
    now = utc_now()
    runs = [
        failed("r1", "settle_batch", "wiki-000001", "batch 'wiki-000001': no space", now - 9 * MINUTE),
        failed("r2", "settle_batch", "wiki-000002", "batch 'wiki-000002': no space", now - 5 * MINUTE),
        failed("r3", "resolve_entities", None, "Its process is gone: killed", now - MINUTE),
        failed("r4", "refresh", None, "2 of 3 runs failed: settle_batch of wiki-000001: no space", now),
        failed("r5", "derive", None, "7 of 9 remain", now),
        failed("r6", "upkeep", None, "long ago", now - timedelta(days=2)),
    ]
    noted = [
        row_of(
            NOTICES,
            day="day-20260101",
            notice_id=run_id,
            webhook=webhook,
            event="run.failure",
            happened_at=now - 3 * MINUTE,
            asked_at=now,
            state="noted",
            body=json.dumps({"data": {"run_id": run_id, "job": "upkeep", "reason": "the disk is full"}}),
        )
        for run_id, webhook in (("r1", ""), ("r9", "one"), ("r9", "other"))
    ]
    write_partition(lake, NOTICES, "day-20260101", noted)
    sql = "select job, cause, failures, dead, example from failures where stage = 'runs' order by all"
    causes = [tuple(row.values()) for row in asked(lake, sql, failed_runs=runs)]
    assert causes == [
        ("resolve_entities", "Its process is gone: killed", 1, 0, "resolve_entities"),
        ("settle_batch", "batch '...': no space", 2, 0, "wiki-000002"),
        ("upkeep", "the disk is full", 1, 0, "upkeep"),
    ]
    causes = [tuple(row.values()) for row in asked(lake, sql)]
    assert causes == [("upkeep", "the disk is full", 2, 0, "upkeep")], (
        "what the daemon noted, without Dagster"
    )


def test_times_of_packed_partitions_are_those_of_their_own_files(lake: Lake) -> None:
    put_pages(lake, BATCH, "A")
    written = datetime.fromtimestamp(lake.written_at(PAGE_TYPES, BATCH) / 10**9, UTC)
    assert read_staleness(lake).typed_at == {BATCH: written}
