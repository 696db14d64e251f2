"""After the machine's clock was set back, Dagster's sensors would wait until it shows the old time again.

Waits for: a public call that reads and sets when a sensor last ticked, or a daemon that ignores later times.
"""

from datetime import datetime
from typing import Any

import dagster as dg
from dagster._core.scheduler.instigation import SensorInstigatorData

_TIMES = (
    "last_tick_timestamp",
    "last_tick_start_timestamp",
    "last_tick_success_timestamp",
    "last_sensor_start_timestamp",
)


def bring_ticks_back(instance: dg.DagsterInstance, *, now: datetime) -> list[str]:
    """Let sensors tick again if their last tick is in the future.

    Schedules are left alone: they tick at fixed hours, and none ticks twice at the same hour.

    Args:
        instance: knows the sensors.
        now: the moment.

    Returns:
        Names of the sensors.
    """
    repaired = []
    for state in instance.all_instigator_state():
        data = state.instigator_data
        if not isinstance(data, SensorInstigatorData):
            continue
        late: dict[str, Any] = {
            name: now.timestamp() for name in _TIMES if (getattr(data, name) or 0) > now.timestamp()
        }
        if late:
            instance.update_instigator_state(state.with_data(data._replace(**late)))
            repaired.append(state.name)
    return repaired
