"""Entities of the sample wiki: one run for all stale types, and one that a person starts for a type."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sample_dagster import definitions_of, failure_message, metadata_of, run_job
from sample_holocron import ENTITY_TYPES, Holocron

from holocron_assets.entities.store import store_entities
from holocron_assets.lake.declaration.schema import SchemaError, Table
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_PAIRS
from holocron_assets.orchestration.assets import entity_files
from holocron_assets.orchestration.assets.events import RECORDED_LATE
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.planning.work import entities_to_resolve

pytestmark = pytest.mark.system


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def stale(finished_sample: Holocron, tmp_path: Path) -> Holocron:
    """The sample, but for the entities of two types."""
    holocron = finished_sample.copy_to(tmp_path)
    for name in ("Droid", "Species"):
        holocron.lake.file(ENTITIES, name).unlink()
    return holocron


def times_written(holocron: Holocron, table: Table) -> dict[str, int]:
    return {
        name: holocron.lake.file(table, name).stat().st_mtime_ns for name in holocron.lake.partitions(table)
    }


def materialized(result: dg.ExecuteInProcessResult, table: Table) -> dict[str | None, dict[str, Any]]:
    """Metadata by partition of the files of a table that a run replaced."""
    materializations = [
        event.step_materialization_data.materialization for event in result.get_asset_materialization_events()
    ]
    return {
        said.partition: {name: value.value for name, value in said.metadata.items()}
        for said in materializations
        if said.asset_key == dg.AssetKey(table.name) and said.description != RECORDED_LATE
    }


def fail_for(monkeypatch: pytest.MonkeyPatch, entity_type: str, error: Exception) -> None:
    """Let resolving one type fail."""

    def fail(snapshot: Any, name: str, **others: Any) -> Any:
        if name == entity_type:
            raise error
        return store_entities(snapshot, name, **others)

    monkeypatch.setattr(entity_files, "store_entities", fail)


def test_one_run_resolves_every_stale_type_and_no_other(
    stale: Holocron, instance: dg.DagsterInstance
) -> None:
    before = times_written(stale, ENTITIES)
    result = run_job(stale, instance, "resolve_entities")
    assert result.success, failure_message(result)
    said = materialized(result, ENTITIES)
    assert said.keys() == {"Droid", "Species"}
    assert (said["Droid"]["entities"], said["Droid"]["new"], said["Droid"]["for_review"]) == (4, 4, 0)
    assert {**times_written(stale, ENTITIES), **before} == times_written(stale, ENTITIES)
    assert entities_to_resolve(stale.lake) == []


def test_dagster_knows_each_type_that_a_run_resolved(stale: Holocron, instance: dg.DagsterInstance) -> None:
    for table in (ENTITIES, ENTITY_ALIASES):
        for name in stale.lake.partitions(table):
            stale.lake.file(table, name).unlink()
    assert run_job(stale, instance, "resolve_entities").success
    for table in (ENTITIES, ENTITY_ALIASES):
        assert instance.get_materialized_partitions(dg.AssetKey(table.name)) == set(
            stale.lake.partitions(table)
        )


def test_names_are_collected_after_all_entities_so_that_one_run_suffices(
    stale: Holocron, instance: dg.DagsterInstance
) -> None:
    for name in sorted(ENTITY_TYPES):
        stale.lake.file(ENTITIES, name).unlink(missing_ok=True)
        stale.lake.file(ENTITY_ALIASES, name).unlink(missing_ok=True)
    assert run_job(stale, instance, "resolve_entities").success
    assert entities_to_resolve(stale.lake) == []


def test_names_are_compared_in_the_same_run_and_once(stale: Holocron, instance: dg.DagsterInstance) -> None:
    for name in ("Droid", "Species"):
        stale.lake.file(ENTITY_PAIRS, name).unlink()
    result = run_job(stale, instance, "resolve_entities")
    assert materialized(result, ENTITY_PAIRS).keys() == {"Droid", "Species"}
    assert entities_to_resolve(stale.lake) == []
    stale.lake.file(ENTITY_PAIRS, "Droid").unlink()
    assert entities_to_resolve(stale.lake) != []
    again = run_job(stale, instance, "resolve_entities")
    assert materialized(again, ENTITIES) == {}
    assert materialized(again, ENTITY_PAIRS).keys() == {"Droid"}


def test_a_person_compares_the_names_of_one_type(stale: Holocron, instance: dg.DagsterInstance) -> None:
    job = definitions_of(stale).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance, partition_key="PersonCharacter", asset_selection=[dg.AssetKey(ENTITY_PAIRS.name)]
    )
    assert metadata_of(result, ENTITY_PAIRS)["dagster/row_count"] == len(
        read_partition(stale.lake, ENTITY_PAIRS, "PersonCharacter")
    )


def test_a_type_that_fails_for_good_is_named_and_does_not_keep_others_from_theirs(
    stale: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for(monkeypatch, "Droid", SchemaError("table entities, partition 'Droid': key repeats"))
    result = run_job(stale, instance, "resolve_entities")
    assert not result.success
    assert failure_of(instance, result.run_id).reason == (
        "entities of Droid: table entities, partition 'Droid': key repeats"
    )
    assert materialized(result, ENTITIES).keys() == {"Species"}
    monkeypatch.undo()
    assert materialized(run_job(stale, instance, "resolve_entities"), ENTITIES).keys() == {"Droid"}


def test_a_type_that_may_work_later_is_tried_again_in_the_same_run(
    stale: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for(monkeypatch, "Droid", OSError("no space left on device"))
    result = run_job(stale, instance, "resolve_entities")
    assert [event for event in result.all_events if event.is_step_up_for_retry]
    assert "no space left on device" in failure_of(instance, result.run_id).reason


def test_a_person_materializes_one_type_which_says_what_changed_and_then_that_nothing_did(
    stale: Holocron, instance: dg.DagsterInstance
) -> None:
    job = definitions_of(stale).resolve_implicit_global_asset_job_def()

    def materialize() -> dict[str, Any]:
        result = job.execute_in_process(
            instance=instance, partition_key="Droid", asset_selection=[dg.AssetKey(ENTITIES.name)]
        )
        return metadata_of(result, ENTITIES)

    first, again = materialize(), materialize()
    assert (first["entities"], first["new"], first["unchanged"]) == (4, 4, 0)
    assert (again["entities"], again["new"], again["unchanged"]) == (4, 0, 4)
    assert again["content_id"] == first["content_id"]
    assert not stale.lake.has(ENTITIES, "Species")
