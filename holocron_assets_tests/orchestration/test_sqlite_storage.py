"""Dagster's SQLite storages with connections that stay open: the same files and events, less opening."""

import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterEventType, RunsFilter
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    InProcessCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from dagster._core.storage.sql import check_alembic_revision
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster_at import dagster_at

from holocron_assets.orchestration.internals.sqlite import EventLogStorage, RunStorage, ScheduleStorage
from holocron_assets.settings import PROJECT_FOLDER

SECONDS = 30
PLAIN = "telemetry: {enabled: false}\n"
REPORTS = """
import sys
from dagster_at import dagster_at
from test_sqlite_storage import report
with dagster_at(sys.argv[1]) as instance:
    report(instance, sys.argv[2])
"""
"""A process that reports one partition."""


@dg.asset(partitions_def=dg.StaticPartitionsDefinition(["a", "b"]))
def lamps() -> None:
    """An asset to materialize."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with Holocron's own configuration."""
    shutil.copy(PROJECT_FOLDER / "dagster.yaml", tmp_path)
    return tmp_path


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    with dagster_at(home) as opened:
        yield opened


def materialized(instance: dg.DagsterInstance, partition: str = "a") -> str:
    """The id of a run that materialized a partition."""
    return dg.materialize([lamps], instance=instance, partition_key=partition).run_id


def report(instance: dg.DagsterInstance, partition: str) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization("lamps", partition=partition))


def partitions(instance: dg.DagsterInstance) -> set[str]:
    return set(instance.get_materialized_partitions(dg.AssetKey("lamps")))


def open_files(folder: Path) -> Counter[str]:
    """The databases below a folder that this process has open."""
    names = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return Counter(name.name for name in names if folder in name.parents and name.suffix == ".db")


def test_holocrons_configuration_uses_these_storages(instance: dg.DagsterInstance) -> None:
    assert isinstance(instance.event_log_storage, EventLogStorage)
    assert isinstance(instance.run_storage, RunStorage)


@pytest.mark.system
def test_dagsters_own_storage_reads_and_continues_what_these_wrote(home: Path) -> None:
    with dagster_at(home) as ours:
        ran = materialized(ours)
    (home / "dagster.yaml").write_text(PLAIN, encoding="utf-8")
    with dagster_at(home) as plain:
        assert type(plain.event_log_storage) is not EventLogStorage
        assert partitions(plain) == {"a"}
        assert len(plain.all_logs(ran, of_type=DagsterEventType.ASSET_MATERIALIZATION)) == 1
        materialized(plain, "b")
    shutil.copy(PROJECT_FOLDER / "dagster.yaml", home)
    with dagster_at(home) as ours:
        assert partitions(ours) == {"a", "b"}
        assert ours.get_runs_count(RunsFilter(statuses=[dg.DagsterRunStatus.SUCCESS])) == 2


