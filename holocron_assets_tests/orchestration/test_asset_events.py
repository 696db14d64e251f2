"""What Dagster records of assets in runs of ours, and what it records without the tag that defers that."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sample_dagster import definitions_of, run_job
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.entities.store import store_entities
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.tables import ENTITIES, PAGE_TAGS, PAGE_TYPES, PAGES
from holocron_assets.orchestration.assets import batches as batch_assets
from holocron_assets.orchestration.assets import entity_files
from holocron_assets.orchestration.assets.events import RECORDED_LATE, range_tags
from holocron_assets.orchestration.internals.assets import DEFERRED

pytestmark = pytest.mark.system

Recorded = list[tuple[str, str | None, str | None]]

LETTERS = dg.StaticPartitionsDefinition(["a", "b", "c"])
RANGE = range_tags(LETTERS.get_partition_keys())


@dg.asset(partitions_def=LETTERS, retry_policy=dg.RetryPolicy(max_retries=1))
def first(
    context: dg.AssetExecutionContext,
) -> Iterator[dg.AssetMaterialization | dg.MaterializeResult[None]]:
    if context.retry_number == 0:
        yield dg.AssetMaterialization("first", partition="b", tags={"dagster/data_version": "of b"})
        raise OSError("the disk was full for a moment")
    yield dg.AssetMaterialization("first", partition="c", tags={"dagster/data_version": "of c"})
    yield dg.MaterializeResult()


@dg.asset(partitions_def=LETTERS, deps=[first])
def second() -> dg.MaterializeResult[None]:
    return dg.MaterializeResult()


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def made(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> dg.ExecuteInProcessResult:
    job = dg.define_asset_job("letters", selection=dg.AssetSelection.assets(first, second))
    definitions = dg.Definitions(assets=[first, second], jobs=[job], executor=dg.in_process_executor)
    return definitions.resolve_job_def("letters").execute_in_process(
        instance=instance, tags=dict(tags), raise_on_error=False
    )


def recorded_events(result: dg.ExecuteInProcessResult) -> Recorded:
    """Step, partition and data version of each materialization that a run recorded, in order."""
    return [
        (event.step_key or "", one.partition, (one.tags or {}).get("dagster/data_version"))
        for event in result.get_asset_materialization_events()
        for one in [event.step_materialization_data.materialization]
    ]


def planned(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> int:
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
    return len(instance.get_records_for_run(result.run_id, of_type=kind).records)


def test_with_the_tag_dagster_records_what_steps_yield_and_a_step_is_retried_alone(
    instance: dg.DagsterInstance,
) -> None:
    result = made(instance, {**DEFERRED, **RANGE})
    assert result.success
    assert recorded_events(result) == [("first", "b", "of b"), ("first", "c", "of c")]
    assert planned(instance, result) == 0
    assert instance.get_materialized_partitions(second.key) == set()


def test_without_the_tag_every_partition_of_the_range_gets_an_event_of_one_version(
    instance: dg.DagsterInstance,
) -> None:
    result = made(instance, RANGE)
    assert result.success
    of_second = [one for one in recorded_events(result) if one[0] == "second"]
    assert sorted(str(partition) for _, partition, _ in of_second) == ["a", "b", "c"]
    assert len({version for *_, version in of_second}) == 1
    assert planned(instance, result) > 0


def test_without_a_range_a_step_fails_that_follows_another(instance: dg.DagsterInstance) -> None:
    result = made(instance, DEFERRED)
    assert not result.success
    assert [event.step_key for event in result.all_events if event.is_step_failure] == ["second"]


@pytest.fixture
def sample(finished_sample: Holocron, tmp_path: Path) -> Holocron:
    return finished_sample.copy_to(tmp_path)


def settle(sample: Holocron, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    instance.add_dynamic_partitions("batches", [SAMPLE_BATCH])
    return run_job(sample, instance, "settle_batch", SAMPLE_BATCH)


def test_a_run_records_the_files_that_it_replaced_and_no_other(
    sample: Holocron, instance: dg.DagsterInstance
) -> None:
    assert settle(sample, instance).success
    sample.lake.file(PAGE_TYPES, SAMPLE_BATCH).unlink()
    sample.lake.file(PAGE_TAGS, SAMPLE_BATCH).unlink()
    result = settle(sample, instance)
    assert result.success
    assert {step for step, *_ in recorded_events(result)} == {"page_types", "page_tags"}
    for table in (PAGE_TYPES, PAGE_TAGS):
        footer = read_footer(sample.lake, table, SAMPLE_BATCH)
        assert footer is not None
        assert (table.name, SAMPLE_BATCH, footer.content_id) in recorded_events(result)
    assert recorded_events(settle(sample, instance)) == []


def events_of_signals(instance: dg.DagsterInstance) -> list[dg.AssetMaterialization]:
    """All events of the asset `page_signals`, the last one first."""
    records = instance.fetch_materializations(dg.AssetKey("page_signals"), limit=100).records
    return [one.asset_materialization for one in records if one.asset_materialization]


def change_a_page(sample: Holocron) -> None:
    first_page, *others = read_partition(sample.lake, PAGES, SAMPLE_BATCH)
    changed = {**first_page, "wikitext": f"{first_page['wikitext']}\n[[Category:Changed]]"}
    write_partition(sample.lake, PAGES, SAMPLE_BATCH, [changed, *others])


def test_a_file_whose_run_died_before_its_event_is_recorded_by_the_next_run_once(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settle(sample, instance).success
    before = len(events_of_signals(instance))
    change_a_page(sample)
    with monkeypatch.context() as dying:
        dying.setattr(batch_assets, "written_metadata", lambda *_, **__: pytest.fail("killed here"))
        assert not settle(sample, instance).success
    assert len(events_of_signals(instance)) == before
    assert settle(sample, instance).success
    assert settle(sample, instance).success
    late, *others = events_of_signals(instance)
    assert len(others) == before
    assert (late.partition, late.description) == (SAMPLE_BATCH, RECORDED_LATE)


def test_types_that_were_resolved_are_not_resolved_again_when_their_step_is_retried(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_job(sample, instance, "resolve_entities").success
    for name in ("Droid", "Organization", "Species"):
        sample.lake.file(ENTITIES, name).unlink()
    failures = iter([OSError("no space left on device")])

    def failing(snapshot: Any, name: str, **others: Any) -> Any:
        if name == "Organization" and (error := next(failures, None)):
            raise error
        return store_entities(snapshot, name, **others)

    monkeypatch.setattr(entity_files, "store_entities", failing)
    result = run_job(sample, instance, "resolve_entities")
    assert result.success
    assert [event.step_key for event in result.all_events if event.is_step_up_for_retry] == ["entities"]
    of_entities = [partition for step, partition, _ in recorded_events(result) if step == "entities"]
    assert of_entities == ["Droid", "Species", "Organization"]


def test_a_person_who_materializes_a_partition_has_dagsters_own_event(
    sample: Holocron, instance: dg.DagsterInstance
) -> None:
    job = definitions_of(sample).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance, partition_key="Droid", asset_selection=[dg.AssetKey("entities")]
    )
    assert [(step, partition) for step, partition, _ in recorded_events(result)] == [("entities", "Droid")]
    assert planned(instance, result) == 1


def test_a_lake_that_dagster_does_not_know_is_recorded_as_it_stands(
    sample: Holocron, instance: dg.DagsterInstance
) -> None:
    result = run_job(sample, instance, "resolve_entities")
    assert result.success
    said = [
        one.step_materialization_data.materialization for one in result.get_asset_materialization_events()
    ]
    assert {one.description for one in said} == {RECORDED_LATE}
    assert instance.get_materialized_partitions(dg.AssetKey("entities")) == set(
        sample.lake.partitions(ENTITIES)
    )
