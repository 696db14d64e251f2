"""How things stand, as an asset: what a materialization says, and what starts it."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from busy_holocron import make_busy
from sample_dagster import definitions_of, run_job
from sample_holocron import Holocron, sample_holocron

from holocron_assets.operations.state.status_rows import STAGES


def metadata(holocron: Holocron) -> dict[str, Any]:
    with dg.DagsterInstance.ephemeral() as instance:
        result = run_job(holocron, instance, "report_status")
    assert result.success
    (event,) = result.asset_materializations_for_node("operation_status")
    return {name: value.value for name, value in event.metadata.items()}


@pytest.fixture(scope="module")
def recorded(finished_sample: Holocron, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    holocron = finished_sample.copy_to(tmp_path_factory.mktemp("busy"))
    make_busy(holocron)
    return metadata(holocron)


def test_the_numbers_of_the_status_are_recorded_for_plots_over_time(recorded: dict[str, Any]) -> None:
    numbers = {name: value for name, value in recorded.items() if isinstance(value, int | float)}
    assert numbers["review_waiting"] > 0
    assert numbers["review_oldest_minutes"] >= 0
    assert numbers["interrogations_done_in_hour"] == 9
    assert numbers["dead"] == 1
    assert 0 < numbers["models_busy_share_of_hour"] < 1
    assert (numbers["models_loads_of_day"], numbers["models_switches_of_day"]) == (3, 2)


def test_every_stage_has_numbers_of_its_own(recorded: dict[str, Any]) -> None:
    numbers = {
        f"{stage}_{what}" for stage in STAGES for what in ("waiting", "oldest_minutes", "done_in_hour")
    }
    assert numbers <= recorded.keys()
    assert {"files_waiting", "review_waiting"} <= numbers


def test_a_person_reads_queues_causes_and_holds_as_tables(recorded: dict[str, Any]) -> None:
    head, _, *rows = recorded["work"].splitlines()
    assert head.startswith("| stage | source | waits |")
    assert any("entity\\_facts" in row for row in rows)
    assert "connection reset" in recorded["failures"]
    assert "drain by Ada" in recorded["alerts_and_holds"]


def test_the_picture_is_a_png_in_markdown(recorded: dict[str, Any]) -> None:
    text, _, data = recorded["picture"].partition("(data:image/png;base64,")
    assert text == "![What was done, failed and waits]"
    assert b64decode(data.removesuffix(")")).startswith(b"\x89PNG")


def test_for_an_empty_lake_the_same_numbers_are_zero(recorded: dict[str, Any], tmp_path: Path) -> None:
    empty = metadata(sample_holocron(tmp_path))
    assert list(empty) == list(recorded)
    assert {value for value in empty.values() if isinstance(value, int | float)} == {0}
    assert empty["failures"] == "none"


def test_the_status_is_recorded_once_an_hour(finished_sample: Holocron) -> None:
    schedule = definitions_of(finished_sample).resolve_schedule_def("report_status_hourly")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    assert (schedule.cron_schedule, schedule.job_name) == ("7 * * * *", "report_status")
