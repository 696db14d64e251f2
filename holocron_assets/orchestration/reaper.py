"""Runs whose process died with everything around it: Dagster would hold their places for hours."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter
from filelock import FileLock, Timeout

from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.paths import Lake

_RUNNING = (DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING)
_TIME_TO_START = timedelta(minutes=1)


@contextmanager
def held_by_run(lake: Lake, run_id: str) -> Iterator[None]:
    """Hold the run's lock, as a sign of life: the operating system takes it from a dead process."""
    path = _lock_path(lake, run_id)
    with FileLock(path):
        yield
    path.unlink(missing_ok=True)


def reap_dead_runs(
    instance: dg.DagsterInstance, lake: Lake, *, time_to_start: timedelta = _TIME_TO_START
) -> list[str]:
    """Report runs as failed that were running and whose process is gone.

    Dagster notices a dead worker through the code server that started it. When both are killed together, the
    run stays started, and its partition and host stay taken.

    Args:
        instance: knows the runs.
        lake: holds their locks.
        time_to_start: a run that was launched so short a time ago may not have its lock yet.

    Returns:
        Ids of the runs reaped.
    """
    reaped = []
    for record in instance.get_run_records(RunsFilter(statuses=list(_RUNNING))):
        run = record.dagster_run
        if run.status == DagsterRunStatus.STARTING and utc_now() - record.update_timestamp < time_to_start:
            continue
        path = _lock_path(lake, run.run_id)
        try:
            with FileLock(path, blocking=False):
                instance.report_run_failed(run, "Its process is gone: killed, or the machine went down.")
        except Timeout:
            continue
        path.unlink(missing_ok=True)
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        reaped.append(run.run_id)
    return reaped


def _lock_path(lake: Lake, run_id: str) -> Path:
    return lake.locks / f"run-{run_id}.lock"
