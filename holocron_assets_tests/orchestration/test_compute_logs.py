"""What steps print is kept and shown. Ticks with nothing to report keep no log; a log goes with its tick."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import time

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin
from dagster._core.scheduler.instigation import InstigatorType, TickData, TickStatus
from dagster._core.storage.compute_log_manager import ComputeIOType
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._grpc.impl import get_external_schedule_execution, get_external_sensor_execution
from dagster_at import dagster_at
from fake_ollama import FakeOllama
from sample_dagster import definitions_of
from sample_holocron import Holocron

from holocron_assets.definitions import defs
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.orchestration.internals.compute_logs import (
    MANY,
    ComputeLogManager,
    forget_tick_logs,
    tick_logs_are_due,
)
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.system

REPOSITORY = "__repository__"
SENSORS = [sensor.name for sensor in defs.sensors or () if isinstance(sensor, dg.SensorDefinition)]
ORIGIN, SELECTOR = "of the sensor", "selector of the sensor"


KEY = ("a run", "compute_logs", "a step")
CAPTURES = """
import os, subprocess, sys
from holocron_assets.orchestration.internals.compute_logs import ComputeLogManager
with ComputeLogManager(sys.argv[1]).capture_logs(sys.argv[2:]):
    sys.stdout.write("printed\\n")
    os.write(2, b"written by a library\\n")
    subprocess.run(["echo", "by a process"])
    sys.stdin.readline()
    print("the end", flush=True)
print("after")
"""
"""A process whose step prints, waits for a line, and prints its end."""


def capturing(folder: Path) -> "subprocess.Popen[str]":
    """The process, with all that it prints on one stream for each kind."""
    return subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", CAPTURES, str(folder), *KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    folder = tmp_path / "dagster"
    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as kept:
        yield kept


@pytest.fixture
def holocron(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holocron]:
    """One with a model server and nothing to ask it."""
    holocron = Holocron(tmp_path)
    holocron.sources_folder.mkdir()
    (tmp_path / "interrogations").mkdir()
    (tmp_path / "spaces").mkdir()
    with FakeOllama() as ollama:
        monkeypatch.setenv("HOLOCRON_LLM", "auto")
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(tmp_path / "interrogations"))
        monkeypatch.setenv("HOLOCRON_SPACES", str(tmp_path / "spaces"))
        yield holocron


def tick(holocron: Holocron, instance: dg.DagsterInstance, sensor: str, times: int) -> list[str]:
    """What a sensor's ticks skip for, as the daemon has the code server evaluate them."""
    repository = definitions_of(holocron).get_repository_def()
    cursor, skipped = None, []
    for number in range(times):
        evaluated = get_external_sensor_execution(
            repository,
            RegisteredCodeLocationOrigin("here"),
            instance.get_ref(),
            sensor,
            *(None, None, cursor),
            [REPOSITORY, sensor, str(number)],
            None,
        )
        assert not hasattr(evaluated, "error"), evaluated
        cursor = evaluated.cursor
        skipped.append(evaluated.skip_message or "")
    return skipped


def logs(instance: dg.DagsterInstance) -> list[Path]:
    return sorted((Path(instance.storage_directory()) / REPOSITORY).rglob("*.err"))


@pytest.mark.parametrize("sensor", SENSORS)
def test_ticks_that_ask_for_nothing_leave_no_file(
    holocron: Holocron, instance: dg.DagsterInstance, sensor: str
) -> None:
    assert all(tick(holocron, instance, sensor, 3))
    assert logs(instance) == []


