"""A snapshot of the status agrees with what sensors would do, and with what Dagster knows of failures."""

import gc
import weakref
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import PAGE_FACTS, RULE_CLASSIFICATIONS
from holocron_assets.operations.state.status import Status
from holocron_assets.orchestration.resources import status_snapshot
from holocron_assets.orchestration.resources.status_snapshot import failed_runs, snapshot_now
from holocron_assets.orchestration.runs.failures import RunFailure, failure_of
from holocron_assets.planning.work import batches_to_settle


def taken(holocron: Holocron, instance: dg.DagsterInstance | None = None) -> Status:
    return snapshot_now(holocron.lake, [holocron.source()], holocron.politeness_folder, lambda: instance)


def pending_types(status: Status) -> int:
    [stage] = [stage for stage in status.stages if stage.stage == "page_types"]
    return stage.pending


@pytest.mark.parametrize("table", [RULE_CLASSIFICATIONS, PAGE_FACTS], ids=lambda table: table.name)
def test_what_the_sensor_would_settle_is_pending(
    finished_sample: Holocron, tmp_path: Path, table: Table
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    assert batches_to_settle(holocron.lake, [holocron.source()]) == []
    assert pending_types(taken(holocron)) == 0
    footer = read_footer(holocron.lake, table, SAMPLE_BATCH)
    assert footer
    rows = read_partition(holocron.lake, table, SAMPLE_BATCH)
    write_partition(
        holocron.lake, table, SAMPLE_BATCH, rows, code_version="earlier rules", inputs=footer.inputs
    )
    [work] = batches_to_settle(holocron.lake, [holocron.source()])
    assert work.partition == SAMPLE_BATCH
    assert pending_types(taken(holocron)) == 180


@dg.op
def torn() -> None:
    """Fail as something does that nobody foresaw."""
    raise ValueError("page 'Button' is torn")


@dg.job
def tear() -> None:
    """Fail."""
    torn()


def test_a_run_that_failed_is_a_failure_of_the_last_day(finished_sample: Holocron) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        for _ in range(2):
            tear.execute_in_process(instance=instance, raise_on_error=False)
        lost = instance.create_run_for_job(tear, status=dg.DagsterRunStatus.STARTED)
        instance.report_run_failed(lost, "Its process is gone.")
        status = taken(finished_sample, instance)
    failures = [
        (row.job, row.cause, row.failures, row.dead) for row in status.failures if row.stage == "runs"
    ]
    assert failures == [
        ("tear", "ValueError: page '...' is torn", 2, 0),
        ("tear", "Its process is gone.", 1, 0),
    ]
    assert status.runs_problem is None


@pytest.mark.system
def test_why_a_run_failed_is_read_once_for_all_snapshots_and_no_instance_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as first:
        tear.execute_in_process(instance=first, raise_on_error=False)
        reference = first.get_ref()
    lookups: list[str] = []

    def counted(instance: dg.DagsterInstance, run_id: str) -> RunFailure:
        lookups.append(run_id)
        return failure_of(instance, run_id)

    def read_errors() -> tuple[list[str], "weakref.ref[dg.DagsterInstance]"]:
        with dg.DagsterInstance.from_ref(reference) as own:
            found = failed_runs(lambda: own, utc_now() - timedelta(hours=1))
            return [run.error for run in found.runs], weakref.ref(own)

    monkeypatch.setattr(status_snapshot, "failure_of", counted)
    errors, instances = zip(*(read_errors() for _ in range(3)), strict=True)
    gc.collect()
    assert list(errors) == [["ValueError: page 'Button' is torn"]] * 3
    assert len(lookups) == 1
    assert [instance() for instance in instances] == [None] * 3


def test_a_snapshot_names_an_unreadable_dagster_storage_and_has_everything_else(
    finished_sample: Holocron,
) -> None:
    def gone() -> dg.DagsterInstance:
        raise OSError("no such database")

    status = snapshot_now(
        finished_sample.lake, [finished_sample.source()], finished_sample.politeness_folder, gone
    )
    assert status.runs_problem == "OSError: no such database"
    assert status.stages
