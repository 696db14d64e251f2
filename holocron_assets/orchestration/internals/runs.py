"""Runs: starts their processes, counts them, reads their events, tags and ends them, frees their places.

Waits for: public calls of `DagsterInstance` for each. Those that are here exist, but Dagster does not mark
them as public. And a setting for how a code server starts the processes of runs.
"""

import atexit
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import set_forkserver_preload
from multiprocessing.resource_tracker import ensure_running
from time import sleep
from typing import cast

import dagster as dg
from dagster import DagsterEventType, EventLogRecord, RunsFilter
from dagster._core.launcher.base import WorkerStatus

_PROCESS_BEGAN = "Started process for run"
_OVER = {WorkerStatus.NOT_FOUND, WorkerStatus.FAILED, WorkerStatus.SUCCESS}

_CODE_SERVER = "dagster._grpc.server"
LIBRARIES = (
    *("dagster._grpc.impl", "dagster._core.storage.sqlite_storage", "alembic.command", "duckdb", "httpx"),
    *("jinja2.sandbox", "mwparserfromhell", "opentelemetry.propagate", "pyarrow.compute", "pyarrow.parquet"),
    *("rapidfuzz", "structlog", "tantivy", "watchdog.observers"),
    "holocron_assets.derive.engine.official_client",  # imports `ollama`, which fails in some environments
)
"""Modules that import nearly all that the code imports of libraries."""
_SECONDS_BETWEEN_LOOKS = 0.2

_LOG = logging.getLogger(__name__)


class RunProcess(ForkServerProcess):
    """The process of a run, forked from one that has imported the libraries, but not our code.

    A process of Dagster's own imports the libraries, which is most of what a run of a few pages takes. Our
    code reads files that people edit when it is imported, so each run imports it itself.
    """

    def start(self) -> None:
        """Start it, by the process that forks; this starts that one first, if there is none."""
        ensure_running()  # or else the start would begin with this, which lets signals through again
        # The process that forks ends after its runs, also when all are asked to end: once it is gone, the
        # code server reports that the runs died.
        earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, earlier)

    def run(self) -> None:
        """Do the run, and at its end what was registered for the end of a process."""
        threading.Thread(target=_die_after, args=(os.getppid(),), daemon=True).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        try:
            super().run()
        finally:
            atexit._run_exitfuncs()  # noqa: SLF001 - Python does not call them where it forked


class _RunContext(ForkServerContext):
    Process = RunProcess


def fork_runs() -> None:
    """Let this process fork the processes of runs, if it is a code server.

    A code server makes each process by a context that is an attribute of the server, which this replaces.
    Only on Linux: elsewhere, not every library of the system can be used in a forked process.
    """
    server = sys.modules.get(_CODE_SERVER)
    if server and sys.platform == "linux":
        set_forkserver_preload(list(LIBRARIES))
        context = _RunContext()
        setattr(server.DagsterApiServer, "_mp_ctx", property(lambda _: context, lambda *_: None))  # noqa: B010


def _die_after(parent: int) -> None:
    while os.getppid() == parent:
        sleep(_SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGKILL)


def count_runs(instance: dg.DagsterInstance, wanted: RunsFilter) -> int:
    """How many runs a filter finds. Dagster has no public call that counts runs without reading them."""
    return instance.get_runs_count(wanted)


def events_of_run(
    instance: dg.DagsterInstance,
    run_id: str,
    kind: DagsterEventType,
    *,
    limit: int | None = None,
    ascending: bool = True,
) -> Sequence[EventLogRecord]:
    """The events of one kind that a run has. Dagster has no public call that reads the events of a run.

    Args:
        instance: knows them.
        run_id: the run's id.
        kind: the events' kind.
        limit: the most events; all if None.
        ascending: whether the first event comes first.
    """
    return instance.get_records_for_run(run_id, of_type=kind, limit=limit, ascending=ascending).records