def test_an_idle_dispatcher_says_so_in_its_tick_alone(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    assert tick(holocron, instance, "model_dispatch", 3) == ["Nothing is to be asked."] * 3
    assert logs(instance) == []


def test_a_source_file_that_stays_broken_is_reported_by_every_tick_without_a_file(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    (holocron.sources_folder / "wiki.yaml").write_text("kind: [\n", encoding="utf-8")
    evaluated = tick(holocron, instance, "new_pages", 3)
    assert ["wiki.yaml" in one for one in evaluated] == [True] * 3, evaluated
    assert logs(instance) == []


@pytest.mark.parametrize("schedule", ["upkeep", "compaction"])
def test_schedules_that_ask_for_nothing_leave_no_file(
    holocron: Holocron, instance: dg.DagsterInstance, schedule: str
) -> None:
    repository = definitions_of(holocron).get_repository_def()
    for number in range(3):
        key = [REPOSITORY, schedule, str(number)]
        evaluated = get_external_schedule_execution(
            repository, instance.get_ref(), schedule, time(), "UTC", key
        )
        assert not hasattr(evaluated, "error"), evaluated
    assert logs(instance) == []


def ticked(instance: dg.DagsterInstance, *, status: TickStatus, days: float) -> Path:
    """A tick of so many days ago, with a log."""
    then = time() - timedelta(days=days).total_seconds()
    kept = instance.create_tick(
        TickData(
            ORIGIN,
            "new_pages",
            InstigatorType.SENSOR,
            status,
            then,
            run_ids=[],
            run_keys=[],
            selector_id=SELECTOR,
        )
    )
    return logged(instance, str(kept.tick_id), days=days)


def logged(instance: dg.DagsterInstance, tick: str, *, days: float) -> Path:
    key = [REPOSITORY, "new_pages", tick]
    with instance.compute_log_manager.open_log_stream(key, ComputeIOType.STDERR):
        pass
    file = Path(instance.storage_directory()) / REPOSITORY / "new_pages" / f"{tick}.err"
    then = time() - timedelta(days=days).total_seconds()
    os.utime(file, (then, then))
    return file


def test_a_log_goes_with_its_tick_and_no_other_file_does(instance: dg.DagsterInstance) -> None:
    forgotten = ticked(instance, status=TickStatus.SKIPPED, days=3)
    shown = ticked(instance, status=TickStatus.SUCCESS, days=3)
    before = (utc_now() - timedelta(days=2)).timestamp()
    instance.purge_ticks(ORIGIN, SELECTOR, before=before, tick_statuses=[TickStatus.SKIPPED])
    new = logged(instance, "999", days=0.5)  # its tick may be about to be recorded
    of_a_run = Path(instance.storage_directory()) / "a-run" / "compute_logs" / "1.err"
    note = shown.with_name("note.txt")
    of_a_run.parent.mkdir(parents=True)
    for file in (of_a_run, note):
        file.touch()
        os.utime(file, (0, 0))
    assert forget_tick_logs(instance, now=utc_now()) == 1
    assert [file.exists() for file in (forgotten, shown, new, of_a_run, note)] == [False, *[True] * 4]
    assert forget_tick_logs(instance, now=utc_now()) == 0


def test_a_run_is_worth_many_logs_of_forgotten_ticks(instance: dg.DagsterInstance) -> None:
    for number in range(MANY - 1):
        logged(instance, str(1000 + number), days=3)
    ticked(instance, status=TickStatus.SUCCESS, days=3)
    assert not tick_logs_are_due(instance, now=utc_now())
    logged(instance, "9999", days=3)
    assert tick_logs_are_due(instance, now=utc_now())
    assert forget_tick_logs(instance, now=utc_now()) == MANY
    assert not tick_logs_are_due(instance, now=utc_now())


def test_what_a_step_prints_is_shown_while_it_goes_on_and_kept_in_the_files_of_dagsters_manager(
    tmp_path: Path,
) -> None:
    for _ in range(2):
        with capturing(tmp_path) as process:
            assert process.stdout
            assert process.stderr
            shown = {process.stdout.readline(), process.stdout.readline()}
            assert shown == {"printed\n", "by a process\n"}, "what an earlier capture kept is not shown again"
            assert process.stderr.readline() == "written by a library\n"
            output, errors = process.communicate("go on\n")
        assert (output, errors, process.returncode) == ("the end\nafter\n", "", 0)
    kept = LocalComputeLogManager(str(tmp_path))
    assert kept.is_capture_complete(KEY)
    data = kept.get_log_data(KEY)
    assert sorted((data.stdout or b"").split(b"\n")) == sorted(
        2 * [b"printed", b"by a process", b"the end"] + [b""]
    )
    assert data.stderr == 2 * b"written by a library\n"


def test_a_step_goes_on_and_its_output_is_kept_if_nobody_reads_what_is_shown(tmp_path: Path) -> None:
    with capturing(tmp_path) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stderr.close()
        process.stdout.close()
        assert process.stdin
        process.stdin.write("go on\n")
        process.stdin.close()
        process.wait()
    manager = ComputeLogManager(str(tmp_path))
    assert manager.is_capture_complete(KEY)
    assert (manager.get_log_data(KEY).stdout or b"").endswith(b"the end\n")


@pytest.mark.parametrize("configuration", ["dagster.yaml", "deploy/postgres/dagster.yaml"])
def test_a_home_of_ours_captures_a_step_without_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: str
) -> None:
    @dg.op
    def speak() -> None:
        sys.stderr.write("a step speaks\n")

    @dg.job
    def speaking() -> None:
        speak()

    lines = (PROJECT_FOLDER / configuration).read_text().splitlines(keepends=True)
    begin = lines.index("compute_logs:\n")
    (tmp_path / "dagster.yaml").write_text(
        "telemetry: {enabled: false}\n" + "".join(lines[begin : begin + 6])
    )
    monkeypatch.setattr(subprocess, "Popen", None)
    with dagster_at(tmp_path) as instance:
        run = speaking.execute_in_process(instance=instance).run_id
        manager = instance.compute_log_manager
        assert isinstance(manager, ComputeLogManager)
        [key] = manager.get_log_keys_for_log_key_prefix([run, "compute_logs"], ComputeIOType.STDERR)
        assert b"a step speaks" in (manager.get_log_data(key).stderr or b"")
        assert Path(manager.get_captured_local_path(key, "err")).is_relative_to(tmp_path / "storage" / run)
