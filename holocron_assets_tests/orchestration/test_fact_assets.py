"""Facts and relations of the sample wiki: what its infoboxes say, as Dagster shows it."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from sample_dagster import definitions_of, metadata_of, run_job
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import ENTITY_FACTS, ENTITY_RELATIONS, PAGE_FACTS
from holocron_assets.lake.views.database import connect, query


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("sources", ["sample"])
        ephemeral.add_dynamic_partitions("batches", [SAMPLE_BATCH])
        yield ephemeral


def test_a_batch_says_which_infobox_fields_have_no_rule(
    fetched_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = fetched_sample.copy_to(tmp_path)
    result = run_job(holocron, instance, "settle_batch", SAMPLE_BATCH)
    said = metadata_of(result, PAGE_FACTS)
    rows = read_partition(holocron.lake, PAGE_FACTS, SAMPLE_BATCH)
    assert said["dagster/row_count"] == len(rows) > 300
    assert "alignment" in said["fields_without_rule"]
    assert "homeworld" not in said["fields_without_rule"]


def test_the_samples_entities_have_facts_and_relations(finished_sample: Holocron) -> None:
    statements = """
        select relation as said, to_name as value, other.title as other
        from entity_relations join entities as other on other.entity_id = to_id
        where entity_relations.title = 'Nem Sixfinger'
        union all
        select fact_key, value, null from entity_facts where title = 'Nem Sixfinger'
    """
    with connect(finished_sample.lake) as connection:
        said = {(row["said"], row["value"], row["other"]) for row in query(connection, statements)}
    assert {
        ("comes_from", "Thuum", "Thuum"),
        ("of_species", "Tchaan", "Tchaan"),
        ("homeworld", "Thuum", None),
    } <= said


@pytest.mark.parametrize("table", [ENTITY_FACTS, ENTITY_RELATIONS], ids=lambda table: table.name)
def test_a_person_materializes_one_type(
    table: Table, finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    holocron.lake.file(table, "PersonCharacter").unlink()
    job = definitions_of(holocron).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance, partition_key="PersonCharacter", asset_selection=[dg.AssetKey(table.name)]
    )
    said = metadata_of(result, table)
    rows = read_partition(holocron.lake, table, "PersonCharacter")
    assert said["dagster/row_count"] == said["status: stated"] == len(rows) > 10
