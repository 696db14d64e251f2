"""Upkeep over a real lake and a real instance: what is due is done once, and nobody sees a difference."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import time
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from filelock import FileLock
from sample_dagster import lake_resource, run_job, sources_resource
from sample_holocron import SAMPLE_BATCH, Holocron
from watched import Watched

from holocron_assets.crawl.frontier import known_links
from holocron_assets.decisions.controls import DRAIN, RESUME, Scope, control
from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.packed import packed_part
from holocron_assets.lake.packs import compaction
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ALL_TABLES, ENTITIES, KNOWN_LINKS, LLM_ATTEMPTS, PAGE_LINKS, PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.schedules import Schedules
from holocron_assets.orchestration.internals.compute_logs import MANY
from holocron_assets.orchestration.jobs import upkeep
from holocron_assets.orchestration.jobs.upkeep import compaction_schedule, upkeep_schedule
from holocron_assets.orchestration.runs import requesting
from holocron_assets.orchestration.sensors import crawl_and_entities as sensors
from holocron_assets.planning.job_names import COMPACTION_JOB, UPKEEP_JOB
from holocron_assets.planning.work import batches_to_settle, entities_to_resolve
from holocron_assets.review.store import store_review

pytestmark = pytest.mark.system

BATCH_TABLES = [table for table in ALL_TABLES if table.partition_column]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    folder = tmp_path / "dagster"
    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as kept:
        yield kept


@pytest.fixture
def watched(finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance) -> Watched:
    return Watched(finished_sample.copy_to(tmp_path), instance)


UPKEEP, COMPACTION = upkeep_schedule(Schedules().upkeep), compaction_schedule(Schedules().compaction)


def asked(watched: Watched, schedule: dg.ScheduleDefinition = UPKEEP) -> list[dg.RunRequest] | str:
    """What the schedule asks for, or why for nothing."""
    resources = {
        "lake": lake_resource(watched.holocron),
        "sources": sources_resource(watched.holocron),
    }
    with dg.build_schedule_context(instance=watched.instance, resources=resources) as context:
        result: Any = schedule(context)
    if isinstance(result, dg.SkipReason):
        return result.skip_message or ""
    return list(result)


def done(watched: Watched, job: str = UPKEEP_JOB) -> dg.ExecuteInProcessResult:
    return run_job(watched.holocron, watched.instance, job)


def age(files: list[Path], *, days: int) -> None:
    then = time() - timedelta(days=days).total_seconds()
    for file in files:
        os.utime(file, (then, then))


def seen(lake: Lake) -> list[dict[str, Any]]:
    sums = "select count(*) as rows, sum(hash(row)) as content from lake.{} as row"
    with connect(lake) as connection:
        return [query(connection, sums.format(table.name))[0] for table in ALL_TABLES]


def test_views_are_published_once_there_is_something_to_see(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    (request,) = watched.tick(sensors.stale_views).asked
    watched.store_run(request, DagsterRunStatus.STARTED)
    monkeypatch.setattr(requesting, "utc_now", lambda: utc_now() + timedelta(minutes=5))
    assert watched.tick(sensors.stale_views).asked == [], "a run that takes long is not asked for again"
    for run in watched.instance.get_runs():
        watched.instance.report_run_canceled(run)
    watched.run(request)
    assert watched.holocron.lake.database.is_file()
    assert watched.tick(sensors.stale_views).skipped == "the views are up to date"


def test_runs_are_forgotten_by_one_upkeep_at_a_time(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "tick_logs_are_due", lambda *_, **__: not watched.instance.get_runs())
    requests = asked(watched)
    assert isinstance(requests, list)
    (request,) = requests
    watched.store_run(dg.RunRequest(job_name=UPKEEP_JOB, tags=request.tags), DagsterRunStatus.STARTED)
    assert asked(watched) == "upkeep is under way"
    for run in watched.instance.get_runs():
        watched.instance.report_run_canceled(run)
    assert done(watched).success
    assert asked(watched) == "everything is as it should be"


def test_a_journal_that_a_kill_left_beside_a_finished_batch_is_removed(watched: Watched) -> None:
    lake, batch = watched.holocron.lake, SAMPLE_BATCH
    assert done(watched).success
    with Journal(lake.journal(PAGES, batch)) as journal:
        journal.append({"started": [0]})
    assert isinstance(asked(watched), list)
    assert done(watched).success
    assert not lake.journal(PAGES, batch).exists()
    assert asked(watched) == "everything is as it should be"


def test_links_of_a_source_that_is_held_back_are_compacted_after_the_resume(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_links, "_FEWEST_NEW", 1)
    lake, sample = watched.holocron.lake, Scope("source", "sample")
    lake.file(KNOWN_LINKS, "sample").unlink(missing_ok=True)
    control(lake, DRAIN, sample, author="ada", reason="x")
    assert watched.tick(sensors.new_pages).work == []
    control(lake, RESUME, sample, author="ada", reason="x")
    (request,) = watched.tick(sensors.new_pages).asked
    assert request.job_name == "compact_links"
    watched.run(request)
    assert lake.has(KNOWN_LINKS, "sample")


def test_old_batches_are_packed_and_their_files_removed_without_a_trace_for_readers(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "FEWEST", 1)
    lake, sources = watched.holocron.lake, [watched.holocron.source()]
    watched.run(watched.tick(sensors.stale_views).asked[0])  # readers have the views
    before = seen(lake)

    age(lake.files(), days=3)
    assert isinstance(asked(watched, COMPACTION), list)
    assert done(watched, COMPACTION_JOB).success
    assert [len(lake.listing(table).packed) for table in BATCH_TABLES if lake.partitions(table)] == [1] * 11
    assert lake.file(PAGES, SAMPLE_BATCH).exists()
    assert seen(lake) == before

    age([file for file in lake.files() if file.parent.name == ".packs"], days=3)
    age([lake.database], days=2)
    assert done(watched, COMPACTION_JOB).success
    assert not lake.file(PAGES, SAMPLE_BATCH).exists()
    assert lake.file(ENTITIES, "Droid").exists()
    store_review(lake, "sample")  # to the review queue, aged files are other files
    assert seen(lake) == before
    assert (batches_to_settle(lake, sources), entities_to_resolve(lake)) == ([], [])
    assert done(watched, COMPACTION_JOB).success
    assert asked(watched, COMPACTION) == "everything is as it should be"


def test_old_journals_are_packed_and_one_that_is_damaged_is_set_aside_and_named(watched: Watched) -> None:
    lake = watched.holocron.lake
    assert done(watched, COMPACTION_JOB).success
    journals = [Journal(lake.journal(LLM_ATTEMPTS, f"kinds-sample-{number:06}")) for number in (1, 2)]
    for _ in range(2):
        for journal in journals:
            journal.append({"said": "What is this? " * 400})
            journal.close()
        age([journal.path for journal in journals], days=3)
        if (packed := packed_part(journals[0].path)).exists():
            packed.write_bytes(packed.read_bytes()[:-1])
        assert isinstance(asked(watched, COMPACTION), list)
        assert done(watched, COMPACTION_JOB).success
        assert asked(watched, COMPACTION) == "everything is as it should be"
    assert [aside.kept.name for aside in all_set_aside(lake)] == [packed.name]
    assert [len(list(journal.records())) for journal in journals] == [1, 2]
    assert not any(journal.path.exists() for journal in journals)


def test_a_damaged_batch_is_set_aside_and_named_and_the_others_are_packed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "FEWEST", 1)
    lake = watched.holocron.lake
    file = lake.file(PAGE_LINKS, SAMPLE_BATCH)
    file.write_bytes(file.read_bytes()[:-1])
    age(lake.files(), days=3)
    assert done(watched, COMPACTION_JOB).success
    assert [aside.partitions for aside in all_set_aside(lake)] == [[SAMPLE_BATCH]]
    assert not file.exists()
    assert PAGES.name in {table.name for table in BATCH_TABLES if lake.listing(table).packed}
    assert PAGE_LINKS.name not in {table.name for table in BATCH_TABLES if lake.listing(table).packed}


def test_a_second_compaction_leaves_the_lake_to_the_first(watched: Watched) -> None:
    lake = watched.holocron.lake
    with FileLock(lake.locks / "compaction.lock"):
        assert done(watched, COMPACTION_JOB).success


def test_logs_of_forgotten_ticks_are_worth_a_run(watched: Watched) -> None:
    assert done(watched).success  # what else is due
    folder = Path(watched.instance.storage_directory()) / "__repository__" / "new_pages"
    folder.mkdir(parents=True)
    logs = [folder / f"{number}.err" for number in range(1, MANY + 1)]
    for log in logs:
        log.touch()
    assert asked(watched) == "everything is as it should be"
    age(logs, days=3)
    assert isinstance(asked(watched), list)
    assert done(watched).success
    assert list(folder.iterdir()) == []
    assert asked(watched) == "everything is as it should be"
