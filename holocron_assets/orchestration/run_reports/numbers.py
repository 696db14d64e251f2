"""Numbers over all runs that Dagster keeps: statuses, retries, durations, the last failures."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from statistics import fmean
from threading import Lock
from typing import Any, NamedTuple

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.orchestration.internals.runs import count_runs
from holocron_assets.orchestration.run_reports.entries import iso_time
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.planning.job_names import PARENT_TAG, PARTITION_TAG
from holocron_assets.telemetry.masking import without_secrets

_AT_ONCE = 1000
_FAILURES = 20
_LONGEST_LINE = 300


class _Past(NamedTuple):
    """What counts of a run."""

    run_id: str
    job: str
    partition: str | None
    status: DagsterRunStatus
    is_finished: bool
    parent: str | None
    started: float | None
    ended: float | None


class RunNumbers:
    """Numbers over all runs. What ended is read once; each request reads only what is new or goes on."""

    def __init__(self) -> None:
        """Begin without any run."""
        self._runs: dict[str, _Past] = {}  # in the order in which they were made
        self._lock = Lock()

    def read(self, instance: dg.DagsterInstance) -> Mapping[str, Any]:
        """The numbers now, as plain JSON values.

        Returns:
            `runs`, `status_counts`, `retry_stats`, `avg_duration` and `recent_failures`; see
            `docs/monitoring.md`.
        """
        with self._lock:
            self._update(instance)
            runs = list(self._runs.values())
        statuses = Counter(run.status for run in runs)
        return {
            "runs": len(runs),
            "status_counts": {status.value: statuses[status] for status in DagsterRunStatus},
            "retry_stats": _retry_stats(runs),
            "avg_duration": _durations(runs),
            "recent_failures": _recent_failures(instance, runs),
        }

    def _update(self, instance: dg.DagsterInstance) -> None:
        if unfinished := [run.run_id for run in self._runs.values() if not run.is_finished]:
            self._keep(instance.get_run_records(RunsFilter(run_ids=unfinished)))
        self._read_on(instance)
        if len(self._runs) != count_runs(instance, RunsFilter()):  # some were deleted
            self._runs.clear()
            self._read_on(instance)

    def _read_on(self, instance: dg.DagsterInstance) -> None:
        """Read the runs that were made after the last one that is known, in pages."""
        last = next(reversed(self._runs), None)
        while page := instance.get_run_records(limit=_AT_ONCE, cursor=last, ascending=True):
            self._keep(page)
            last = page[-1].dagster_run.run_id

    def _keep(self, records: Iterable[dg.RunRecord]) -> None:
        for record in records:
            run = record.dagster_run
            self._runs[run.run_id] = _Past(
                run.run_id,
                run.job_name,
                run.tags.get(PARTITION_TAG),
                run.status,
                run.is_finished,
                run.tags.get(PARENT_TAG),
                record.start_time,
                record.end_time,
            )


def _retry_stats(runs: Sequence[_Past]) -> Mapping[str, Any]:
    """How many runs retry others, chains by their number of runs, and how many ended well after a retry."""
    first_of: dict[str, str] = {}
    for run in runs:  # a run that is retried was made before its retry
        first_of[run.run_id] = first_of.get(run.parent, run.parent) if run.parent else run.run_id
    retries = [run for run in runs if run.parent]
    lengths = Counter(first_of[run.run_id] for run in retries)
    saved = {first_of[run.run_id] for run in retries if run.status == DagsterRunStatus.SUCCESS}
    by_length = Counter(count + 1 for count in lengths.values())
    return {
        "retries": len(retries),
        "chains": len(lengths),
        "chains_by_length": {str(length): by_length[length] for length in sorted(by_length)},
        "succeeded_after_retry": len(saved),
    }


def _durations(runs: Sequence[_Past]) -> Mapping[str, Any]:
    """Of each job's runs that ended well, in seconds from start to end."""
    by_job = defaultdict[str, list[float]](list)
    for run in runs:
        if run.status == DagsterRunStatus.SUCCESS and run.started and run.ended:
            by_job[run.job].append(run.ended - run.started)
    return {
        job: {
            "runs": len(seconds),
            "average_seconds": round(fmean(seconds), 3),
            "p95_seconds": round(sorted(seconds)[ceil(0.95 * len(seconds)) - 1], 3),
        }
        for job, seconds in sorted(by_job.items())
    }


def _recent_failures(instance: dg.DagsterInstance, runs: Sequence[_Past]) -> Sequence[Mapping[str, Any]]:
    """The runs that failed last, the newest first, each with its error in a line."""
    failed = [run for run in runs if run.status == DagsterRunStatus.FAILURE]
    failed.sort(key=lambda run: run.ended or 0, reverse=True)
    return [
        {
            "run_id": run.run_id,
            "job": run.job,
            "partition": run.partition,
            "ended_at": iso_time(run.ended),
            "error": _line(failure_of(instance, run.run_id).reason),
        }
        for run in failed[:_FAILURES]
    ]


def _line(reason: str) -> str:
    return " ".join(without_secrets(reason).split())[:_LONGEST_LINE]
