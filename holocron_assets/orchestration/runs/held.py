"""How a run ends when a person holds its work back. This includes runs that a person started.

It is canceled, not failed: nothing went wrong, it counts as no attempt, and its work is done when the hold is
gone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from dagster import DagsterRunStatus

from holocron_assets.decisions.controls import DRAIN, MACHINE, HeldBackError, Hold, standing_controls
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.internals.runs import add_tags, end_as_canceled
from holocron_assets.planning.job_names import OUTCOME_TAG, PAUSED


def refuse_all_held(
    context: dg.OpExecutionContext | dg.AssetExecutionContext, lake: Lake, *, frees_space: bool = False
) -> None:
    """Raise HeldBackError if everything is held back, for work without a source or a model.

    If the hold is a drain, a run that began before it goes on to its end. Work that frees space goes on while
    a disk is full or slow.
    """
    hold = standing_controls(lake).holds()
    if hold is None or (hold.author == MACHINE and frees_space):
        return
    if not (hold.action == DRAIN and _began_before(context, hold)):
        raise HeldBackError(str(hold))


def _began_before(context: dg.OpExecutionContext | dg.AssetExecutionContext, hold: Hold) -> bool:
    record = context.instance.get_run_record_by_id(context.run.run_id)
    began = record.start_time if record else None
    return bool(began and hold.since and began < hold.since.timestamp())


@contextmanager
def ended_when_held(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> Iterator[None]:
    """End a run as canceled on HeldBackError, with the hold's author and reason.

    Raises:
        dagster.Failure: the work is held back; no retry is made.
    """
    try:
        yield
    except HeldBackError as held:
        end_as_held(context.instance, context.run, str(held))
        raise dg.Failure(str(held), allow_retries=False) from held


def end_as_held(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Make a run end as canceled once its step has failed."""
    add_tags(instance, run.run_id, {OUTCOME_TAG: PAUSED})
    now = instance.get_run_by_id(run.run_id)
    if now and now.status == DagsterRunStatus.STARTED:
        end_as_canceled(instance, now, why)


def is_held(run: dg.DagsterRun | None) -> bool:
    """Whether a run ended because a person holds its work back."""
    return run is not None and run.tags.get(OUTCOME_TAG) == PAUSED
