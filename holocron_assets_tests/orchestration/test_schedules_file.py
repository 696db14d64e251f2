"""A file of schedules that cannot be used, or was changed since the code was loaded, is an error."""

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner
from sample_dagster import lake_resource, sources_resource
from sample_holocron import Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.definitions import build_definitions
from holocron_assets.operations.notifications.alerts import firing
from holocron_assets.orchestration.sensors.alerts import raise_alerts

NIGHTS = "compaction: {cron: '*/5 1-5 * * *', timezone: Asia/Tokyo}\n"
BROKEN = NIGHTS + "groups:\n  - {group: nite, cron: '0 2 * * *'}\n"
NAMED = "schedules.yaml, line 3, key 'groups[0].group': no group is called 'nite'; there are night"
USUAL = {"upkeep": "*/5 * * * *", "compaction": "*/5 * * * *", "check_quality_hourly": "17 * * * *"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of schedules, with one mistake."""
    file = tmp_path / "schedules.yaml"
    file.write_text(BROKEN, encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_SCHEDULES", str(file))
    return file


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def times(definitions: dg.Definitions) -> dict[str, object]:
    """The cron of every schedule that the file may set."""
    return {
        one.name: one.cron_schedule
        for one in definitions.schedules or ()
        if isinstance(one, dg.ScheduleDefinition)
        and one.name in USUAL.keys() | {"group_night", "group_nite", "refresh_all"}
    }


def tick(instance: dg.DagsterInstance, definitions: dg.Definitions) -> str | None:
    """What the sensor that reads the file says; raises where its tick fails."""
    sensor = definitions.resolve_sensor_def("read_schedules")
    with dg.build_sensor_context(instance=instance) as context:
        return sensor.evaluate_tick(context).skip_message


def test_a_broken_file_fails_a_tick_by_name_and_all_else_is_loaded(
    file: Path, instance: dg.DagsterInstance
) -> None:
    loaded = build_definitions()
    assert times(loaded) == USUAL, "nothing of the file counts, and nothing else is done in its place"
    with pytest.raises(dg.Failure) as failure:
        tick(instance, loaded)
    assert NAMED in str(failure.value)
    assert str(file) in str(failure.value)
    assert "crawls and groups do not come" in str(failure.value)


def test_a_repaired_file_counts_after_a_reload_and_the_sensor_says_so(
    file: Path, instance: dg.DagsterInstance
) -> None:
    loaded = build_definitions()
    file.write_text(BROKEN.replace("nite", "night"), encoding="utf-8")
    assert "counts once the code location is reloaded" in (tick(instance, loaded) or "")
    reloaded = build_definitions()
    assert times(reloaded) == {**USUAL, "compaction": "*/5 1-5 * * *", "group_night": "0 2 * * *"}
    assert tick(instance, reloaded) == "schedules are as their file says"


def test_a_file_that_is_broken_later_fails_a_tick_and_what_was_loaded_counts(
    file: Path, instance: dg.DagsterInstance
) -> None:
    file.write_text(NIGHTS, encoding="utf-8")
    loaded = build_definitions()
    file.write_text(BROKEN, encoding="utf-8")
    with pytest.raises(dg.Failure, match="What was loaded before it was changed goes on"):
        tick(instance, loaded)
    assert times(loaded)["compaction"] == "*/5 1-5 * * *"


@pytest.mark.system
def test_a_broken_file_raises_an_alert_until_it_is_repaired(
    file: Path, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = sample_holocron(tmp_path)
    rules = tmp_path / "alerts.yaml"
    rules.write_text("resolved_after_minutes: 0\n", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_ALERTS", str(rules))
    assert NAMED in alert_tick(holocron, instance)
    assert [(row["rule"], NAMED in row["message"]) for row in firing(holocron.lake)] == [("settings", True)]
    file.write_text(NIGHTS, encoding="utf-8")
    assert alert_tick(holocron, instance) == "nothing is wrong"
    file.write_text(BROKEN, encoding="utf-8")
    rules.write_text("settings: null\n", encoding="utf-8")
    assert alert_tick(holocron, instance) == "nothing is wrong", "it is a rule like the others"


def alert_tick(holocron: Holocron, instance: dg.DagsterInstance) -> str:
    resources = {"lake": lake_resource(holocron), "sources": sources_resource(holocron)}
    with dg.build_sensor_context(instance=instance, resources=resources) as context:
        answer = raise_alerts(context)
    assert isinstance(answer, dg.SkipReason)
    return answer.skip_message or ""


def test_the_command_names_it_and_exits_with_1_and_lists_groups(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = sample_holocron(tmp_path)
    for name, value in holocron.environment.items():
        monkeypatch.setenv(name, value)
    broken = CliRunner().invoke(main, ["schedules"])
    assert broken.exit_code == 1
    assert NAMED in broken.output
    file.write_text(BROKEN.replace("nite", "night"), encoding="utf-8")
    shown = CliRunner().invoke(main, ["schedules"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert "group night" in shown.output
    recheck = "name: broken\nchanges: {recheck: nonsense}\n"
    (holocron.sources_folder / "broken.yaml").write_text(recheck, encoding="utf-8")
    wrong = CliRunner().invoke(main, ["schedules", "--json"])
    assert wrong.exit_code == 1
    assert "broken.yaml" in wrong.stderr
    assert "upkeep" in {row["schedule"] for row in json.loads(wrong.stdout)}


@pytest.mark.usefixtures("file")
def test_a_group_that_could_not_be_run_is_named_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = sample_holocron(tmp_path)
    (tmp_path / "groups").mkdir()
    (tmp_path / "groups" / "nite.yaml").write_text("title: x\nsteps: []\n", encoding="utf-8")
    for name, value in {**holocron.environment, "HOLOCRON_GROUPS": str(tmp_path / "groups")}.items():
        monkeypatch.setenv(name, value)
    shown = CliRunner().invoke(main, ["schedules"])
    assert shown.exit_code == 1
    assert "nite.yaml, line 2, key 'steps'" in shown.output
