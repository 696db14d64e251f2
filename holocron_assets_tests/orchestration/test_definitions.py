"""Dagster's definitions load without a warning, say what everything is, and are what the docs list."""

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from holocron_assets.definitions import defs
from holocron_assets.orchestration.reference.names import names_markdown
from holocron_assets.planning.job_names import WHOLE_RUN_CHECK
from holocron_assets.settings import PROJECT_FOLDER

# Sorted, for parallel test workers must see the same order.
JOBS = sorted(
    (job for job in defs.resolve_all_job_defs() if job.name != "__ASSET_JOB"), key=lambda job: job.name
)
ASSETS = sorted(defs.resolve_all_asset_specs(), key=lambda spec: spec.key)


def loaded_elsewhere(data: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, in which every warning is an error."""
    environment = {**os.environ, "HOLOCRON_DATA": str(data)}
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.system
def test_definitions_load_without_a_warning_where_there_is_no_data_yet(tmp_path: Path) -> None:
    data = tmp_path / "new"
    done = loaded_elsewhere(
        data,
        "import dagster as dg; from holocron_assets.definitions import defs; "
        "dg.Definitions.validate_loadable(defs); print(len(defs.resolve_all_job_defs()))",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == len(JOBS) + 1
    assert not data.exists()


def test_the_names_that_others_rely_on_are_those_in_the_docs() -> None:
    written = (PROJECT_FOLDER / "docs" / "names.md").read_text(encoding="utf-8")
    assert names_markdown() == written, (
        "definitions and docs/names.md differ. If the change is meant, others must know: "
        "`python -m holocron_assets.orchestration.reference.names > docs/names.md`"
    )


@pytest.mark.parametrize("spec", ASSETS, ids=lambda spec: spec.key.to_user_string())
def test_every_asset_says_what_it_is_and_whose(spec: dg.AssetSpec) -> None:
    assert spec.owners == ["team:holocron"]
    is_table = spec.group_name not in {"search", "views", "operation"}
    assert ("parquet" in spec.kinds) == is_table
    assert (spec.partitions_def is not None) == is_table
    assert spec.group_name in {
        *("crawl", "signals", "classification", "derivations", "entities", "tags", "review", "views"),
        *("files", "retrieval", "search", "operation"),
    }
    if spec.group_name != "operation":  # which writes nothing
        assert all(column.description for column in spec.metadata["dagster/column_schema"].columns)
    assert spec.description


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_every_op_is_tried_again_when_it_fails(job: dg.JobDefinition) -> None:
    policies = {
        node.name: node.definition.retry_policy
        for node in job.nodes
        if isinstance(node.definition, dg.OpDefinition)
    }
    assert policies
    for name, policy in policies.items():
        assert policy is not None, name
        assert policy.max_retries >= 1, name


def test_every_job_sensor_and_schedule_says_what_it_does() -> None:
    named = [*JOBS, *(defs.sensors or ()), *(defs.schedules or ())]
    assert [thing.name for thing in named if not getattr(thing, "description", None)] == []


def test_sensors_and_schedules_run_without_being_switched_on() -> None:
    statuses = {
        thing.name: thing.default_status.value
        for thing in [*(defs.sensors or ()), *(defs.schedules or ())]
        if isinstance(thing, dg.SensorDefinition | dg.ScheduleDefinition)
    }
    of_work = ["new_pages", "new_files", "lost_runs", "changed_pages", "settle", "promotion"]
    of_readers = ["stale_search", "stale_views"]
    of_models = ["model_dispatch", "model_dispatch_code"]
    sensors = [*of_work, *of_readers, *of_models, "tell_webhooks", "raise_alerts", "read_schedules"]
    schedules = ["check_quality_hourly", "upkeep", "compaction", "report_status_hourly"]
    assert statuses == dict.fromkeys([*sensors, *schedules], "RUNNING")


def test_only_the_quality_job_runs_checks_of_the_lake() -> None:
    specs = [spec for checks in defs.asset_checks or () for spec in checks.check_specs]
    of_the_lake = {
        f"{spec.asset_key.to_user_string()}_{spec.name}" for spec in specs if spec.name != WHOLE_RUN_CHECK
    }
    running = {job.name for job in JOBS if of_the_lake & {node.name for node in job.nodes}}
    assert len(of_the_lake) > 4, "those of interrogations too"
    assert running == {"check_quality"}


@pytest.mark.parametrize("job", ["resolve_entities", "tag_and_review"])
def test_a_run_over_several_partitions_ends_with_the_check_that_fails_it(job: str) -> None:
    nodes = defs.resolve_job_def(job).nodes
    assert len([node for node in nodes if node.name.endswith(WHOLE_RUN_CHECK)]) == 1
    assert not any(
        node.name.endswith(WHOLE_RUN_CHECK) for node in defs.resolve_job_def("check_quality").nodes
    )
