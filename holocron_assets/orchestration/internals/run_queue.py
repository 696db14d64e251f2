"""Putting a run into Dagster's run queue from inside another run, and waiting for a place in a pool.

Waits for: a public call of an op's context that submits a run to the queue; a Dagster whose steps sleep while
their pool is full.
"""

from collections.abc import Mapping
from time import time

import dagster as dg
from dagster import DagsterRunStatus
from dagster._core.execution.plan.instance_concurrency_context import (
    MAX_CONCURRENCY_CLAIM_BLOCKED_INTERVAL,
    InstanceConcurrencyContext,
)
from dagster._core.origin import JobPythonOrigin
from dagster._core.remote_origin import RemoteJobOrigin

_PAUSE = InstanceConcurrencyContext.interval_to_next_pending_claim_check
_LONGEST_SLEEP_SECONDS = 1.0
"""So that a run that waits for a place soon notices that it is to end."""


def sleep_while_pools_are_full() -> None:
    """Let a step that waits for a place in a pool sleep until it asks for the place again.

    Dagster asks at most once a second, and computes how long to sleep until then. But it never takes more
    than 0 seconds (`min([0, ...])`), so that its loop keeps a core busy for as long as the pool is full.
    Nor does it notice that the clock was set back: the step would wait until it is as late as it was.
    """
    setattr(InstanceConcurrencyContext, _PAUSE.__name__, _seconds_to_next_claim)


def _seconds_to_next_claim(waiting: InstanceConcurrencyContext) -> float:
    now, timeouts = time(), waiting._pending_timeouts  # noqa: SLF001 - see above
    for step, at in timeouts.items():
        timeouts[step] = min(at, now + MAX_CONCURRENCY_CLAIM_BLOCKED_INTERVAL)
    seconds = min((at - now for at in timeouts.values()), default=0.0)
    return min(max(seconds, 0.0), _LONGEST_SLEEP_SECONDS)


def came_from_queue(run: dg.DagsterRun) -> bool:
    """Whether the run queue started a run. Dagster has no public attribute that says so."""
    return run.remote_job_origin is not None


def job_of_same_code(context: dg.OpExecutionContext, name: str) -> dg.JobDefinition:
    """A job of the code location that a run belongs to.

    Dagster has no public attribute of an op's context that gives its repository.
    """
    return context.repository_def.get_job(name)


def submit_run(context: dg.OpExecutionContext, job_name: str, tags: Mapping[str, str]) -> str:
    """Put a run into the queue, as a child of the context's run, and return its id.

    Dagster has no public call that submits a run from inside another.

    Args:
        context: the context of a run that the queue itself started.
        job_name: a job of the same code location.
        tags: tags of the run, in addition to those of its job.

    Raises:
        dagster.Failure: the queue did not start the context's run.
    """
    parent, instance = context.run, context.instance
    remote, code = parent.remote_job_origin, parent.job_code_origin
    if remote is None or code is None:
        raise dg.Failure(f"run {parent.run_id} was not launched by a daemon", allow_retries=False)
    job = job_of_same_code(context, job_name)
    run = instance.create_run_for_job(
        job,
        status=DagsterRunStatus.NOT_STARTED,
        tags={**job.run_tags, **tags},
        root_run_id=parent.run_id,
        parent_run_id=parent.run_id,
        remote_job_origin=RemoteJobOrigin(remote.repository_origin, job_name),
        job_code_origin=JobPythonOrigin(job_name, code.repository_origin),
    )
    instance.report_dagster_event(dg.DagsterEvent.job_enqueue(run), run_id=run.run_id)
    return run.run_id
