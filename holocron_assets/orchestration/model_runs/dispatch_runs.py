"""Runs that ask models, for the dispatcher: which are at work, and which failed."""

from collections.abc import Mapping
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import gpu_holder
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.lake.attempts import delay_after
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.internals.runs import runs_in_pool
from holocron_assets.orchestration.runs.held import is_held
from holocron_assets.orchestration.runs.requesting import UNDER_WAY
from holocron_assets.orchestration.runs.run_retries import MOST_COUNTED, NextTry, next_try
from holocron_assets.planning.job_names import (
    MODEL_POOL_TAG,
    MODEL_TAG,
    PROGRESS_TAG,
    WORK_TAG,
)
from holocron_assets.planning.work import Work

_STOPPED = (DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)


def at_work(instance: dg.DagsterInstance, lake: Lake, settings: DispatchSettings, turns: str) -> set[str]:
    """Who holds places: models that runs ask, runs that a person started, or other processes.

    Args:
        instance: knows the runs.
        lake: knows the processes.
        settings: what may be done at once.
        turns: which places: one of the `limits` of the settings.
    """
    pools = settings.sharing(turns)
    wanted = RunsFilter(tags={MODEL_POOL_TAG: pools}, statuses=list(UNDER_WAY))
    runs = [record.dagster_run for record in instance.get_run_records(wanted)]
    found = {run.tags.get(MODEL_TAG, run.run_id) for run in runs}
    # A person's run bears no tags, but its op holds a slot of the pool, or waits for one.
    by_hand = runs_in_pool(instance, turns) - {run.run_id for run in runs}
    found.update(f"run {run_id}" for run_id in by_hand)
    if GPU_POOL in pools and not found and (holder := gpu_holder(lake)):
        found.add(holder)
    return found


class History(NamedTuple):
    """The past runs for some work.

    Attributes:
        last_run: the last run's id; None if there was none.
        rests: why the work rests, and until when; None if it may be tried now.
        retry_tags: what makes the next run a retry of the last one.
    """

    last_run: str | None = None
    rests: str | None = None
    retry_tags: Mapping[str, str] = MappingProxyType({})


def history(instance: dg.DagsterInstance, work: Work, progress: str) -> History:
    """The past runs for some work.

    After a run that ended well and left work, the next one follows at once. After runs that failed, were
    stopped or changed nothing, the pause grows. It is much longer after a permanent failure, unless there is
    other work now: new work does not wait because of one partition.

    Args:
        instance: knows the runs.
        work: their work.
        progress: the work that is left now; see `Plan.progress`.
    """
    records = instance.get_run_records(RunsFilter(tags={WORK_TAG: work.key}), limit=MOST_COUNTED)
    if not records:
        return History()
    in_vain = list(takewhile(lambda record: _was_in_vain(record.dagster_run, progress), records))
    last_run = records[0].dagster_run.run_id
    # An end in the future is that of a clock that was ahead: its times do not count.
    if not in_vain or records[0].update_timestamp > utc_now():
        return History(last_run)
    due_at, tags = _next_try(instance, records[0], len(in_vain), progress)
    rests = f"is due at {due_at:%H:%M:%S} UTC, after run {last_run}" if due_at > utc_now() else None
    return History(last_run, rests, tags)


def _next_try(instance: dg.DagsterInstance, last: dg.RunRecord, in_vain: int, progress: str) -> NextTry:
    due_at, tags = next_try(instance, last, in_vain)
    if last.dagster_run.tags.get(PROGRESS_TAG) != progress:
        due_at = min(due_at, last.update_timestamp + delay_after(in_vain))
    return NextTry(due_at, tags)


def _was_in_vain(run: dg.DagsterRun, progress: str) -> bool:
    if is_held(run):
        return False
    return run.status in _STOPPED or run.tags.get(PROGRESS_TAG) == progress
