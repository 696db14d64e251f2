"""Runs of the jobs `derive`: each asks one model, for as long as the dispatcher would choose it.

A run works on a model's backlog, over interrogations and partitions, in turns. It records each file that it
replaces, and does not wait for items that are due later: the dispatcher starts another run then. The run's
first step that finds something to ask chooses the model, and the steps of other models have nothing to do.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from time import monotonic

import dagster as dg

from holocron_assets.decisions.controls import HeldBackError, standing_controls
from holocron_assets.derive.code.kinds import CODE_KINDS
from holocron_assets.derive.dispatch.pools import CODE_POOL
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.gpu.model_run import Session, work_on
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.gpu.turns import LONGEST_SECONDS, Dispatched
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.events import (
    StepResult,
    partitions_of_run,
    recorded_late,
    recorded_partitions,
)
from holocron_assets.orchestration.internals.runs import add_tags
from holocron_assets.orchestration.model_runs.asking import (
    Asking,
    asking,
    raise_unfinished,
    session_metadata,
    written_event,
)
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.orchestration.resources.resources import ModelsResource
from holocron_assets.planning.job_names import GPU_MODEL_TAG, MODEL_POOL_TAG, MODEL_TAG, OUTCOME_TAG

_OUTCOMES = ("complete", "partial", "stopped", "paused")
"""Outcomes of a run in rising order: of its steps' outcomes, the last in this order counts."""

_SPARE_SECONDS = 60.0
"""Allowed difference: an event is later than its file, and clocks of machines that share a lake differ."""


def asked_in_turns(  # noqa: PLR0913, PLR0917 - the step, its lake and server, and its share of the work
    context: dg.AssetExecutionContext,
    lake: Lake,
    models: ModelsResource,
    what: WhatToAsk,
    own: Sequence[Interrogation],
    pool: str,
) -> Iterator[StepResult]:
    """Ask the interrogations of one step, if its model is the run's.

    Args:
        context: of the step.
        lake: where pages are and answers go.
        models: the model server.
        what: what the run is to ask.
        own: the interrogations whose assets the step makes.
        pool: of their model.
    """
    named = what.named(pool)
    mine = [one for one in own if one.name in named]
    asked = asking(lake, models, context.run, list(named.values())) if mine else None
    agenda = _agenda(context, asked, what, mine, pool) if asked else None
    if agenda or context.retry_number > 0:  # no other step asks the same now, or is about to record it
        yield from _unrecorded(context, lake, own)
    if asked and agenda:
        yield from _done(context, asked, what, agenda)
    else:
        _note_outcome(context, "complete")
    for one in own:
        yield dg.MaterializeResult(asset_key=dg.AssetKey(one.table.name))


def _unrecorded(
    context: dg.AssetExecutionContext, lake: Lake, own: Sequence[Interrogation]
) -> Iterator[dg.AssetMaterialization]:
    """Events for files without one: a step failed, or its run died, between the file and its event.

    Only files newer than the last event of their table are checked. An old lake has 14,000 files, and few of
    them are new.
    """
    for table in (one.table for one in own):
        key = dg.AssetKey(table.name)
        last = context.instance.get_latest_materialization_event(key)
        since = (last.timestamp - _SPARE_SECONDS) * 1e9 if last else 0
        new = [name for name, mark in lake.listing(table).own.items() if mark.mtime_ns >= since]
        footers = {name: footer for name in new if (footer := read_footer(lake, table, name))}
        for name in sorted(footers.keys() - recorded_partitions(context.instance, key, footers)):
            yield recorded_late(key, name, footers[name])


def tags_of_model(pool: str, model: str) -> dict[str, str]:
    """Tags of a run that asks a model, for limits and for the next tick."""
    tags = {MODEL_TAG: model, MODEL_POOL_TAG: pool}
    return {**tags, GPU_MODEL_TAG: model} if pool == GPU_POOL else tags


