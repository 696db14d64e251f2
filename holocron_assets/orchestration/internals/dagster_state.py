"""The state of Dagster. This reads its storage and changes nothing.

Waits for: public calls of `DagsterInstance` that give the daemon's heartbeats and the last tick of each
sensor.
"""

from datetime import UTC, datetime

from dagster import DagsterInstance, RunsFilter
from dagster._core.scheduler.instigation import InstigatorType, SensorInstigatorData

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.orchestration.internals.runs import count_runs
from holocron_assets.orchestration.sensors.run_requests import UNDER_WAY


def read_dagster_state(instance: DagsterInstance) -> DagsterState:
    """Take a snapshot of Dagster: runs under way, and when each part of the daemon last showed that it lives.

    Raises:
        Exception: any error of a storage that cannot be read.
    """
    heartbeats = instance.get_daemon_heartbeats()
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
    )


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
