"""Old runs are forgotten, and nothing that Dagster shows of assets goes with them."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.orchestration.internals.retention import forget_old_runs, old_runs_are_due
from holocron_assets.settings import run_retention

KEPT = run_retention({})
BATCHES = dg.StaticPartitionsDefinition([f"batch-{number}" for number in range(3)])
KEY = dg.AssetKey("pages")
MONTHS = timedelta(days=40)


@dg.asset(partitions_def=BATCHES)
def pages(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    context.log.info("a line for the log of this step")
    metadata = {"run": context.run.run_id}
    return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(context.partition_key))


@dg.asset_check(asset=pages)
def whole() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


@dg.op
def fails() -> None:
    raise RuntimeError("not today")


@dg.job
def failing() -> None:
    fails()


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as kept:
        yield kept


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def materialize_all(instance: dg.DagsterInstance) -> None:
    for partition in BATCHES.get_partition_keys():
        assert dg.materialize([pages, whole], instance=instance, partition_key=partition).success


def shown(instance: dg.DagsterInstance) -> dict[str, Any]:
    """What the UI shows of the asset: of each partition, when and with what it was last materialized."""
    newest = [
        instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=KEY, asset_partitions=[partition]), limit=1
        ).records[0]
        for partition in BATCHES.get_partition_keys()
    ]
    cached = get_and_update_asset_status_cache_value(instance, KEY, BATCHES)
    (check,) = instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(KEY, "whole"), limit=1
    )
    return {
        "events": [(record.storage_id, record.timestamp, record.asset_materialization) for record in newest],
        "materialized": sorted(instance.get_materialized_partitions(KEY)),
        "statuses": cached and cached.deserialize_materialized_partition_subsets(BATCHES),
        "versions": instance.get_latest_storage_id_by_partition(
            KEY, dg.DagsterEventType.ASSET_MATERIALIZATION
        ),
        "last": instance.get_latest_materialization_event(KEY),
        "tags": instance.get_event_tags_for_asset(KEY),
        "check": (check.run_id, check.status),
    }


@pytest.mark.system
def test_what_is_shown_of_assets_outlives_their_runs_and_the_disk_is_free_again(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    for _ in range(2):
        materialize_all(instance)
    instance.report_runless_asset_event(dg.AssetMaterialization("told", partition="wiki"))
    instance.report_runless_asset_event(
        dg.AssetMaterialization("told", partition="wiki", description="newer")
    )
    before, size = shown(instance), bytes_in(tmp_path)
    assert forget_old_runs(instance, KEPT, now=utc_now() + timedelta(days=29)).runs == 0
    forgotten = forget_old_runs(instance, KEPT, now=utc_now() + timedelta(days=91))
    assert (forgotten.runs, forgotten.events) == (6, 3 + 1 + 5), "of events, all but the newest of each"
    assert instance.get_runs_count() == 0
    after = shown(instance)
    # Tags count once for each event; those of the newest stay.
    assert {**after, "tags": None} == {**before, "tags": None}
    event = instance.get_latest_materialization_event(dg.AssetKey("told"))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.description == "newer"
    assert not list(tmp_path.rglob("compute_logs"))
    index = sum(path.stat().st_size for path in tmp_path.rglob("index.db*"))
    per_run = (size - bytes_in(tmp_path)) / forgotten.runs
    assert per_run > 100_000, f"{per_run:.0f} bytes a run were freed, and {index} are left in the index"
    materialize_all(instance)
    assert shown(instance) != before, "the instance is usable as ever"


def test_what_a_kill_left_beside_the_file_of_a_run_goes_with_the_run(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    materialize_all(instance)
    file = next(tmp_path.rglob(f"{instance.get_runs()[0].run_id}.db"))
    unfinished = file.with_name(f"{file.name}.4711.new")
    unfinished.write_bytes(b"half")
    forget_old_runs(instance, KEPT, now=utc_now() + MONTHS)
    assert not file.exists()
    assert not unfinished.exists()


def test_runs_that_failed_or_go_on_are_kept_longer(instance: dg.DagsterInstance) -> None:
    assert not failing.execute_in_process(instance=instance, raise_on_error=False).success
    going_on = instance.create_run_for_job(failing)
    later = utc_now() + MONTHS
    assert not old_runs_are_due(instance, KEPT, now=later)
    assert forget_old_runs(instance, KEPT, now=later).runs == 0
    assert old_runs_are_due(instance, KEPT, now=utc_now() + timedelta(days=92))
    assert forget_old_runs(instance, KEPT, now=utc_now() + timedelta(days=400)).runs == 1
    assert [run.run_id for run in instance.get_runs()] == [going_on.run_id]
    assert going_on.status == DagsterRunStatus.NOT_STARTED


def test_days_are_read_from_the_environment_and_nonsense_is_named() -> None:
    assert run_retention({"HOLOCRON_RUN_DAYS": "7"}).succeeded == timedelta(days=7)
    assert run_retention({}) == (timedelta(days=30), timedelta(days=90))
    for said in ("0", "-1", "soon", "1e9", "99999"):
        with pytest.raises(ValueError, match="HOLOCRON_FAILED_RUN_DAYS must be a number of days"):
            run_retention({"HOLOCRON_FAILED_RUN_DAYS": said})


def test_a_kill_between_deleting_events_and_runs_is_made_good_the_next_time(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    materialize_all(instance)

    def killed(prefix: object) -> None:
        raise SystemExit(prefix)

    with monkeypatch.context() as patch:
        patch.setattr(instance.compute_log_manager, "delete_logs", killed)
        with pytest.raises(SystemExit):
            forget_old_runs(instance, KEPT, now=utc_now() + MONTHS)
    assert forget_old_runs(instance, KEPT, now=utc_now() + MONTHS).runs == 3
    assert len(instance.get_materialized_partitions(KEY)) == 3
