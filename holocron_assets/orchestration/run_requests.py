"""Turning work into run requests: never twice at once, and later and later after each failure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.crawl.attempts import delay_after
from holocron_assets.crawl.batches import source_of
from holocron_assets.lake.clock import utc_now
from holocron_assets.orchestration.names import HOST_TAG, PARTITION_TAG, SOURCE_TAG, WORK_TAG
from holocron_assets.orchestration.work import Work

MOST_REQUESTS = 20
"""Runs that one tick asks for, so that it ends in time and the run queue stays short."""

_UNDER_WAY = (
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
)


@dataclass(frozen=True)
class Requested:
    """What became of the work of one tick.

    Attributes:
        requests: runs to ask for.
        waiting: why other work has to wait, for the tick's message.
    """

    requests: list[dg.RunRequest]
    waiting: list[str]


def run_requests(
    instance: dg.DagsterInstance, work: Iterable[Work], *, now: datetime | None = None
) -> Requested:
    """The runs to ask for now.

    Work waits while a run for it, or for its partition, is under way. It waits too if its last run ended less
    than 30 s ago, then 2 min, then 10 min: what is still to be done after a run failed. It is never given up,
    since the pages at fault are: they die one by one.

    Args:
        instance: knows the runs.
        work: in order of importance.
        now: the moment, for tests.
    """
    now = now or utc_now()
    busy = _under_way(instance)
    requests: list[dg.RunRequest] = []
    waiting: list[str] = []
    for item in work:
        if len(requests) == MOST_REQUESTS:
            break
        if {item.key, item.partition} & busy:
            continue
        attempts, due = _history(instance, item)
        if due and due > now:
            waiting.append(f"{item} is due at {due:%H:%M:%S} UTC, attempt {attempts + 1}")
            continue
        busy |= {item.partition or item.key}
        requests.append(_request(item, attempts))
    return Requested(requests, waiting)


def _under_way(instance: dg.DagsterInstance) -> set[str]:
    """Partitions that a queued or running run is about, whoever started it, and the work it is for."""
    runs = instance.get_runs(RunsFilter(statuses=list(_UNDER_WAY)))
    return {run.tags[tag] for run in runs for tag in (PARTITION_TAG, WORK_TAG) if tag in run.tags}


def work_tags(item: Work) -> dict[str, str]:
    """Tags of a run for some work: what limits, and the next tick, know it by."""
    tags = {WORK_TAG: item.key}
    if item.partition:
        tags[SOURCE_TAG] = source_of(item.partition) or item.partition
    if item.host:
        tags[HOST_TAG] = item.host
    return tags


def _history(instance: dg.DagsterInstance, item: Work) -> tuple[int, datetime | None]:
    """How many runs ended with the work undone, and when it may be tried again."""
    runs = RunsFilter(tags={WORK_TAG: item.key})
    attempts = instance.get_runs_count(runs)
    if not attempts:
        return 0, None
    last = instance.get_run_records(runs, limit=1)[0]
    return attempts, last.update_timestamp + delay_after(attempts)


def _request(item: Work, attempts: int) -> dg.RunRequest:
    # A run key is refused for ever once used, even after a failure; so it counts the attempts.
    return dg.RunRequest(
        run_key=f"{item.key}/{attempts}",
        job_name=item.job,
        partition_key=item.partition,
        tags=work_tags(item),
    )
