"""Launches runs for the dispatcher's decisions when a person asks for it."""

from collections.abc import Callable, Iterable, Sequence

from holocron_assets.derive.dispatch.plans import Plan
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.orchestration.jobs.derive import job_of_plan
from holocron_assets.orchestration.model_runs.dispatched_runs import tags_of_model
from holocron_assets.orchestration.runs.launching import launch_job


def launch_plans(
    plans: Iterable[Plan],
    interrogations: Sequence[Interrogation],
    settings: DispatchSettings,
    report: Callable[[str], None],
) -> str | None:
    """Put the runs of some plans into the run queue.

    Args:
        plans: the decisions; those without a model launch nothing.
        interrogations: those that the decisions are about.
        settings: says which pool a model is of.
        report: called with the runs' ids.

    Returns:
        Why runs were not launched; None if all were.
    """
    errors = [
        launch_job(
            job,
            config={"model": model},
            partition=None,
            wait=False,
            report=report,
            tags=tags_of_model(one.pool, model),
        )
        for one in plans
        if (model := one.decision.model) and (job := job_of_plan(one, interrogations, settings))
    ]
    return "; ".join(error for error in errors if error) or None
