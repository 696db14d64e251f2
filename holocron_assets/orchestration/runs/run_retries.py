"""When a sensor requests work again that a run left undone: the section "Runs" of `docs/retries.md`.

A run that failed as a whole and for now is retried soon, three times at most: these runs are a chain, which
Dagster's tags show. What is undone after that, or failed in part, or waits for a person, is requested on the
slow schedule, for ever, by runs that are no retries. Nothing waits inside a run.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import dagster as dg
from dagster import DagsterRunStatus

from holocron_assets.lake.attempts import delay_after
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.planning.job_names import PARENT_TAG, ROOT_TAG

QUICK_DELAYS = (timedelta(seconds=10), timedelta(seconds=20), timedelta(seconds=40))
"""How long after a run of the chain its retry follows."""

MOST_COUNTED = len(QUICK_DELAYS) + 2
"""After so many runs the delay grows no more."""

_DELAY_FOR_GOOD = timedelta(hours=1)


class NextTry(NamedTuple):
    """The next run for work that a run left undone.

    Attributes:
        due_at: when it may be requested.
        tags: what makes it a retry of that run; empty if it is none.
    """

    due_at: datetime
    tags: Mapping[str, str]


def next_try(instance: dg.DagsterInstance, last: dg.RunRecord, runs: int) -> NextTry:
    """The next run for some work.

    Args:
        instance: knows why runs failed.
        last: the last run that left the work undone.
        runs: runs that left it undone so far.
    """
    ended_at = last.update_timestamp
    slow = NextTry(ended_at + delay_after(runs), {})
    if last.dagster_run.status != DagsterRunStatus.FAILURE:
        return slow
    failure = failure_of(instance, last.dagster_run.run_id)
    if failure.is_permanent:
        return NextTry(ended_at + _DELAY_FOR_GOOD, {})
    if failure.is_partial:
        return slow
    if runs > len(QUICK_DELAYS):
        slowly = ended_at + delay_after(runs - len(QUICK_DELAYS) + 1)
        return NextTry(max(slowly, failure.due_at or slowly), {})
    soon = ended_at + QUICK_DELAYS[runs - 1]
    return NextTry(max(soon, failure.due_at or soon), _retry_of(last.dagster_run))


def _retry_of(run: dg.DagsterRun) -> Mapping[str, str]:
    return {PARENT_TAG: run.run_id, ROOT_TAG: run.tags.get(ROOT_TAG, run.run_id)}
