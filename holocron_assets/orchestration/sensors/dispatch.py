"""Sensors that give work to models, one for each pool: thin layers over `derive.dispatch.plans`."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import dagster as dg

from holocron_assets.decisions.controls import HeldBackError, refuse_full
from holocron_assets.derive.dispatch.backlog import backlog
from holocron_assets.derive.dispatch.choosing import Waiting
from holocron_assets.derive.dispatch.plans import Plan, plan_turns, version_of
from holocron_assets.derive.dispatch.pools import CODE_POOL, DispatchSettings, read_dispatch_settings
from holocron_assets.derive.dispatch.served import (
    ServedModels,
    is_switched_off,
    served_by_code,
    served_models,
)
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.engine.problems import ModelServerUnavailable
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.derive.server.process.connection import fetch_command
from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS
from holocron_assets.orchestration.internals.assets import AssetJob
from holocron_assets.orchestration.jobs.derive import job_of_plan, jobs_of_pool
from holocron_assets.orchestration.model_runs.dispatch_runs import at_work, history
from holocron_assets.orchestration.model_runs.dispatched_runs import tags_of_model
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.planning.holding import holds_named
from holocron_assets.planning.job_names import PROGRESS_TAG, WORK_TAG
from holocron_assets.planning.repair import repaired_tick
from holocron_assets.planning.work import Work
from holocron_assets.settings import dispatch_file
from holocron_assets.telemetry.logs import logger

_LOG = logger(__name__)
_NAME = "model_dispatch"
_SHADOW = "shadow"


def _dispatch_sensor(pool: str, jobs: Sequence[AssetJob]) -> dg.SensorDefinition:
    @dg.sensor(
        name=_NAME if pool == GPU_POOL else f"{_NAME}_{pool}",
        jobs=list(jobs) or None,
        # At every round of Dagster's daemon, five seconds: from one run's end to the next one's start the GPU
        # waits for us. With five here, a round that comes a moment early would be left out.
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Picks the model whose waiting work has the highest priority, and requests a run of it.",
    )
    @repaired_tick
    def dispatch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult | dg.SkipReason:
        if is_switched_off() and pool != CODE_POOL:
            return dg.SkipReason("no model is asked: HOLOCRON_LLM is off")
        try:
            return _tick(context, lake.open(), pool, read_dispatch_settings(dispatch_file()))
        except (HeldBackError, SettingsError, ModelServerError, ModelServerUnavailable) as error:
            return dg.SkipReason(str(error))

    return dispatch


class _Answer(NamedTuple):
    """The result of a plan: a run to request, or why its model rests."""

    plan: Plan
    request: dg.RunRequest | None
    rests: str | None


def _tick(
    context: dg.SensorEvaluationContext, lake: Lake, pool: str, settings: DispatchSettings
) -> dg.SensorResult | dg.SkipReason:
    """Request a run for each free place that has work; or record what would be requested."""
    if pool not in settings.pools_now:
        return dg.SkipReason(f"there is no pool {pool} any more; reload the code location")
    refuse_full(lake)  # a drain would let begun partitions be finished
    turns = settings.turns_of(pool)
    busy = at_work(context.instance, lake, settings, turns)
    if len(busy) >= settings.limits[turns]:
        return dg.SkipReason(f"models are at work: {', '.join(sorted(busy))}")
    named = _taking_turns(pool, settings)
    interrogations = [one for one in named if one.enabled]
    served, controls = _served(interrogations), StandingControls(lake)
    waiting = backlog(lake, interrogations, digests=served.digests, now=utc_now(), heed=controls.heeded)
    answers, resting = _answers(context.instance, turns, waiting, settings, interrogations, served, busy)
    # Where pools take turns, each has a sensor, and each sees the same decision.
    own = [one for one in answers if one.plan.pool in {pool, turns}]
    requests = [answer.request for answer in own if answer.request]
    for answer in answers:
        _LOG.debug(
            "decided what is asked next", pool=pool, rests=answer.rests, **answer.plan.decision.to_json()
        )
    reasons = [" ".join(answer.plan.decision.reasons) for answer in answers]
    if requests and settings.mode == _SHADOW:
        return _recorded(context, lake, own)
    if requests:
        for reason in reasons:  # a tick without requests says them itself, and each tick's log is a file
            context.log.info(reason)
        return dg.SensorResult(run_requests=requests)
    held = [*holds_named(lake), *map(str, controls.holds_of_files(named))]
    return dg.SkipReason("; ".join([*(resting or reasons), *held, *_lacks(served)]))


def _taking_turns(pool: str, settings: DispatchSettings) -> list[Interrogation]:
    """The interrogations among which the next one is chosen: all models', code's, or both."""
    is_shared = len(settings.sharing(settings.turns_of(pool))) > 1
    return [
        one
        for one in load_interrogations()
        if (is_shared or one.is_of_code == (pool == CODE_POOL)) and (one.is_of_code or not is_switched_off())
    ]


def _served(interrogations: Sequence[Interrogation]) -> ServedModels:
    """What can be asked; without a server, code alone.

    Raises:
        ModelServerError, ModelServerUnavailable: there is no server, and nothing for code.
    """
    try:
        return served_models(interrogations)
    except (ModelServerError, ModelServerUnavailable):
        by_code = [one for one in interrogations if one.is_of_code]
        if not by_code:
            raise
        return served_by_code(by_code)


def _lacks(served: ServedModels) -> list[str]:
    """The models that the server lacks; otherwise it would seem that there is no work."""
    return [
        f"the model server has not got {model}: `{fetch_command()} {model}` gets it"
        for model in sorted(served.lacking)
    ]


def _answers(  # noqa: PLR0913, PLR0917 - all inputs of a decision
    instance: dg.DagsterInstance,
    turns: str,
    waiting: Sequence[Waiting],
    settings: DispatchSettings,
    interrogations: Sequence[Interrogation],
    served: ServedModels,
    busy: set[str],
) -> tuple[list[_Answer], list[str]]:
    """The result of each plan, and the models that rest: others get their places meanwhile."""
    resting: dict[str, str] = {}
    while True:
        plans = plan_turns(
            turns, waiting, settings, served.loaded, utc_now(), at_work=busy, resting=resting.keys()
        )
        answers = [_answer(instance, one, settings, interrogations, served) for one in plans]
        rest = {str(one.plan.decision.model): one.rests for one in answers if one.rests}
        if not rest:
            return answers, [f"{model} {why}" for model, why in resting.items()]
        resting |= rest


def _answer(
    instance: dg.DagsterInstance,
    wanted: Plan,
    settings: DispatchSettings,
    interrogations: Sequence[Interrogation],
    served: ServedModels,
) -> _Answer:
    model, job = wanted.decision.model, job_of_plan(wanted, interrogations, settings)
    if model is None or job is None:
        return _Answer(wanted, None, None)
    work = Work(job, None, version_of(interrogations, model, served.digests[model]))
    past = history(instance, work, wanted.progress)
    if past.rests:
        return _Answer(wanted, None, past.rests)
    request = dg.RunRequest(
        # A used run key is refused for ever, even after a failure; so it names the run that came before.
        run_key=f"{work.key}/{wanted.progress}/{past.last_run or 'first'}",
        job_name=job,
        run_config=WhatToAsk(model=model).run_config(),
        tags={
            **tags_of_model(wanted.pool, model),
            **past.retry_tags,
            WORK_TAG: work.key,
            PROGRESS_TAG: wanted.progress,
        },
    )
    return _Answer(wanted, request, None)


def _recorded(context: dg.SensorEvaluationContext, lake: Lake, answers: Sequence[_Answer]) -> dg.SkipReason:
    """Record what would be requested, once as long as it stays the same, and request nothing."""
    asked = [(answer.plan, answer.request) for answer in answers if answer.request]
    mark = json.dumps([request.run_key for _, request in asked])
    if context.cursor != mark:
        with Journal(lake.journal(GPU_RUNS, _SHADOW)) as journal:
            for one, request in asked:
                entry = {"at": utc_now(), "pool": one.pool, "run_key": request.run_key}
                journal.append({**entry, **one.decision.to_json()})
        context.update_cursor(mark)
    models = ", ".join(str(one.decision.model) for one, _ in asked)
    return dg.SkipReason(f"shadow mode: would launch {models}; nothing is launched")


def dispatch_sensors(
    settings: DispatchSettings,
    jobs: Sequence[AssetJob],
    interrogations: Sequence[Interrogation],
) -> list[dg.SensorDefinition]:
    """A sensor for each pool of models; the first is `model_dispatch`, of the GPU.

    Args:
        settings: names the pools.
        jobs: those that ask models.
        interrogations: what they ask.
    """
    sensors = []
    for pool in settings.pools_now:
        names = jobs_of_pool(pool, interrogations, settings)
        sensors.append(_dispatch_sensor(pool, [job for job in jobs if job.name in names]))
    return sensors
