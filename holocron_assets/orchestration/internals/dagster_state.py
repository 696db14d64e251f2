"""The state of Dagster, and the report of one run. This reads its storage and changes nothing.

Waits for: public calls of `DagsterInstance` that give the daemon's heartbeats and the last tick of each
sensor.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.scheduler.instigation import InstigatorType, SensorInstigatorData

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.dagster_state import DagsterState, EndedRun, RunTimes
from holocron_assets.orchestration.internals.runs import count_runs, events_of_run
from holocron_assets.orchestration.runs.failures import failure_of_step
from holocron_assets.orchestration.sensors.run_requests import UNDER_WAY
from holocron_assets.planning.job_names import PARTITION_TAG

_MOST_FAILED_STEPS = 100
_MOST_ENDED = 1000
"""Runs whose durations are read at once; if more have ended, the others are read the next time."""
_ENDED = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_HIDDEN = ".dagster/"
"""Dagster's tags for itself, which its web UI does not show either."""


def read_dagster_state(instance: DagsterInstance, run_times: RunTimes | None = None) -> DagsterState:
    """Take a snapshot of Dagster: runs under way, and when each part of the daemon last showed that it lives.

    Args:
        instance: knows it.
        run_times: counts the durations of runs from snapshot to snapshot; by default those of the last day.

    Raises:
        Exception: any error of a storage that cannot be read.
    """
    heartbeats, run_times = instance.get_daemon_heartbeats(), run_times or RunTimes()
    run_times.add(_ended_runs(instance, run_times.since))
    return DagsterState(
        at=utc_now(),
        runs={
            status.value.lower(): count_runs(instance, RunsFilter(statuses=[status])) for status in UNDER_WAY
        },
        heard_at={
            name: datetime.fromtimestamp(heartbeats[name].timestamp, UTC) if name in heartbeats else None
            for name in instance.get_required_daemon_types()
        },
        ticked_at=_ticked_at(instance),
        run_times=run_times.rows(),
    )


def _ended_runs(instance: DagsterInstance, since: datetime) -> list[EndedRun]:
    """Runs that ended after a moment, as far as they ever started; also some that ended before."""
    wanted = RunsFilter(statuses=list(_ENDED), updated_after=since.astimezone(UTC))
    records = instance.get_run_records(wanted, limit=_MOST_ENDED, order_by="update_timestamp", ascending=True)
    return [
        EndedRun(
            record.dagster_run.run_id,
            record.dagster_run.job_name,
            datetime.fromtimestamp(record.end_time, UTC),
            record.end_time - record.start_time,
        )
        for record in records
        if record.start_time and record.end_time
    ]


def _ticked_at(instance: DagsterInstance) -> datetime | None:
    """When any sensor last began or ended a tick. If the code cannot be loaded, its sensors do not tick."""
    states = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
    found = [
        seconds
        for state in states
        if isinstance(data := state.instigator_data, SensorInstigatorData)
        for seconds in (data.last_tick_start_timestamp, data.last_tick_timestamp)
        if seconds
    ]
    return datetime.fromtimestamp(max(found), UTC) if found else None


def run_report(instance: DagsterInstance, run_id: str) -> dict[str, Any] | None:
    """How a run went, as plain JSON values; None if there is no such run.

    Returns:
        Its id, job, status, partition, tags, times, failed steps with their errors, and, where it failed as a
        whole, why.
    """
    record = instance.get_run_record_by_id(run_id)
    if record is None:
        return None
    run = record.dagster_run
    return {
        "run_id": run_id,
        "job": run.job_name,
        "status": run.status.value,
        "partition": run.tags.get(PARTITION_TAG),
        "tags": {name: value for name, value in run.tags.items() if not name.startswith(_HIDDEN)},
        "created_at": record.create_timestamp.replace(tzinfo=UTC).isoformat(),
        "started_at": _time(record.start_time),
        "ended_at": _time(record.end_time),
        "failed_steps": _failed_steps(instance, run_id),
        "error": _error(instance, run_id) if run.status == DagsterRunStatus.FAILURE else None,
    }


def _failed_steps(instance: DagsterInstance, run_id: str) -> Sequence[Mapping[str, Any]]:
    records = events_of_run(instance, run_id, dg.DagsterEventType.STEP_FAILURE, limit=_MOST_FAILED_STEPS)
    found = []
    for record in records:
        event = record.event_log_entry.dagster_event
        if event is not None:
            failure = failure_of_step(event)
            found.append(
                {
                    "step": event.step_key,
                    "error": failure.reason if failure else event.message,
                    "at": _time(record.event_log_entry.timestamp),
                    "due_at": failure.due_at.isoformat() if failure and failure.due_at else None,
                }
            )
    return found


def _error(instance: DagsterInstance, run_id: str) -> str | None:
    """The error in the run's last event: if a run died, no step has an error."""
    records = events_of_run(instance, run_id, dg.DagsterEventType.RUN_FAILURE, limit=1, ascending=False)
    event = records[0].event_log_entry.dagster_event if records else None
    return event.message if event else None


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
