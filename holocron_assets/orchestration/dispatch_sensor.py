"""The sensor that gives work to models: a thin shell over `derive.plans`. One run a free place of a pool."""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile
from typing import NamedTuple

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.derive.backlog import backlog
from holocron_assets.derive.interrogation import Interrogation
from holocron_assets.derive.interrogation_files import load_interrogations
from holocron_assets.derive.plans import Plan, plan, version_of
from holocron_assets.derive.pools import DispatchError, DispatchSettings, read_dispatch_settings
from holocron_assets.derive.problems import ModelServerUnavailable
from holocron_assets.derive.served import ServedModels, gpu_holder, is_switched_off, served_models
from holocron_assets.derive.slots import GPU_POOL
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.journal import Journal
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables.derive import GPU_RUNS
from holocron_assets.models.errors import ModelServerError
from holocron_assets.orchestration.gpu_job import DERIVE_JOBS, WhatToAsk, run_config
from holocron_assets.orchestration.names import (
    GPU_JOB,
    GPU_MODEL_TAG,
    MODEL_POOL_TAG,
    MODEL_TAG,
    PROGRESS_TAG,
    WORK_TAG,
)
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.run_requests import UNDER_WAY, due_after
from holocron_assets.orchestration.work import Work
from holocron_assets.settings import dispatch_file

_MOST_FAILURES = 4
"""Runs of the past that matter: after so many, the wait grows no longer."""

