"""The report of one run: its outcome, its attempts, its errors, and what it made."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import dagster as dg
from dagster import DagsterEventType, DagsterRunStatus, EventLogRecord

from holocron_assets.orchestration.internals.runs import events_of_run, step_seconds
from holocron_assets.orchestration.run_reports.attempts import attempts_of
from holocron_assets.orchestration.run_reports.entries import iso_time, times_of
from holocron_assets.orchestration.runs.failures import failure_of, failure_of_step
from holocron_assets.planning.job_names import PARENT_TAG, PARTITION_TAG
from holocron_assets.telemetry.masking import without_secrets

_MOST_FAILED_STEPS = 100
_MOST_MATERIALIZATIONS = 1000
_HIDDEN = ".dagster/"
"""Dagster's tags for itself, which its web UI does not show either."""


def run_report(instance: dg.DagsterInstance, run_id: str) -> dict[str, Any] | None:
    """How a run went, as plain JSON values; None if there is no such run.

    Returns:
        Its id, job, status, partition, tags and times; the runs of its chain of retries; why it failed, with
        the whole traceback and its causes; the steps that failed; how many seconds each step took; and the
        numbers that each materialization recorded.
    """
    record = instance.get_run_record_by_id(run_id)
    if record is None:
        return None
    run, attempts = record.dagster_run, attempts_of(instance, record)
    failed = run.status == DagsterRunStatus.FAILURE
    steps = events_of_run(instance, run_id, DagsterEventType.STEP_FAILURE, limit=_MOST_FAILED_STEPS)
    return {
        "run_id": run_id,
        "job": run.job_name,
        "status": run.status.value,
        "partition": run.tags.get(PARTITION_TAG),
        "tags": {name: value for name, value in run.tags.items() if not name.startswith(_HIDDEN)},
        **times_of(record),
        "retry_of": run.tags.get(PARENT_TAG),
        "retry_count": attempts.before,
        "attempts": [
            {"run_id": one.dagster_run.run_id, "status": one.dagster_run.status.value}
            | {"retry_of": one.dagster_run.tags.get(PARENT_TAG), **times_of(one)}
            for one in attempts.records
        ],
        "error_message": without_secrets(failure_of(instance, run_id).reason) if failed else None,
        "error_traceback": _traceback(instance, run_id, steps) if failed else None,
        "failed_steps": [_failed_step(event) for event in steps],
        "step_seconds": step_seconds(instance, run_id),
        "metrics": _metrics(instance, run_id),
    }


def _traceback(instance: dg.DagsterInstance, run_id: str, steps: Sequence[EventLogRecord]) -> str | None:
    """The traceback of the first step that failed; of the run itself if it died outside its steps."""
    if steps:
        return _traceback_of_step(steps[0])
    for record in events_of_run(instance, run_id, DagsterEventType.RUN_FAILURE, limit=1):
        event = record.event_log_entry.dagster_event
        data = event.job_failure_data if event else None  # none if the run was reported from outside
        if data and data.error:
            return without_secrets(data.error.to_string())
    return None


def _traceback_of_step(record: EventLogRecord) -> str | None:
    event = record.event_log_entry.dagster_event
    error = event.step_failure_data.error if event else None
    return without_secrets(error.to_string()) if error else None


def _failed_step(record: EventLogRecord) -> Mapping[str, Any]:
    event = record.event_log_entry.dagster_event
    failure = failure_of_step(event) if event else None
    return {
        "step": record.event_log_entry.step_key,
        "error": without_secrets(failure.reason if failure else record.event_log_entry.message),
        "traceback": _traceback_of_step(record),
        "at": iso_time(record.event_log_entry.timestamp),
        "due_at": failure.due_at.isoformat() if failure and failure.due_at else None,
    }


def _metrics(instance: dg.DagsterInstance, run_id: str) -> list[Mapping[str, Any]]:
    """The numbers of each materialization that has any, such as rows, tokens and seconds."""
    records = events_of_run(
        instance, run_id, DagsterEventType.ASSET_MATERIALIZATION, limit=_MOST_MATERIALIZATIONS
    )
    made = [made for record in records if (made := record.asset_materialization)]
    return [
        {"asset": one.asset_key.to_user_string(), "partition": one.partition, "values": values}
        for one in made
        if (values := _numbers(one.metadata))
    ]


def _numbers(metadata: Mapping[str, dg.MetadataValue[Any]]) -> dict[str, int | float]:
    """What is a number that JSON can hold."""
    numbers = {
        name: value.value
        for name, value in metadata.items()
        if isinstance(value, dg.IntMetadataValue | dg.FloatMetadataValue)
    }
    return {name: value for name, value in numbers.items() if value is not None and isfinite(value)}
