"""Tags and mentions of the sample wiki, as Dagster shows them."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from sample_dagster import definitions_of, metadata_of
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.tables import ENTITY_MENTIONS, ENTITY_TAGS, PAGE_SIGNALS, TAG_RELATIONS, TAGS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.planning.batch_derivations import TAGS_DERIVATION

LIST = "List of members of the Concord of Nine"
(LISTS,) = TAGS_DERIVATION.optional_inputs


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("sources", ["sample"])
        ephemeral.add_dynamic_partitions("batches", [SAMPLE_BATCH])
        yield ephemeral


def materialized(
    holocron: Holocron, instance: dg.DagsterInstance, table: Table, partition: str
) -> dict[str, object]:
    """The message to a person who materializes one partition."""
    job = definitions_of(holocron).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance, partition_key=partition, asset_selection=[dg.AssetKey(table.name)]
    )
    return dict(metadata_of(result, table))


@pytest.mark.parametrize(
    ("table", "partition", "counted"),
    [
        (TAGS, "sample", "visibility: internal"),
        (TAG_RELATIONS, "sample", "relation: broader"),
        (ENTITY_TAGS, "PersonCharacter", "method: category"),
    ],
    ids=lambda value: value.name if isinstance(value, Table) else "",
)
def test_a_person_materializes_tags(  # noqa: PLR0913,PLR0917  three say what, three are the test's world
    finished_sample: Holocron,
    tmp_path: Path,
    instance: dg.DagsterInstance,
    table: Table,
    partition: str,
    counted: str,
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    before = read_partition(holocron.lake, table, partition)
    holocron.lake.file(table, partition).unlink()
    said = materialized(holocron, instance, table, partition)
    assert said["dagster/row_count"] == len(before) > 0
    assert said[counted]
    contents = table.content_columns
    after = read_partition(holocron.lake, table, partition)
    assert [[row[name] for name in contents] for row in after] == [
        [row[name] for name in contents] for row in before
    ]


def test_maintenance_of_the_sample_wiki_is_internal(finished_sample: Holocron) -> None:
    with connect(finished_sample.lake) as connection:
        rows = query(
            connection, "select tag_id from tags where visibility = 'internal' and type = 'category'"
        )
    names = {row["tag_id"].partition(":")[2] for row in rows}
    assert {"driftpedia policies", "articles with unknown subject", "disambiguation pages"} <= names
    assert not names & {"planets", "sentient species", "lamp war"}


def test_a_person_materializes_what_lists_name(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    page = next(
        row for row in read_partition(holocron.lake, PAGE_SIGNALS, SAMPLE_BATCH) if row["title"] == LIST
    )
    named = [
        {
            **{name: page[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
            **dict.fromkeys(("model", "model_digest", "result_key", "run_id"), "any"),
            "item_id": f"{page['title_key']}#0",
            "chunk": 0,
            "position": position,
            "supported": True,
            "evidence": name,
            "name": name,
            "type": "Species",
            "aliases": [],
            "attributes": [],
        }
        for position, name in enumerate(["Humans", "Ossiri", "Kellubanes", "Ötheron", "Category:Lists"])
    ]
    write_partition(holocron.lake, LISTS, SAMPLE_BATCH, named)
    said = materialized(holocron, instance, ENTITY_MENTIONS, "Species")
    rows = read_partition(holocron.lake, ENTITY_MENTIONS, "Species")
    assert {row["name"]: (row["method"], row["means_title"]) for row in rows} == {
        "Humans": ("link", "Human"),
        "Kellubanes": ("link", "Kellubane"),
        "Ossiri": ("link", "Ossiri"),
    }
    assert (said["method: link"], said["kept out: no_title"]) == (3, 1)
    materialized(holocron, instance, ENTITY_MENTIONS, "LocationPlace")
    (place,) = read_partition(holocron.lake, ENTITY_MENTIONS, "LocationPlace")
    assert (place["name"], place["said_type"], place["means_title"]) == ("Ötheron", "Species", "Ötheron")