_STOPPED = (DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_SHADOW = "shadow"


@dg.sensor(
    jobs=DERIVE_JOBS,
    minimum_interval_seconds=5,  # from one run's end to the next one's start, the GPU waits for us
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Picks the model whose waiting work has the highest priority, and asks for one run of it.",
)
def model_dispatch(
    context: dg.SensorEvaluationContext, lake: LakeResource
) -> dg.SensorResult | dg.SkipReason:
    """Ask for a run for each free place of a pool that finds work; or record what it would ask for."""
    if is_switched_off():
        return dg.SkipReason("no model is asked: HOLOCRON_LLM is off")
    opened, interrogations = lake.open(), load_interrogations()
    try:
        settings = read_dispatch_settings(dispatch_file())
        at_work = _at_work(context.instance, opened, settings)
        if all(len(at_work[pool]) >= limit for pool, limit in settings.limits.items()):
            return dg.SkipReason(f"models are at work: {_told(at_work)}")
        served = served_models(interrogations)
    except (DispatchError, ModelServerError, ModelServerUnavailable) as error:
        return dg.SkipReason(str(error))
    now = utc_now()
    waiting = backlog(opened, interrogations, digests=served.digests, now=now)
    plans = plan(waiting, settings, served.loaded, now, at_work=at_work)
    asked = [_asked(context.instance, one, interrogations, served) for one in plans]
    for one in plans:
        context.log.info(f"pool {one.pool}: {' '.join(one.decision.reasons)}")
    if settings.mode == _SHADOW:
        return _recorded(context, opened, plans, asked)
    requests = [answer.request for answer in asked if answer.request]
    if requests:
        return dg.SensorResult(run_requests=requests)
    return dg.SkipReason("; ".join(answer.why for answer in asked) or f"models are at work: {_told(at_work)}")


def job_of(pool: str) -> str:
    """The job that asks models of a pool."""
    return GPU_JOB if pool == GPU_POOL else f"{GPU_JOB}_{pool}"


def run_tags(pool: str, model: str) -> dict[str, str]:
    """Tags of a run that asks a model: what limits go by, and the next tick."""
    tags = {MODEL_TAG: model, MODEL_POOL_TAG: pool}
    return {**tags, GPU_MODEL_TAG: model} if pool == GPU_POOL else tags


class _Answer(NamedTuple):
    """What becomes of a plan: a run to ask for, or why there is none."""

    request: dg.RunRequest | None
    why: str


def _asked(
    instance: dg.DagsterInstance, wanted: Plan, interrogations: Sequence[Interrogation], served: ServedModels
) -> _Answer:
    model = wanted.decision.model
    if model is None:
        return _Answer(None, " ".join(wanted.decision.reasons))
    job = job_of(wanted.pool)
    work = Work(job, None, version_of(interrogations, model, served.digests[model]))
    last_run, wait = _history(instance, work, wanted.progress)
    if wait:
        return _Answer(None, f"{model} {wait}")
    request = dg.RunRequest(
        # A run key is refused for ever once used, even after a failure; so it names the run that came before.
        run_key=f"{work.key}/{wanted.progress}/{last_run or 'first'}",
        job_name=job,
        run_config=run_config(wanted.pool, WhatToAsk(model=model)),
        tags={**run_tags(wanted.pool, model), WORK_TAG: work.key, PROGRESS_TAG: wanted.progress},
    )
    return _Answer(request, " ".join(wanted.decision.reasons))


def _history(instance: dg.DagsterInstance, work: Work, progress: str) -> tuple[str | None, str | None]:
    """The last run for the work, and why its model has to wait, if it has.

    A run that ended well and left work is followed by another at once. After one that failed, was stopped or
    changed nothing, the next comes later, and later.
    """
    records = instance.get_run_records(RunsFilter(tags={WORK_TAG: work.key}), limit=_MOST_FAILURES)
    if not records:
        return None, None
    in_vain = list(
        takewhile(
            lambda record: (
                record.dagster_run.status in _STOPPED or record.dagster_run.tags.get(PROGRESS_TAG) == progress
            ),
            records,
        )
    )
    last_run = records[0].dagster_run.run_id
    due = due_after(instance, records[0], len(in_vain)) if in_vain else None
    wait = f"is due at {due:%H:%M:%S} UTC, after run {last_run}" if due and due > utc_now() else None
    return last_run, wait


def _at_work(
    instance: dg.DagsterInstance, lake: Lake, settings: DispatchSettings
) -> dict[str, AbstractSet[str]]:
    """Who has the places of each pool: models that runs ask, runs that a person started, or a process."""
    found: dict[str, set[str]] = {pool: set() for pool in settings.limits}
    runs = instance.get_runs(RunsFilter(tags={MODEL_POOL_TAG: list(found)}, statuses=list(UNDER_WAY)))
    for run in runs:
        found[run.tags[MODEL_POOL_TAG]].add(run.tags.get(MODEL_TAG, run.run_id))
    known = {run.run_id for run in runs}
    for pool, places in found.items():
        # A person's run bears no tags, but its op holds a slot of the pool, or waits for one.
        places.update(f"run {run_id}" for run_id in _in_pool(instance, pool) - known)
    if not found[GPU_POOL] and (holder := gpu_holder(lake)):
        found[GPU_POOL].add(holder)
    return {pool: frozenset(places) for pool, places in found.items()}


def _in_pool(instance: dg.DagsterInstance, pool: str) -> set[str]:
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return set()
    slots = storage.get_concurrency_info(pool)
    return {slot.run_id for slot in slots.claimed_slots} | {step.run_id for step in slots.pending_steps}


def _told(at_work: Mapping[str, AbstractSet[str]]) -> str:
    return ", ".join(sorted(name for names in at_work.values() for name in names))


def _recorded(
    context: dg.SensorEvaluationContext, lake: Lake, plans: Sequence[Plan], asked: Sequence[_Answer]
) -> dg.SkipReason:
    """Keep what would be asked for, once as long as it stays the same, and ask for nothing."""
    keys = [answer.request.run_key for answer in asked if answer.request]
    wanted = [one.decision.model for one, answer in zip(plans, asked, strict=True) if answer.request]
    if not keys:
        return dg.SkipReason(f"shadow mode: {'; '.join(answer.why for answer in asked)}")
    mark = json.dumps(keys)
    if context.cursor != mark:
        with Journal(lake.journal(GPU_RUNS, _SHADOW)) as journal:
            for one, answer in zip(plans, asked, strict=True):
                if answer.request:
                    told = {"at": utc_now(), "pool": one.pool, "run_key": answer.request.run_key}
                    journal.append({**told, **one.decision.to_json()})
        context.update_cursor(mark)
    return dg.SkipReason(f"shadow mode: would launch {', '.join(map(str, wanted))}; nothing is launched")
