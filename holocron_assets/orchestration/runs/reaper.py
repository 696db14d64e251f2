"""Reports runs whose process is dead: Dagster alone would hold their places for hours."""

import atexit
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter
from filelock import Timeout

from holocron_assets.lake.journals.notes import Note
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.orchestration.internals.runs import (
    end_as_failed,
    free_places,
    process_began,
    runs_with_places,
    seconds_to_start,
    worker_has_ended,
)
from holocron_assets.orchestration.runs.orphans import end_with_code_server, has_code_server
from holocron_assets.telemetry.long_work import repeated

_UNFINISHED = (
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
)

_TIME_TO_LOCK = timedelta(minutes=5)
"""A process gets this long to load the code and take its run's lock."""

_SECONDS_TO_RECORD = 2.0
"""A run's end is recorded within this time after its sign is gone."""

_LOCKS = "runs"
"""The folder of runs' locks: other locks are too many to be listed every quarter of a minute."""

_LOG = logging.getLogger(__name__)

_HELD: dict[tuple[Path, str], Lock] = {}
"""The locks that this process holds: it may take the same one again."""


@contextmanager
def held_by_run(lake: Lake, run_id: str) -> Iterator[None]:
    """Hold the run's lock, as a sign of life: the operating system takes it from a dead process.

    A process that a code server started for the run holds it until it ends, and ends with the code server:
    otherwise it would go on, and nothing could stop it. Other processes hold it for as long as they work on
    the run. A process may take a lock that it holds again.
    """
    end_with_code_server()
    with ExitStack() as stack:
        stack.enter_context(_held(lake, run_id))
        if has_code_server():
            # Dagster takes the resources from a run before it reports the run's end.
            atexit.register(stack.pop_all().close)
        yield


@contextmanager
def _held(lake: Lake, run_id: str) -> Iterator[None]:
    """Hold a run's lock. On release its sign goes first: a sign without a holder means a dead run."""
    sign = _sign(lake, run_id)
    lock = _HELD.setdefault((lake.root, run_id), _lock(lake, run_id))
    with lock:
        if sign.mark() is None:  # on one machine, the lock's file is there by now
            sign.write("")
        try:
            yield
        finally:
            if lock.lock_counter == 1:
                sign.remove()
                _HELD.pop((lake.root, run_id), None)


def reap_dead_runs(
    instance: dg.DagsterInstance, lake: Lake, *, time_to_start: timedelta | None = None
) -> list[str]:
    """Report runs as failed if their process is gone, or never came.

    Dagster notices a dead worker through the code server that started it. When both are killed together, the
    run stays started, and its partition and host stay taken. So does a run that was made and never launched.

    Args:
        instance: knows the runs.
        lake: holds their locks.
        time_to_start: a run whose state changed within this time may not have its lock yet. The default is
            Dagster's own time for a start while a run waits for its process, in a broker or for a pod; after
            that, the time to load the code. A caller that knows that no daemon starts runs gives none.

    Returns:
        Ids of the runs reaped.
    """
    reaped = []
    for record in instance.get_run_records(RunsFilter(statuses=list(_UNFINISHED))):
        run, sign = record.dagster_run, _sign(lake, record.dagster_run.run_id)
        if sign.mark() is None:
            if _may_still_start(instance, record, time_to_start) or _ends_now(instance, run):
                continue
        elif lake.is_locked(_name(run.run_id)):
            continue
        if _has_ended(instance, run.run_id):
            continue
        end_as_failed(instance, run, "Its process is gone: killed, or the machine went down.")
        sign.remove()
        reaped.append(run.run_id)
    _free_places_of_the_ended(instance, lake)
    _remove_old_signs(instance, lake)
    return reaped


def _may_still_start(instance: dg.DagsterInstance, record: dg.RunRecord, limit: timedelta | None) -> bool:
    """Whether a run without a lock may get one: it waits for its process, or the process loads the code."""
    since, run = record.update_timestamp, record.dagster_run
    if limit is not None:
        return _is_within(limit, since)
    longest = seconds_to_start(instance)
    to_load = min(longest, _TIME_TO_LOCK)
    if run.status != DagsterRunStatus.STARTING:
        return _is_within(to_load, since)
    if began := process_began(instance, run.run_id):
        return _is_within(to_load, max(since, began))
    # It waits in a broker or for a pod.
    return _is_within(to_load, since) or (_is_within(longest, since) and not worker_has_ended(instance, run))


def _is_within(limit: timedelta, since: datetime) -> bool:
    return abs(utc_now() - since) < limit  # the clock may be set back


def _free_places_of_the_ended(instance: dg.DagsterInstance, lake: Lake) -> None:
    """Free the places in pools that ended runs still hold: after a kill in between, or from a backup.

    Dagster's daemon does so too, but there may be none. A run that was ended by force may still be at work.
    """
    for run_id in runs_with_places(instance):
        lives = _sign(lake, run_id).mark() is not None and lake.is_locked(_name(run_id))
        if not lives and _has_ended(instance, run_id):
            free_places(instance, run_id)


def _remove_old_signs(instance: dg.DagsterInstance, lake: Lake) -> None:
    """Remove the signs of runs whose death Dagster itself reported, or that it does not know.

    A process may hold the lock of a run before Dagster knows of the run.
    """
    for file in (lake.locks / _LOCKS).glob("*.lock"):
        if _has_ended(instance, file.stem):
            with suppress(Timeout), _lock(lake, file.stem, blocking=False):
                file.unlink(missing_ok=True)


def reaping(instance: dg.DagsterInstance, lake: Lake, *, seconds: float = 30) -> AbstractContextManager[None]:
    """Reap dead runs every so many seconds, for a process without a daemon that may wait for their places."""

    def reap() -> None:
        try:
            reap_dead_runs(instance, lake)
        except Exception:  # noqa: BLE001 - as in the daemon's sensors: a failure now may be a success later
            _LOG.warning("could not search for runs whose process is gone; trying again", exc_info=True)

    return repeated(reap, seconds)


def _has_ended(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether the run has ended by now, or is unknown: its lock is released a moment before its end."""
    run = instance.get_run_by_id(run_id)
    return run is None or run.is_finished


def _ends_now(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether a run without a sign ends: a worker on another machine gives it back, then records the end."""
    if run.status not in {DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING}:
        return False
    until = monotonic() + _SECONDS_TO_RECORD
    while not (has_ended := _has_ended(instance, run.run_id)) and monotonic() < until:
        sleep(_SECONDS_TO_RECORD / 10)
    return has_ended


def _lock(lake: Lake, run_id: str, *, blocking: bool = True) -> Lock:
    return lake.lock(_name(run_id), blocking=blocking)


def _sign(lake: Lake, run_id: str) -> Note:
    """The sign that exists while a run lives, and after it died: on one machine, the lock's own file."""
    return lake.note(f"{_name(run_id)}.lock")


def _name(run_id: str) -> str:
    return f"{_LOCKS}/{run_id}"
