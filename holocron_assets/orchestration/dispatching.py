"""Launching what the dispatcher decides, on a person's word."""

from collections.abc import Callable, Iterable

from holocron_assets.derive.dispatch.plans import Plan
from holocron_assets.orchestration.dispatch_runs import job_of, run_tags
from holocron_assets.orchestration.launching import launch_job


def launch_plans(plans: Iterable[Plan], tell: Callable[[str], None]) -> str | None:
    """Put the runs of some plans into the run queue.

    Args:
        plans: what was decided; those without a model launch nothing.
        tell: told the runs' ids.

    Returns:
        Why runs were not launched; None if all were.
    """
    errors = [
        launch_job(
            job_of(one.pool),
            config={"model": model},
            partition=None,
            wait=False,
            tell=tell,
            tags=run_tags(one.pool, model),
        )
        for one in plans
        if (model := one.decision.model)
    ]
    return "; ".join(error for error in errors if error) or None
