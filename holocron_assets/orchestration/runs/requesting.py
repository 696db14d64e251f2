"""Makes run requests from work: never twice at once, and with growing pauses after failures."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.decisions.controls import Controls, Scope, standing_controls
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.events import partitions_of_run
from holocron_assets.orchestration.internals.runs import count_runs
from holocron_assets.orchestration.runs.held import is_held
from holocron_assets.orchestration.runs.run_retries import NextTry, next_try
from holocron_assets.planning.holding import hold_on
from holocron_assets.planning.job_names import (
    HOST_TAG,
    OUTCOME_TAG,
    PAUSED,
    PRIORITY_TAG,
    SOURCE_TAG,
    TRACE_TAG,
    WORK_TAG,
)
from holocron_assets.planning.work import Work
from holocron_assets.telemetry.spans import trace_parent

MOST_REQUESTS = 20
"""Most runs of a job that a tick requests, so that it ends in time.

When so many are requested or running, only a source without a run gets one. So the queue stays short, and the
first sources do not hold all places.
"""

_MOST_TRIES = 20
"""Most runs that are counted as tries of one work: after fewer, the pauses grow no more."""

UNDER_WAY = (
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
)


@dataclass(frozen=True)
class Requested:
    """The result of one tick's work.

    Attributes:
        requests: runs to request.
        waiting: why other work has to wait, for the tick's message.
    """

    requests: list[dg.RunRequest]
    waiting: list[str]


def is_under_way(instance: dg.DagsterInstance, job: str) -> bool:
    """Whether a run of a job is requested or running."""
    return count_runs(instance, RunsFilter(job_name=job, statuses=list(UNDER_WAY))) > 0


def run_requests(
    instance: dg.DagsterInstance, lake: Lake, work: Iterable[Work], *, now: datetime | None = None
) -> Requested:
    """The runs to request now.

    Work that a person holds back waits until it is resumed. Other work waits while a run for it, or for its
    partition, is under way. After a run that left it undone, it is due later and later (see `next_try`). Work
    is never given up, since the pages at fault are given up one by one.

    Args:
        instance: knows the runs.
        lake: knows what is held back, and how sources rank.
        work: in order of importance; of equals in rank, the first comes first.
        now: the moment, for tests.
    """
    now = now or utc_now()
    records = instance.get_run_records(RunsFilter(statuses=list(UNDER_WAY)))
    runs = [record.dagster_run for record in records]
    # Partitions and work of all runs, also of those that a person started.
    busy = {name for run in runs for name in (*partitions_of_run(run), run.tags.get(WORK_TAG)) if name}
    # For each job: a long crawl must not hold up rare work.
    under_way = Counter(run.job_name for run in runs)
    of_source = Counter((run.job_name, run.tags.get(SOURCE_TAG)) for run in runs)
    asked = Counter[str]()
    requests: list[dg.RunRequest] = []
    waiting: dict[str, None] = {}
    controls = standing_controls(lake)
    for item in sorted(work, key=lambda item: -priority_of(controls, item)):
        has_one = not item.source or of_source[item.job, item.source]
        if asked[item.job] >= MOST_REQUESTS or (under_way[item.job] >= MOST_REQUESTS and has_one):
            continue
        if {item.key, item.partition} & busy:
            continue
        if hold := hold_on(lake, item):
            waiting[str(hold)] = None
            continue
        last_run, again = _history(instance, item, now)
        if again.due_at > now:
            waiting[f"{item} is due at {again.due_at:%H:%M:%S} UTC"] = None
            continue
        busy.add(item.partition or item.key)
        asked[item.job] += 1
        under_way[item.job] += 1
        of_source[item.job, item.source] += 1
        requests.append(_request(item, last_run, again.tags, priority_of(controls, item)))
    return Requested(requests, list(waiting))


def priority_of(controls: Controls, item: Work) -> int:
    """The priority of some work: that of its source."""
    return controls.priority(Scope("source", item.source)) if item.source else 0


def work_tags(item: Work, priority: int = 0) -> dict[str, str]:
    """Tags of a run for some work, for limits, Dagster's queue and the next tick.

    Args:
        item: the work.
        priority: Dagster takes the run with the highest one out of its queue first.
    """
    tags = {WORK_TAG: item.key}
    if priority:
        tags[PRIORITY_TAG] = str(priority)
    if item.source:
        tags[SOURCE_TAG] = item.source
    if item.host:
        tags[HOST_TAG] = item.host
    if parent := trace_parent():
        tags[TRACE_TAG] = parent
    return tags


def _history(instance: dg.DagsterInstance, item: Work, now: datetime) -> tuple[str | None, NextTry]:
    """The last run that ended with the work undone, if there was one, and the next try.

    What failed is tried again as often as it failed since the work was last done: some work comes up again.
    If a run's end is in the future, its clock was ahead, and its times do not count. A run that ended because
    its work was held back does not count.
    """
    runs = RunsFilter(tags={WORK_TAG: item.key})
    last = next(iter(instance.get_run_records(runs, limit=1)), None)
    if last is None:
        return None, NextTry(now, {})
    last_run = last.dagster_run.run_id
    if last.update_timestamp > now or is_held(last.dagster_run):
        return last_run, NextTry(now, {})
    if last.dagster_run.status == DagsterRunStatus.FAILURE:
        records = [one.dagster_run for one in instance.get_run_records(runs, limit=_MOST_TRIES)]
        since = takewhile(lambda run: run.status != DagsterRunStatus.SUCCESS, records)
        return last_run, next_try(instance, last, sum(not is_held(run) for run in since))
    held = count_runs(instance, RunsFilter(tags={WORK_TAG: item.key, OUTCOME_TAG: PAUSED}))
    return last_run, next_try(instance, last, count_runs(instance, runs) - held)


def _request(item: Work, last_run: str | None, tags: Mapping[str, str], priority: int) -> dg.RunRequest:
    # A used run key is refused for ever, even after a failure; so it names the run that came before.
    return dg.RunRequest(
        run_key=f"{item.key}/{last_run or 'first'}",
        job_name=item.job,
        partition_key=item.partition,
        tags={**work_tags(item, priority), **tags},
    )
