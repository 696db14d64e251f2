"""Runs in this process: a failure is reported in one line, and Ctrl+C ends everything."""

import signal
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy import Engine, event

from holocron_assets.interrupts import ending_by_signal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.partitions import SOURCES
from holocron_assets.orchestration.runs.registration import register_partition
from holocron_assets.orchestration.runs.waiting import FinishedRun, LocalRuns
from holocron_assets.planning.work import Work


def run_of(error: BaseException, folder: Path) -> FinishedRun:
    def fail() -> None:
        raise error

    return run_that(fail, folder)


def run_that(does: Callable[[], None], folder: Path) -> FinishedRun:
    @dg.op
    def failing() -> None:
        does()

    @dg.job
    def some_job() -> None:
        failing()

    with dg.DagsterInstance.ephemeral() as instance:
        runs = LocalRuns(instance, Lake(folder), lambda _: some_job)
        (finished,) = runs.finish([Work("some_job", None, "1")])
    return finished


def test_an_error_is_reported_by_its_first_cause_and_counts_as_temporary(tmp_path: Path) -> None:
    finished = run_of(OSError("the disk is full"), tmp_path)
    assert "the disk is full" in (finished.error or "")
    assert finished.due_at is None


def test_a_failure_is_reported_in_its_own_words(tmp_path: Path) -> None:
    assert run_of(dg.Failure("page 'A' is at fault"), tmp_path).error == "page 'A' is at fault"


def test_a_run_that_a_person_interrupts_ends_everything(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended, ending_by_signal():
        run_that(lambda: signal.raise_signal(signal.SIGINT), tmp_path)
    assert ended.value.code == 130


def test_a_partition_that_another_process_adds_in_between_is_there_and_no_trouble(tmp_path: Path) -> None:
    collisions: list[str] = []
    with (
        dg.DagsterInstance.local_temp(str(tmp_path)) as ours,
        dg.DagsterInstance.local_temp(str(tmp_path)) as theirs,
    ):

        def collide(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
            if statement.startswith("INSERT INTO dynamic_partitions") and not collisions:
                collisions.append(statement)  # Dagster has read the partitions, and is about to insert
                theirs.add_dynamic_partitions("sources", ["wiki"])

        event.listen(Engine, "before_cursor_execute", collide)
        try:
            register_partition(ours, Lake(tmp_path), SOURCES, "wiki")
        finally:
            event.remove(Engine, "before_cursor_execute", collide)
        assert collisions
        assert ours.get_dynamic_partitions("sources") == ["wiki"]
