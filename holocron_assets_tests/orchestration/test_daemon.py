"""A real daemon with its sensors on, in a home of its own: what CI gets from `holocron launch --wait`."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from dagster import DagsterRunStatus, RunsFilter
from dagster_at import dagster_at
from sample_holocron import SAMPLE_EXPORT, Holocron
from tiny_wiki import copy_of_export

from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import ENTITIES, PAGES
from holocron_assets.planning.work import entities_to_resolve
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = [pytest.mark.system, pytest.mark.long]

_BIN = Path(sys.executable).parent
_PATIENCE = 1_200
"""Seconds; what is waited for takes two minutes where nothing else runs."""
_UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.NOT_STARTED,
]


class Daemon:
    """A Holocron whose daemon runs in a process of its own."""

    def __init__(self, holocron: Holocron) -> None:
        self.holocron = holocron
        self.environment = {**os.environ, **holocron.environment}

    def holocron_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.command("holocron", *arguments)

    def command(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own command
            [str(_BIN / program), *arguments],
            env=self.environment,
            cwd=PROJECT_FOLDER,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Start the daemon. It leads a process group, which its code server and runs are in."""
        assert self.holocron_command("home").returncode == 0
        command = [str(_BIN / "dagster-daemon"), "run", "-w", "workspace.yaml"]
        with (self.holocron.folder / "daemon.log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own command
                command,
                env=self.environment,
                cwd=PROJECT_FOLDER,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_idle(self) -> None:
        """Wait until no run is left to do, lest runs outlive the test."""
        deadline = monotonic() + _PATIENCE
        home = self.holocron.environment["DAGSTER_HOME"]
        with dagster_at(home) as instance:
            while instance.get_runs_count(RunsFilter(statuses=_UNFINISHED)):
                assert monotonic() < deadline, f"runs go on after {_PATIENCE} s"
                sleep(0.5)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    holocron = Holocron(tmp_path)
    holocron.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=8))
    holocron.add_source("gone", tmp_path / "gone.xml", enabled=False)
    daemon = Daemon(holocron)
    process = daemon.start()
    try:
        yield daemon
        daemon.wait_until_idle()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_refresh_can_be_launched_by_either_command_and_says_how_it_ended(daemon: Daemon) -> None:
    done = daemon.holocron_command("launch", "refresh", "--source", "small", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "launched refresh: run " in done.stdout
    assert done.stdout.strip().endswith("succeeded")
    lake = daemon.holocron.lake
    assert len(read_partition(lake, PAGES, "small-000001")) == 8
    assert lake.partitions(ENTITIES) != []
    assert entities_to_resolve(lake) == []

    one_type = lake.partitions(ENTITIES)[0]
    done = daemon.holocron_command("launch", "resolve_entities", "--partition", one_type, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr

    failed = daemon.holocron_command("launch", "refresh", "--source", "gone", "--wait")
    assert failed.returncode == 1, failed.stdout
    assert "list_seeds of gone" in failed.stderr
    assert str(daemon.holocron.folder / "gone.xml") in failed.stderr

    # Dagster's own command exits with 0 once the run is queued
    job = ("job", "launch", "-w", "workspace.yaml", "-j", "refresh", "--config-json")
    for source, expected in (("small", DagsterRunStatus.SUCCESS), ("gone", DagsterRunStatus.FAILURE)):
        config = json.dumps({"ops": {"refresh_sources": {"config": {"source": source}}}})
        done = daemon.command("dagster", *job, config)
        assert done.returncode == 0, done.stdout + done.stderr
        daemon.wait_until_idle()
        with dagster_at(daemon.holocron.environment["DAGSTER_HOME"]) as instance:
            (run,) = instance.get_runs(RunsFilter(job_name="refresh"), limit=1)
        assert run.status == expected, source
    assert len(read_partition(lake, PAGES, "small-000001")) == 8


def test_sensors_alone_take_a_new_source_to_entities(daemon: Daemon) -> None:
    lake = daemon.holocron.lake
    deadline = monotonic() + _PATIENCE
    while not (lake.partitions(ENTITIES) and not entities_to_resolve(lake)) and monotonic() < deadline:
        sleep(1)
    assert len(read_partition(lake, PAGES, "small-000001")) == 8
    assert entities_to_resolve(lake) == []