def step_seconds(instance: dg.DagsterInstance, run_id: str) -> dict[str, float]:
    """How long each step of a run took, in seconds. Dagster has no public call that says so."""
    steps = instance.get_run_step_stats(run_id)
    return {
        step.step_key: step.end_time - step.start_time for step in steps if step.end_time and step.start_time
    }


def add_tags(instance: dg.DagsterInstance, run_id: str, tags: Mapping[str, str]) -> None:
    """Add tags to a run that began already. Dagster has no public call that does so."""
    instance.add_run_tags(run_id, dict(tags))


def add_tags_now(instance: dg.DagsterInstance, run: dg.DagsterRun, tags: Mapping[str, str]) -> None:
    """Add tags to the run of this process, so that its steps use them.

    Dagster has no public call that does so. Steps use the tags that the run had when it was loaded;
    tags written only to the storage come too late.
    """
    add_tags(instance, run.run_id, tags)
    cast("dict[str, str]", run.tags).update(tags)


def end_as_failed(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Free the places that a run holds, then record that it failed.

    Dagster has no public call that does so. The places come first: if this process were killed after the
    report, nothing would ever free them.
    """
    free_places(instance, run.run_id)
    instance.report_run_failed(run, why)


def end_as_canceled(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """End a run under way as canceled. Dagster has no public call that does so."""
    instance.report_run_canceling(run, message=why)


def seconds_to_start(instance: dg.DagsterInstance) -> timedelta:
    """How long Dagster gives a run to start. It has no public call that reads this setting."""
    return timedelta(seconds=instance.run_monitoring_start_timeout_seconds)


def process_began(instance: dg.DagsterInstance, run_id: str) -> datetime | None:
    """When the run's last process began to load its code; None while the run waits in a broker or for a pod.

    Dagster has no public call that says so. Every process that it starts for a run records an event without
    a type of its own, so its words are compared.
    """
    for record in events_of_run(instance, run_id, DagsterEventType.ENGINE_EVENT, ascending=False):
        if record.event_log_entry.message.startswith(_PROCESS_BEGAN):
            return datetime.fromtimestamp(record.timestamp, UTC)
    return None


def worker_has_ended(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the task or pod that was made for a run is known to be over. Dagster has no public call for it.

    A launcher asks a broker or a cluster, which may not answer; what is not known is not over.
    """
    launcher = instance.run_launcher
    if not launcher.supports_check_run_worker_health:
        return False
    try:
        return launcher.check_run_worker_health(run).status in _OVER
    except Exception:  # noqa: BLE001 - each launcher has errors of its own
        _LOG.warning("could not ask about the process of run %s", run.run_id, exc_info=True)
        return False


def runs_with_places(instance: dg.DagsterInstance) -> Sequence[str]:
    """Ids of runs that hold places in pools. Dagster has no public call that lists them."""
    storage = instance.event_log_storage
    return list(storage.get_concurrency_run_ids()) if storage.supports_global_concurrency_limits else []


def free_places(instance: dg.DagsterInstance, run_id: str) -> None:
    """Free the places in pools that a run holds. Dagster has no public call that does so."""
    instance.event_log_storage.free_concurrency_slots_for_run(run_id)


def runs_in_pool(instance: dg.DagsterInstance, pool: str) -> set[str]:
    """Ids of runs that hold a place of a pool or wait for one. Dagster has no public call that lists them."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return set()
    places = storage.get_concurrency_info(pool)
    return {place.run_id for place in places.claimed_slots} | {step.run_id for step in places.pending_steps}


def is_limited(instance: dg.DagsterInstance, pool: str) -> bool:
    """Whether a limit was set for a pool."""
    return any(one.name == pool for one in instance.event_log_storage.get_pool_limits())


def limit_pool(instance: dg.DagsterInstance, pool: str, limit: int) -> None:
    """Set how many steps of a pool go on at once.

    Dagster has no public call that does so, and `dagster.yaml` takes only one default for all pools.
    """
    instance.event_log_storage.set_concurrency_slots(pool, limit)
