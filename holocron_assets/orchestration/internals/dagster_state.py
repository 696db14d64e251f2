"""The state of Dagster. This reads its storage and changes nothing.

Waits for: public calls of `DagsterInstance` that give the daemon's heartbeats and the last tick of each
sensor.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.scheduler.instigation import InstigatorType, SensorInstigatorData

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.awake import CHECK, awake_since, kept_times
from holocron_assets.operations.state.dagster_state import DagsterState, EndedRun, RunTimes
from holocron_assets.orchestration.internals.runs import count_runs
from holocron_assets.orchestration.runs.requesting import UNDER_WAY

_AT_ONCE = 1000
"""Runs that ended are read in pages of so many."""
_ENDED = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)


def read_dagster_state(instance: DagsterInstance, run_times: RunTimes | None = None) -> DagsterState:
    """Take a snapshot of Dagster: runs under way, and when each part of the daemon last showed that it lives.

    Args:
        instance: knows it.
        run_times: counts the durations of runs from snapshot to snapshot; by default none is counted.

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
        awake_since=_awake_since(instance),
    )


def _ended_runs(instance: DagsterInstance, since: datetime) -> Iterator[EndedRun]:
    """Runs that ended after a moment; also some that ended before."""
    wanted, last = RunsFilter(statuses=list(_ENDED), updated_after=since.astimezone(UTC)), None
    while records := instance.get_run_records(wanted, limit=_AT_ONCE, ascending=True, cursor=last):
        for record in records:
            if record.end_time:
                yield EndedRun(
                    record.dagster_run.run_id,
                    record.dagster_run.job_name,
                    datetime.fromtimestamp(record.end_time, UTC),
                    record.end_time - record.start_time if record.start_time else None,
                )
        last = records[-1].dagster_run.run_id


def _awake_since(instance: DagsterInstance) -> datetime | None:
    """Since when the machine is awake; None where a person stopped the sensor that notes it."""
    noted = [
        (data.last_tick_timestamp, since)
        for state in instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
        if state.name == CHECK and state.is_running
        if isinstance(data := state.instigator_data, SensorInstigatorData) and data.last_tick_timestamp
        if (since := kept_times(data.cursor).get("awake_since"))
    ]
    if not noted:
        return None
    ticked, since = max(noted)
    return awake_since(since, datetime.fromtimestamp(ticked, UTC), now=utc_now())


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
