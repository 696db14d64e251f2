"""Heeding what people hold back: what is not asked for, and how a run ends that may not go on.

Such a run is canceled, not failed: nothing went wrong, it counts as no attempt, and what it was for is there
to be done when the hold is gone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from dagster import DagsterRunStatus

from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import PAGES, SEED_TITLES
from holocron_assets.operations.controls import DRAIN, HeldBackError, Hold, standing_controls
from holocron_assets.orchestration.names import BATCH_JOB, OUTCOME_TAG, PAUSED, SEEDS_JOB, SETTLE_JOB
from holocron_assets.orchestration.steps import BATCH_STEPS
from holocron_assets.orchestration.work import Work


def hold_on(lake: Lake, work: Work) -> Hold | None:
    """Who keeps some work from being started, if anybody. A drain lets be finished what was begun."""
    hold = standing_controls(lake).holds(source=work.source)
    return None if hold and hold.action == DRAIN and _is_begun(lake, work) else hold


def is_begun(lake: Lake, batch: str) -> bool:
    """Whether pages of a batch were read, or are being read."""
    return lake.journal(PAGES, batch).exists() or lake.has(PAGES, batch)


def _is_begun(lake: Lake, work: Work) -> bool:
    if work.partition is None:
        return False
    if work.job == BATCH_JOB:
        return is_begun(lake, work.partition)
    if work.job == SETTLE_JOB:  # what was never made belongs to the batch; what is made anew is new work
        return not all(lake.has(step.table, work.partition) for step in BATCH_STEPS)
    return work.job == SEEDS_JOB and lake.journal(SEED_TITLES, work.partition).exists()


def holds_named(lake: Lake) -> list[str]:
    """Everything that is held back, a sentence for each, for who finds nothing to do."""
    return [str(hold) for hold in standing_controls(lake).held.values()]


@contextmanager
def ended_when_held(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> Iterator[None]:
    """Let a run that meets HeldBackError end as canceled, with who holds its work back and why.

    Raises:
        dagster.Failure: it did; no retry is made.
    """
    try:
        yield
    except HeldBackError as held:
        end_as_held(context.instance, context.run, str(held))
        raise dg.Failure(str(held), allow_retries=False) from held


def end_as_held(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Have a run end as canceled once its step has failed."""
    instance.add_run_tags(run.run_id, {OUTCOME_TAG: PAUSED})
    now = instance.get_run_by_id(run.run_id)
    if now and now.status == DagsterRunStatus.STARTED:
        instance.report_run_canceling(now, message=why)


def is_held(run: dg.DagsterRun | None) -> bool:
    """Whether a run ended since a person holds back what it was for."""
    return run is not None and run.tags.get(OUTCOME_TAG) == PAUSED
