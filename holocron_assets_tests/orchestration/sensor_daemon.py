"""Dagster's sensor daemon over our sensors, in this process: python sensor_daemon.py SECONDS.

It is set up as the environment and the instance's own settings say. Prints as JSON when each sensor's ticks
began, how long each took, and how it ended. There is no code server, and nobody takes runs out of the queue.
"""

import json
import sys
from itertools import count
from threading import Event
from time import monotonic

import dagster as dg
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.daemon import SensorDaemon


def work(instance: dg.DagsterInstance, seconds: float) -> None:
    """Let the daemon do its rounds for some time."""
    code = LoadableTargetOrigin(executable_path=sys.executable, module_name="holocron_assets.definitions")
    target = InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(code))
    with (
        WorkspaceProcessContext(instance, target) as context,
        SensorDaemon(instance.get_sensor_settings()) as daemon,
    ):
        until = monotonic() + seconds
        for _, _ in zip(count(), daemon.core_loop(context, Event()), strict=False):
            if monotonic() > until:
                return


def ticks(instance: dg.DagsterInstance) -> dict[str, list[tuple[float, float, str]]]:
    """The ticks of each sensor, the oldest first: when each began, its seconds, and how it ended."""
    return {
        state.instigator_name: sorted(
            (tick.timestamp, (tick.end_timestamp or tick.timestamp) - tick.timestamp, tick.status.value)
            for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id)
        )
        for state in instance.all_instigator_state()
    }


if __name__ == "__main__":
    with dg.DagsterInstance.get() as own:
        work(own, float(sys.argv[1]))
        sys.stdout.write(json.dumps(ticks(own)))