def test_a_run_opens_a_few_connections(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    materialized(instance)
    opened = Counter[str]()
    connect = sqlite3.connect

    def counted(database: str, *args: Any, **options: Any) -> sqlite3.Connection:
        opened[Path(database).name] += 1
        made: sqlite3.Connection = connect(database, *args, **options)
        return made

    monkeypatch.setattr(sqlite3.dbapi2, "connect", counted)
    materialized(instance, "b")
    assert 0 < opened.total() <= 5, opened


def test_files_of_earlier_runs_are_closed(instance: dg.DagsterInstance, home: Path) -> None:
    runs = [materialized(instance) for _ in range(8)]
    there = open_files(home)
    assert sum(f"{run}.db" in there for run in runs) <= 4
    instance.dispose()
    assert set(open_files(home)) <= {"runs.db", "schedules.db"}, "which all storages of the process share"


def test_who_watches_a_run_is_called_for_each_event(home: Path, instance: dg.DagsterInstance) -> None:
    run = instance.get_run_by_id(materialized(instance))
    assert run
    seen = Event()
    with dagster_at(home) as watching:
        watching.watch_event_logs(run.run_id, None, lambda *_: seen.set())
        for number in range(3):
            seen.clear()
            instance.report_engine_event(f"event {number}", run)
            assert seen.wait(SECONDS), f"event {number}"


@pytest.mark.system
def test_processes_that_have_the_files_open_see_each_others_events(
    home: Path, instance: dg.DagsterInstance
) -> None:
    report(instance, "a")
    command = [sys.executable, "-c", REPORTS, str(home), "b"]
    subprocess.run(command, cwd=Path(__file__).parent, check=True)  # noqa: S603 - our own
    assert partitions(instance) == {"a", "b"}
    report(instance, "c")
    assert partitions(instance) == {"a", "b", "c"}


def schema_of(file: Path) -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        tables = database.execute("select name, sql from sqlite_master order by name").fetchall()
        revision = database.execute("select version_num from alembic_version").fetchall()
        return [tables, revision, database.execute("pragma journal_mode").fetchall()]


def test_the_file_of_each_run_is_as_dagster_makes_it_and_has_its_own_events(
    home: Path, instance: dg.DagsterInstance
) -> None:
    first, second = materialized(instance), materialized(instance, "b")
    files = {run: next(home.rglob(f"{run}.db")) for run in (first, second)}
    assert schema_of(files[first]) == schema_of(files[second])
    assert {log.run_id for log in instance.all_logs(second)} == {second}
    assert len(instance.all_logs(first)) == len(instance.all_logs(second))
    assert not list(home.rglob("*.new"))


def test_runs_work_on_a_disk_without_hard_links_and_leave_no_other_file(
    home: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, target: Path) -> None:
        raise PermissionError(f"{path} cannot be a link to {target}")

    monkeypatch.setattr(Path, "hardlink_to", refused)
    runs = [materialized(instance) for _ in range(3)]
    assert all(instance.all_logs(run) for run in runs)
    assert not list(home.rglob("*.new"))


def test_a_run_that_another_process_has_begun_keeps_the_events_of_both(
    home: Path, instance: dg.DagsterInstance
) -> None:
    materialized(instance)
    with dagster_at(home) as other:
        run = other.create_run_for_job(dg.Definitions([lamps]).resolve_implicit_global_asset_job_def())
        other.report_engine_event("of the other process", run)
        instance.report_engine_event("of this one", run)
        said = [log.message for log in instance.all_logs(run.run_id)]
    assert said[-2:] == ["of the other process", "of this one"]


@pytest.mark.system
def test_tables_are_checked_once_a_process_and_again_when_another_file_is_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dagster_at(home) as first:
        materialized(first)
    checked = Counter[str]()

    def noted(config: Any, connection: Any) -> Any:
        checked[Path(connection.engine.url.database).name] += 1
        return check_alembic_revision(config, connection)

    for module in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
        monkeypatch.setattr(module, "check_alembic_revision", noted)
    with dagster_at(home) as again:
        assert partitions(again) == {"a"}
        assert again.all_instigator_state() == []
    assert not checked
    for file in list(home.rglob("*.db*")):
        file.unlink()
    with dagster_at(home) as anew:
        assert partitions(anew) == set()
        materialized(anew)
        assert partitions(anew) == {"a"}
    assert {"runs.db", "schedules.db", "index.db"} <= set(checked)


def test_dagsters_own_storage_and_this_one_share_what_sensors_remember(home: Path) -> None:
    location = InProcessCodeLocationOrigin(LoadableTargetOrigin(), location_name="here")
    sensor = RemoteInstigatorOrigin(RemoteRepositoryOrigin(location, "holocron"), "new_pages")
    running = InstigatorState(sensor, InstigatorType.SENSOR, InstigatorStatus.RUNNING)
    with dagster_at(home) as ours:
        assert isinstance(ours.schedule_storage, ScheduleStorage)
        ours.add_instigator_state(running)
    (home / "dagster.yaml").write_text(PLAIN, encoding="utf-8")
    with dagster_at(home) as plain:
        assert [state.status for state in plain.all_instigator_state()] == [InstigatorStatus.RUNNING]
        plain.update_instigator_state(running.with_status(InstigatorStatus.STOPPED))
    shutil.copy(PROJECT_FOLDER / "dagster.yaml", home)
    with dagster_at(home) as ours:
        [state] = ours.all_instigator_state()
        assert state.status == InstigatorStatus.STOPPED
