"""Starts the runs of some work and waits for them: through Dagster's run queue, or in this process."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from time import sleep
from typing import Any, Protocol

import dagster as dg
from dagster import DagsterRunStatus

from holocron_assets.decisions.controls import standing_controls
from holocron_assets.interrupts import end_if_asked
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.run_tags import tags_by_people
from holocron_assets.orchestration.internals.run_queue import job_of_same_code, submit_run
from holocron_assets.orchestration.internals.runs import end_as_failed, step_seconds
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.orchestration.runs.held import is_held
from holocron_assets.orchestration.runs.reaper import held_by_run
from holocron_assets.orchestration.runs.registration import register_partition
from holocron_assets.orchestration.runs.requesting import priority_of, work_tags
from holocron_assets.planning.job_names import PARTITION_TAG
from holocron_assets.planning.work import Work

_POLL_SECONDS = 0.5

QUIET: Mapping[str, Any] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run config for a run without output on the terminal; its events are kept all the same."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that ended.

    Attributes:
        work: its work.
        run_id: its id.
        error: why it failed; None if it did not.
        due_at: when the same work may succeed, if it failed only for now.
        held: the hold that ended it, if one did: then it did not fail.
        seconds: how long each step took, by name.
    """

    work: Work
    run_id: str
    error: str | None
    due_at: datetime | None
    seconds: Mapping[str, float]
    held: str | None = None


class Runs(Protocol):
    """Where work is run."""

    def finish(self, work: Sequence[Work]) -> list[FinishedRun]:
        """Run all of it and wait. A run that fails does not stop the others."""
        ...


class LocalRuns:
    """Runs in this process, one after the other, without a daemon. They show in the UI like any other.

    Attributes:
        starting: called with each run's work before it starts.
        ended: called with each run after it ended.
    """

    def __init__(  # noqa: PLR0913 - where it runs, what it calls, and its tags
        self,
        instance: dg.DagsterInstance,
        lake: Lake,
        job: Callable[[str], dg.JobDefinition],
        starting: Callable[[Work], None] = lambda _: None,
        ended: Callable[[FinishedRun], None] = lambda _: None,
        *,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Run jobs that `job` finds by name, with a person's `tags`."""
        self._instance, self._lake = instance, lake
        self._job, self._tags = job, tags or {}
        self.starting, self.ended = starting, ended

    def finish(self, work: Sequence[Work]) -> list[FinishedRun]:
        """Run all of it (see `Runs.finish`)."""
        return [self._run(item) for item in work]

    def _run(self, item: Work) -> FinishedRun:
        self.starting(item)
        job = self._job(item.job)
        _make_partition(self._instance, self._lake, job, item)
        with run_of_ours(self._instance, self._lake) as run_id:
            result = job.execute_in_process(
                instance=self._instance,
                run_id=run_id,
                partition_key=item.partition,
                tags={**self._tags, **work_tags(item)},
                run_config={**QUIET, **item.config},
                raise_on_error=False,
            )
        finished = _finished(self._instance, item, run_id, succeeded=result.success)
        self.ended(finished)
        # Dagster ends the run; or it drops a signal that came between two steps, and goes on.
        end_if_asked()
        return finished


@contextmanager
def run_of_ours(instance: dg.DagsterInstance, lake: Lake) -> Iterator[str]:
    """Give a run of this process an id, and show that the run lives from before its start to after its end.

    A run that is interrupted between its steps is ended here: Dagster would believe that it goes on.
    """
    run_id = str(uuid.uuid4())
    with held_by_run(lake, run_id):
        try:
            yield run_id
        except BaseException:
            run = instance.get_run_by_id(run_id)
            if run and not run.is_finished:
                end_as_failed(instance, run, "It was interrupted.")
            raise


class QueuedRuns:
    """Runs put into Dagster's run queue by a run that the queue itself started. The daemon launches them."""

    def __init__(self, context: dg.OpExecutionContext, lake: Lake) -> None:
        """Submit runs to the code location that the context's run is of."""
        self._context = context
        self._instance, self._lake = context.instance, lake

    def finish(self, work: Sequence[Work]) -> list[FinishedRun]:
        """Submit all of it and wait for the last to end (see `Runs.finish`)."""
        submitted = [(item, self._submit(item)) for item in work]
        finished = []
        for item, run_id in submitted:
            status = self._wait(run_id)
            succeeded = status == DagsterRunStatus.SUCCESS
            finished.append(_finished(self._instance, item, run_id, succeeded=succeeded))
        return finished

    def _submit(self, item: Work) -> str:
        _make_partition(self._instance, self._lake, job_of_same_code(self._context, item.job), item)
        partition = {PARTITION_TAG: item.partition} if item.partition else {}
        priority = priority_of(standing_controls(self._lake), item)
        tags = {**tags_by_people(self._context.run.tags), **work_tags(item, priority), **partition}
        run_id = submit_run(self._context, item.job, tags)
        self._context.log.info(f"submitted {item}: run {run_id}")
        return run_id

    def _wait(self, run_id: str) -> DagsterRunStatus:
        while True:
            run = self._instance.get_run_by_id(run_id)
            if run is None:
                return DagsterRunStatus.FAILURE
            if run.is_finished:
                return run.status
            sleep(_POLL_SECONDS)


def _finished(instance: dg.DagsterInstance, item: Work, run_id: str, *, succeeded: bool) -> FinishedRun:
    failure = None if succeeded else failure_of(instance, run_id)
    if failure and is_held(instance.get_run_by_id(run_id)):
        return FinishedRun(item, run_id, None, None, step_seconds(instance, run_id), failure.reason)
    error, due_at = (failure.reason, failure.due_at) if failure else (None, None)
    return FinishedRun(item, run_id, error, due_at, step_seconds(instance, run_id))


def _make_partition(instance: dg.DagsterInstance, lake: Lake, job: dg.JobDefinition, item: Work) -> None:
    """Register the partition of a job's work, if the instance does not know it yet."""
    definition = job.partitions_def
    if item.partition and isinstance(definition, dg.DynamicPartitionsDefinition):
        register_partition(instance, lake, definition, item.partition)
