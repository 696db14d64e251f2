"""Registers the lake's partitions with Dagster's instance, each once."""

from collections.abc import Mapping, Sequence
from time import perf_counter

import dagster as dg
from sqlalchemy.exc import IntegrityError

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import Footer, read_footer, read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, FILE_BATCHES, FILE_LIST, SITES
from holocron_assets.orchestration.assets.events import RANGE_OF_TAG, range_tags
from holocron_assets.orchestration.assets.metadata import written_metadata
from holocron_assets.orchestration.assets.partitions import (
    BATCHES,
    BATCHES_OF_FILES,
    SOURCES,
    SOURCES_OF_FILES,
)
from holocron_assets.orchestration.internals.assets import RANGE_TAGS
from holocron_assets.orchestration.internals.runs import add_tags_now
from holocron_assets.planning.job_names import PARTITION_TAG

_LISTED_IN: Mapping[str, tuple[dg.DynamicPartitionsDefinition, Table]] = {
    str(definition.name): (definition, table)
    for definition, table in (
        (BATCHES, BATCH_PAGES),
        (SOURCES, SITES),
        (BATCHES_OF_FILES, FILE_BATCHES),
        (SOURCES_OF_FILES, FILE_LIST),
    )
}
"""The table whose partitions a definition has, by the definition's name."""

_MANIFESTS = {str(BATCHES.name): BATCH_PAGES, str(BATCHES_OF_FILES.name): FILE_BATCHES}
"""The table of manifests of the definitions that are of batches, by the definition's name."""


def _batch_cut(lake: Lake, batch: str, table: Table) -> dg.AssetMaterialization:
    """The event that records a manifest in Dagster, once its partition is made."""
    started = perf_counter()
    rows = read_partition(lake, table, batch)
    footer = read_footer(lake, table, batch) or Footer(rows=len(rows), content_id="")
    titles = "title" if table is BATCH_PAGES else "name"
    seconds = perf_counter() - started
    return dg.AssetMaterialization(
        table.name,
        partition=batch,
        description="Cut from the frontier",
        metadata=written_metadata(footer, rows, counted="reason", seconds=seconds, titles=titles),
    )


def batches_cut(
    lake: Lake, definition: dg.DynamicPartitionsDefinition, batches: Sequence[str]
) -> list[dg.AssetMaterialization]:
    """The events that record the manifests of some partitions; none for sources, which have no manifest."""
    table = _MANIFESTS.get(str(definition.name))
    return [_batch_cut(lake, batch, table) for batch in batches] if table else []


def register_partition(
    instance: dg.DagsterInstance, lake: Lake, definition: dg.DynamicPartitionsDefinition, partition: str
) -> None:
    """Register a partition with the instance, unless it is registered."""
    name = str(definition.name)
    if instance.has_dynamic_partition(name, partition):
        return
    try:
        instance.add_dynamic_partitions(name, [partition])
    except IntegrityError:
        # In SQLite, Dagster reads, then inserts: another process inserted it in between, and reported it.
        if not instance.has_dynamic_partition(name, partition):
            raise
        return
    for event in batches_cut(lake, definition, [partition]):
        instance.report_runless_asset_event(event)


def set_range(instance: dg.DagsterInstance, lake: Lake, run: dg.DagsterRun) -> None:
    """Give a starting run the range of all present partitions, if its job asks for that.

    So a caller that launches such a job need not know them. Steps of this process use the tags of `run`.
    """
    name = run.tags.get(RANGE_OF_TAG)
    if name is None or PARTITION_TAG in run.tags or RANGE_TAGS[0] in run.tags:
        return
    if known := instance.get_dynamic_partitions(name) or _first_registered(instance, lake, name):
        add_tags_now(instance, run, range_tags(known))


def _first_registered(instance: dg.DagsterInstance, lake: Lake, name: str) -> Sequence[str]:
    """Register one partition of a lake that is older than Dagster's storage: a range needs only one."""
    definition, table = _LISTED_IN[name]
    there = lake.partitions(table)[:1]
    for partition in there:
        register_partition(instance, lake, definition, partition)
    return there
