"""Which errors end an op at once, and for which it is tried again."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import dagster as dg

from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.derive.engine.problems import ModelServerUnavailable
from holocron_assets.derive.gpu.slots import SlotTakenError
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import DamagedPartitionError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.orchestration.internals.runs import events_of_run
from holocron_assets.orchestration.runs.retries import is_computation
from holocron_assets.planning.repair import repair
from holocron_assets.telemetry.spans import open_span_fails

_INTERRUPTS = (KeyboardInterrupt, dg.DagsterExecutionInterruptedError)

DUE_AT = "due_at"
"""Key of a failure's metadata: when the same work may succeed."""

PERMANENT = "is_permanent"
"""Key of a failed check's metadata: whether waiting does not help."""


@contextmanager
def clear_failures() -> Iterator[None]:
    """Turn errors that the op's retries cannot solve into a Failure that names them.

    A damaged file is set aside, and the op tries again without it. A permanent error is not tried again. A
    wiki that wants a longer pause than an op may wait, and a model server that is gone, end the run too: a
    waiting run would hold its slot. The run also ends if another process did not release the models in time:
    it has waited long enough.
    """
    try:
        with open_span_fails():
            yield
    except DamagedPartitionError as error:
        raise _repaired(error) from error
    except PermanentError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except (WikiUnavailable, ModelServerUnavailable) as error:
        raise _failed_for_now(error, error.due_at) from error
    except SlotTakenError as error:
        raise _failed_for_now(error, utc_now()) from error
    except dg.Failure:
        raise
    except _INTERRUPTS as interrupt:
        # Dagster tries an op again after a signal to end: it would need three signals.
        raise _failed_for_now("it was asked to stop", utc_now()) from interrupt
    except Exception as error:
        if not is_computation(error):
            raise
        message = f"{type(error).__name__}: {error}"
        raise dg.Failure(description=message, allow_retries=False) from error


def may_be_retried(error: Exception) -> bool:
    """Whether a step is tried again after an error that `clear_failures` passes on."""
    return error.allow_retries if isinstance(error, dg.Failure) else True


def was_asked_to_stop(error: Exception) -> bool:
    """Whether an error that `clear_failures` passes on means that the run was asked to end."""
    return isinstance(error.__cause__, _INTERRUPTS)


def failure_from(error: Exception) -> "RunFailure":
    """The text of an error that `clear_failures` passes on."""
    if not isinstance(error, dg.Failure):
        return RunFailure(str(error) or type(error).__name__)
    due = error.metadata.get(DUE_AT)
    due_at = datetime.fromtimestamp(due.value, UTC) if isinstance(due, dg.TimestampMetadataValue) else None
    is_permanent = due_at is None and not error.allow_retries
    return RunFailure(error.description or str(error), due_at, is_permanent=is_permanent)


def _repaired(error: DamagedPartitionError) -> dg.Failure:
    try:
        message = repair(error)
    except DamagedPartitionError as unrepaired:
        return dg.Failure(description=str(unrepaired), allow_retries=False)
    return _failed_for_now(message, utc_now(), allow_retries=True)


def _failed_for_now(why: object, due_at: datetime, *, allow_retries: bool = False) -> dg.Failure:
    due = {DUE_AT: dg.MetadataValue.timestamp(due_at)}
    return dg.Failure(description=str(why), metadata=due, allow_retries=allow_retries)


class RunFailure(NamedTuple):
    """Why a run failed.

    Attributes:
        reason: in a line.
        due_at: when the same work may succeed, if it failed only for now.
        is_permanent: whether waiting does not help.
        is_partial: whether only some of the run's partitions failed.
    """

    reason: str
    due_at: datetime | None = None
    is_permanent: bool = False
    is_partial: bool = False


def failure_of(instance: dg.DagsterInstance, run_id: str) -> RunFailure:
    """Why a run failed, read from its events."""
    event = _first_event(instance, run_id, dg.DagsterEventType.STEP_FAILURE)
    if event and (checked := _failed_check(instance, run_id, event)):
        return checked
    if event and (failure := failure_of_step(event)):
        return failure
    ending = _first_event(instance, run_id, dg.DagsterEventType.RUN_FAILURE)
    return RunFailure((ending and ending.message) or f"it ended without success; see run {run_id}")


def _failed_check(
    instance: dg.DagsterInstance, run_id: str, step_failure: dg.DagsterEvent
) -> RunFailure | None:
    """What a check found that failed its step, in its own words; None if the step failed otherwise."""
    records = events_of_run(instance, run_id, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    for record in records:
        event = record.event_log_entry.dagster_event
        if event and event.step_key == step_failure.step_key:
            evaluation = event.asset_check_evaluation_data
            if not evaluation.passed and evaluation.description:
                is_permanent = evaluation.metadata.get(PERMANENT)
                return RunFailure(
                    evaluation.description,
                    is_permanent=bool(is_permanent and is_permanent.value),
                    is_partial=True,
                )
    return None


def failure_of_step(event: dg.DagsterEvent) -> RunFailure | None:
    """Why a step failed, from its event; None if the event does not say."""
    data = event.step_failure_data
    if data.user_failure_data and data.user_failure_data.description:
        due = data.user_failure_data.metadata.get(DUE_AT)
        due_at = due.value if isinstance(due, dg.TimestampMetadataValue) else None
        return RunFailure(
            data.user_failure_data.description,
            datetime.fromtimestamp(due_at, UTC) if due_at else None,
            is_permanent=due_at is None,
        )
    if data.error:
        cause = data.error
        while cause.cause:
            cause = cause.cause
        return RunFailure(cause.message.strip())
    return None


def _first_event(
    instance: dg.DagsterInstance, run_id: str, kind: dg.DagsterEventType
) -> dg.DagsterEvent | None:
    records = events_of_run(instance, run_id, kind, limit=1)
    return records[0].event_log_entry.dagster_event if records else None
