"""Schedules from a file: they are what it says, heed what is held back, and leave alone what is queued."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster import DagsterRunStatus
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from sample_dagster import lake_resource
from sample_holocron import Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.decisions.controls import ALL, DRAIN, PAUSE, RESUME, Scope, control
from holocron_assets.definitions import build_definitions, defs
from holocron_assets.operations.schedules import read_schedules
from holocron_assets.orchestration.schedules.clock import clock_schedules
from holocron_assets.settings import groups_folder, sources_folder

EARLY = "refresh:\n  - {source: sample, cron: '0 3 * * 6', timezone: Europe/Berlin}\n"
NIGHT = "groups:\n  - {group: night, cron: '30 1 * * *', timezone: Europe/Berlin}\n"
LATE = "refresh:\n  - {source: sample, cron: '0 9 * * 1', timezone: America/New_York}\n"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as lasting:
        yield lasting


@pytest.fixture
def holocron(tmp_path: Path) -> Holocron:
    return sample_holocron(tmp_path)


def schedules(folder: Path, text: str) -> dict[str, dg.ScheduleDefinition]:
    """What the code loads from a file of schedules."""
    file = folder / "schedules.yaml"
    file.write_text(text, encoding="utf-8")
    said = read_schedules(file, sources=sources_folder(), groups=groups_folder())
    return {schedule.name: schedule for schedule in clock_schedules(said)}


def tick(holocron: Holocron, instance: dg.DagsterInstance, schedule: dg.ScheduleDefinition) -> Any:
    resources = {"lake": lake_resource(holocron)}
    with dg.build_schedule_context(instance=instance, resources=resources) as context:
        return schedule(context)


def test_the_command_lists_every_schedule_that_there_is(holocron: Holocron) -> None:
    shown = CliRunner().invoke(main, ["schedules", "--json"], env=holocron.environment)
    listed = {(row["schedule"], row["cron"]) for row in json.loads(shown.stdout)}
    there = {(one.job_name, one.cron_schedule) for one in defs.get_repository_def().schedule_defs}
    assert there <= listed


def test_schedules_are_what_the_file_says(tmp_path: Path) -> None:
    text = EARLY + "  - {source: sample, cron: '0 3 * * 3'}\n  - {cron: '0 4 * * *'}\n" + NIGHT
    found = schedules(tmp_path, "compaction: {cron: '*/5 1-5 * * *', timezone: Asia/Tokyo}\n" + text)
    assert {
        name: (schedule.cron_schedule, schedule.execution_timezone, schedule.job_name)
        for name, schedule in found.items()
    } == {
        "upkeep": ("*/5 * * * *", "UTC", "upkeep"),
        "compaction": ("*/5 1-5 * * *", "Asia/Tokyo", "compaction"),
        "check_quality_hourly": ("17 * * * *", "UTC", "check_quality"),
        "refresh_sample": ("0 3 * * 6", "Europe/Berlin", "refresh"),
        "refresh_sample_2": ("0 3 * * 3", "UTC", "refresh"),
        "refresh_all": ("0 4 * * *", "UTC", "refresh"),
        "group_night": ("30 1 * * *", "Europe/Berlin", "run_group"),
    }
    assert {schedule.default_status for schedule in found.values()} == {dg.DefaultScheduleStatus.RUNNING}


def test_no_two_schedules_are_called_the_same_whatever_groups_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_GROUPS", str(tmp_path / "groups"))
    (tmp_path / "groups").mkdir()
    for name in ("x", "x_2"):
        (tmp_path / "groups" / f"{name}.yaml").touch()
    times = ("x", "x_2", "x", "x_2", "x")
    text = "groups:\n" + "".join(f"  - {{group: {name}, cron: '0 4 * * *'}}\n" for name in times)
    found = [name for name in schedules(tmp_path, text) if name.startswith("group_")]
    assert found == ["group_x", "group_x_2", "group_x_3", "group_x_2_2", "group_x_4"]


def test_a_crawl_is_asked_for_once_and_not_while_it_is_held_back(
    tmp_path: Path, holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    schedule = schedules(tmp_path, EARLY)["refresh_sample"]
    control(holocron.lake, DRAIN, Scope("source", "sample"), author="ada", reason="x")
    assert "source sample is drained" in str(tick(holocron, instance, schedule))
    control(holocron.lake, RESUME, Scope("source", "sample"), author="ada", reason="x")
    request = tick(holocron, instance, schedule)
    assert request.run_config == {"ops": {"refresh_sources": {"config": {"source": "sample"}}}}
    queue(instance, request)
    assert "queued or under way" in str(tick(holocron, instance, schedule))


def test_a_crawl_of_all_sources_waits_for_another_of_all_and_not_for_one_of_a_single_source(
    tmp_path: Path, holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    found = schedules(tmp_path, EARLY + "  - {cron: '0 4 * * *'}\n")
    queue(instance, tick(holocron, instance, found["refresh_sample"]))
    request = tick(holocron, instance, found["refresh_all"])
    assert isinstance(request, dg.RunRequest)
    queue(instance, request)
    assert "queued or under way" in str(tick(holocron, instance, found["refresh_all"]))


def test_a_group_is_asked_for_once_and_not_while_everything_is_held_back(
    tmp_path: Path, holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    schedule = schedules(tmp_path, NIGHT)["group_night"]
    control(holocron.lake, PAUSE, ALL, author="ada", reason="x")
    assert "everything is paused" in str(tick(holocron, instance, schedule))
    control(holocron.lake, RESUME, ALL, author="ada", reason="x")
    request = tick(holocron, instance, schedule)
    assert request.run_config == {"ops": {"run_steps": {"config": {"group": "night"}}}}
    assert request.tags == {"holocron/group": "night"}
    job = defs.resolve_job_def("run_group")
    instance.create_run_for_job(
        job, run_config=request.run_config, status=DagsterRunStatus.STARTED, tags=request.tags
    )
    assert "queued or under way" in str(tick(holocron, instance, schedule))


def queue(instance: dg.DagsterInstance, request: dg.RunRequest) -> dg.DagsterRun:
    """Put a schedule's run into the queue, as the daemon does."""
    place = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("here"), "__repository__")
    code = JobPythonOrigin("refresh", RepositoryPythonOrigin("python", ModuleCodePointer("a", "defs", None)))
    return instance.create_run_for_job(
        defs.resolve_job_def("refresh"),
        run_config=request.run_config,
        status=DagsterRunStatus.QUEUED,
        tags={**request.tags, "dagster/schedule_name": "refresh_sample"},
        remote_job_origin=RemoteJobOrigin(place, "refresh"),
        job_code_origin=code,
    )


def test_a_schedule_that_is_changed_leaves_what_is_queued_as_it_was(
    tmp_path: Path, holocron: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "schedules.yaml"
    monkeypatch.setenv("HOLOCRON_SCHEDULES", str(file))
    file.write_text(EARLY, encoding="utf-8")
    before = build_definitions().resolve_schedule_def("refresh_sample")
    queued = queue(instance, tick(holocron, instance, before))
    (record,) = instance.get_run_records()

    file.write_text(LATE, encoding="utf-8")
    reloaded = build_definitions()
    after = reloaded.resolve_schedule_def("refresh_sample")
    assert (before.cron_schedule, after.cron_schedule) == ("0 3 * * 6", "0 9 * * 1")
    assert after.execution_timezone == "America/New_York"
    assert "queued or under way" in str(tick(holocron, instance, after)), "it is not asked for twice"

    file.write_text("refresh: []\n", encoding="utf-8")
    names = {schedule.name for schedule in build_definitions().schedules or ()}
    assert "refresh_sample" not in names
    (kept,) = instance.get_run_records()
    assert kept.dagster_run == queued
    assert kept.update_timestamp == record.update_timestamp
    assert kept.dagster_run.status == DagsterRunStatus.QUEUED