def _agenda(
    context: dg.AssetExecutionContext,
    asked: Asking,
    what: WhatToAsk,
    own: Sequence[Interrogation],
    pool: str,
) -> Dispatched | None:
    """What this step is to ask the run's model; None if there is nothing."""
    by_model = asked.by_model(list(what.named(pool).values()))
    is_of_code = pool == CODE_POOL
    model = what.model or (None if is_of_code else _model_of(context))
    if what.model and not asked.is_dispatched:  # a person chose the model: no other model has a turn
        _refuse_unasked(what.model, by_model, is_of_code=is_of_code)
        by_model = {what.model: by_model.get(what.model, [])}
    own_pool = asked.settings.pool_of(model) if model else pool
    in_pool = {
        name: several for name, several in by_model.items() if asked.settings.pool_of(name) == own_pool
    }
    candidates = [one for several in in_pool.values() for one in several]
    _refuse_all_paused(asked.lake, candidates)
    if is_of_code:  # nothing is loaded for code, so no kind of code waits for another's turn
        candidates = [one for one in candidates if one in own]
    partitions = what.partitions or partitions_of_run(context.run) or None
    agenda = Dispatched(
        asked.lake,
        candidates,
        asked.served,
        asked.settings,
        None if partitions is None else frozenset(partitions),
        model,
        deadline=_deadline(context),
    )
    if not agenda.model:
        decision = agenda.decision({})
        context.log.info(" ".join(decision.reasons))
        agenda.model = decision.model
    mine = {one.name for one in by_model.get(agenda.model or "", ())} & {one.name for one in own}
    if not (agenda.model and mine):
        context.log.info(f"this step asks nothing of {agenda.model or 'any model'} in pool {pool}")
        return None
    agenda.own = frozenset(mine)
    return agenda


def _refuse_unasked(model: str, by_model: Mapping[str, Sequence[Interrogation]], *, is_of_code: bool) -> None:
    """Raise PermanentError if a person names a model that no chosen interrogation asks."""
    if not is_of_code and model not in {*by_model, *CODE_KINDS}:
        raise PermanentError(
            f"no chosen interrogation asks {model!r} now; they ask {', '.join(sorted(by_model))}: "
            f"name one of these as `model`, or none"
        )


def _model_of(context: dg.AssetExecutionContext) -> str | None:
    """The model that an earlier step of the run chose, if any did."""
    run = context.instance.get_run_by_id(context.run.run_id)
    return run.tags.get(MODEL_TAG) if run else None


def _deadline(context: dg.AssetExecutionContext) -> float:
    """The end of the run's time, on the clock `monotonic`; its steps share it."""
    record = context.instance.get_run_record_by_id(context.run.run_id)
    began = record.start_time if record and record.start_time else utc_now().timestamp()
    return monotonic() + LONGEST_SECONDS - max(utc_now().timestamp() - began, 0)


def _refuse_all_paused(lake: Lake, interrogations: Sequence[Interrogation]) -> None:
    """Raise HeldBackError if a person or its file holds back every interrogation that the run may ask."""
    controls, of_files = standing_controls(lake), StandingControls(lake)
    pauses = [controls.pauses(interrogation=one.name) or of_files.hold_of_file(one) for one in interrogations]
    if pauses and all(pauses):
        raise HeldBackError("; ".join(dict.fromkeys(map(str, pauses))))


def _done(
    context: dg.AssetExecutionContext, asked: Asking, what: WhatToAsk, agenda: Dispatched
) -> Iterator[StepResult]:
    """Ask the model, record the written files, and set the run's outcome."""
    session, model = Session(), str(agenda.model)
    tags = tags_of_model(asked.settings.pool_of(model), model)
    add_tags(context.instance, context.run.run_id, tags)
    run = asked.model_run(model, [one for one in agenda.interrogations if model in one.models])
    with closing(work_on(run, agenda, session, what.choice())) as working:
        for written in working:
            if written.footer:
                work = written.opened.work
                yield written_event(asked.lake, work.interrogation, work.partition, written.footer)
    _note_outcome(context, session.outcome)
    context.log.info(f"{session.outcome}: {session.reason}. {dict(session_metadata(session))}")
    if session.problem or session.problems:
        raise_unfinished(session)


def _note_outcome(context: dg.AssetExecutionContext, outcome: str) -> None:
    run = context.instance.get_run_by_id(context.run.run_id)
    before = run.tags.get(OUTCOME_TAG) if run else None
    if before not in _OUTCOMES or _OUTCOMES.index(outcome) > _OUTCOMES.index(before):
        add_tags(context.instance, context.run.run_id, {OUTCOME_TAG: outcome})
