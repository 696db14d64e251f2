"""Dagster's own daemon, turned by hand in this process, so that all it does goes by this process's clock.

Sensors, schedules, the removal of old ticks, the run queue with its limits and the instance are the real
ones. Code is loaded here and not by a code server, and a run is executed here and not by a process of its
own: those would have clocks of their own. So there is nothing for run monitoring to watch: it is left out.
"""

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.run_coordinator import QueuedRunCoordinatorDaemon
from dagster._daemon.sensor import execute_sensor_iteration
from dagster._scheduler.scheduler import ScheduleIterationTimes, launch_scheduled_runs

_LAUNCHER = """
run_launcher:
  module: dagster._core.launcher.sync_in_memory_run_launcher
  class: SyncInMemoryRunLauncher
"""
_DEFINITIONS = "holocron_assets.definitions"
_LOGGER = logging.getLogger("simulated_daemon")


def write_home(project_folder: Path, home: Path) -> None:
    """Make a home for Dagster with the project's configuration, but for how runs are launched."""
    home.mkdir(parents=True)
    configuration = (project_folder / "dagster.yaml").read_text(encoding="utf-8")
    (home / "dagster.yaml").write_text(configuration + _LAUNCHER, encoding="utf-8")


class Daemon:
    """The daemon of one instance.

    Attributes:
        errors: what it met so far, ticks that failed included.
    """

    def __init__(self, instance: dg.DagsterInstance, workspace: WorkspaceProcessContext) -> None:
        """Work on the code of `workspace`; `daemon_of` makes one."""
        self.errors: list[str] = []
        self._instance, self._workspace = instance, workspace
        self._coordinator = QueuedRunCoordinatorDaemon(interval_seconds=1)
        self._iteration_times: dict[str, ScheduleIterationTimes] = {}

    def sensor_intervals(self) -> dict[str, int]:
        """Seconds between two ticks of each sensor, at least."""
        return {
            sensor.name: sensor.min_interval_seconds
            for location in self._workspace.create_request_context().code_locations
            for repository in location.get_repositories().values()
            for sensor in repository.get_sensors()
        }

    def turn(self) -> int:
        """Evaluate the sensors and schedules that are due, then run all that is queued; say how many runs."""
        before = self._instance.get_runs_count()
        self._exhaust(execute_sensor_iteration(self._workspace, _LOGGER, None, None))
        now = datetime.now(UTC)
        self._exhaust(launch_scheduled_runs(self._workspace, _LOGGER, now, self._iteration_times))
        queued = RunsFilter(statuses=[DagsterRunStatus.QUEUED])
        while self._instance.get_runs_count(queued):
            self._exhaust(self._coordinator.run_iteration(self._workspace))
        return self._instance.get_runs_count() - before

    def _exhaust(self, iteration: Iterable[object]) -> None:
        """Let a loop of the daemon come to its end. It gives back control on the way, and keeps errors."""
        self.errors += [str(said) for said in iteration if said is not None]


@contextmanager
def daemon_of(instance: dg.DagsterInstance) -> Iterator[Daemon]:
    """The daemon of an instance, with the project's definitions, which read the environment when loaded.

    Raises:
        RuntimeError: the definitions cannot be loaded.
    """
    origin = InProcessCodeLocationOrigin(
        LoadableTargetOrigin(executable_path=sys.executable, module_name=_DEFINITIONS),
        location_name="holocron_assets",
    )
    # Each tick would open the instance anew: most of its time, and nothing that grows.
    opened = patch.object(dg.SensorEvaluationContext, "instance", instance)
    with opened, WorkspaceProcessContext(instance, InProcessWorkspaceLoadTarget([origin])) as workspace:
        for entry in workspace.create_request_context().get_code_location_entries().values():
            if entry.load_error:
                raise RuntimeError(entry.load_error.to_string())
        yield Daemon(instance, workspace)
