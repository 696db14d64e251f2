"""Tags: the words of each source, how they stand to each other, and the entities that carry them."""

from time import perf_counter

import dagster as dg

from holocron_assets.lake.parquet import Footer
from holocron_assets.lake.schema import Table
from holocron_assets.lake.tables import ENTITIES, ENTITY_TAGS, PAGE_SIGNALS, PAGE_TAGS, TAG_RELATIONS, TAGS
from holocron_assets.orchestration.failures import RETRIES
from holocron_assets.orchestration.metadata import (
    OWNER,
    large_metadata,
    table_description,
    table_metadata,
)
from holocron_assets.orchestration.partitions import ENTITY_TYPES, SOURCES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stages import Stage
from holocron_assets.orchestration.stored import Stored, resolving_alone, result
from holocron_assets.resolve.look import Look
from holocron_assets.resolve.tags.store import (
    TAGS_VERSION,
    stale_entity_tags,
    stale_tag_relations,
    stale_tags,
    store_entity_tags,
    store_tag_relations,
    store_tags,
)
from holocron_assets.settings import tags_file

_EVERY_BATCH = dg.AllPartitionMapping()
_OF_PAGES = [dg.AssetDep(table.name, partition_mapping=_EVERY_BATCH) for table in (PAGE_TAGS, PAGE_SIGNALS)]


@dg.asset(
    name=TAGS.name,
    deps=_OF_PAGES,
    partitions_def=SOURCES,
    group_name="tags",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=TAGS_VERSION,
    description=table_description(TAGS),
    metadata=table_metadata(TAGS),
    retry_policy=RETRIES,
)
def tags(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Collect the source's tags, and say from the vocabulary which are shown."""
    with resolving_alone(context, lake.open()) as look:
        return result(_tags_stored(look, context.partition_key, context.run.run_id))


@dg.asset(
    name=TAG_RELATIONS.name,
    deps=_OF_PAGES,
    partitions_def=SOURCES,
    group_name="tags",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=TAGS_VERSION,
    description=table_description(TAG_RELATIONS),
    metadata=table_metadata(TAG_RELATIONS),
    retry_policy=RETRIES,
)
def tag_relations(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Relate the source's tags as its category pages and the vocabulary do."""
    with resolving_alone(context, lake.open()) as look:
        return result(_relations_stored(look, context.partition_key, context.run.run_id))


@dg.asset(
    name=ENTITY_TAGS.name,
    deps=[dg.AssetDep(PAGE_TAGS.name, partition_mapping=_EVERY_BATCH), ENTITIES.name],
    partitions_def=ENTITY_TYPES,
    group_name="tags",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=TAGS_VERSION,
    description=table_description(ENTITY_TAGS),
    metadata=table_metadata(ENTITY_TAGS),
    retry_policy=RETRIES,
)
def entity_tags(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Give the type's entities the tags of their pages, in the vocabulary's words."""
    with resolving_alone(context, lake.open()) as look:
        return result(_entity_tags_stored(look, context.partition_key, context.run.run_id))


def _tags_stored(look: Look, source: str, _run_id: str) -> Stored:
    started = perf_counter()
    footer = store_tags(look, source, tags_file())
    return _stored(look, TAGS, source, footer, ("visibility", "name"), started)


def _relations_stored(look: Look, source: str, _run_id: str) -> Stored:
    started = perf_counter()
    footer = store_tag_relations(look, source, tags_file())
    return _stored(look, TAG_RELATIONS, source, footer, ("relation", "from_tag"), started)


def _entity_tags_stored(look: Look, entity_type: str, run_id: str) -> Stored:
    started = perf_counter()
    footer = store_entity_tags(look, entity_type, tags_file(), run_id)
    return _stored(look, ENTITY_TAGS, entity_type, footer, ("method", "tag_id"), started)


def _stored(  # noqa: PLR0913,PLR0917  what is told of a file, and by which columns
    look: Look, table: Table, partition: str, footer: Footer, columns: tuple[str, str], started: float
) -> Stored:
    counted, titles = columns
    seconds = perf_counter() - started
    return Stored(
        footer,
        large_metadata(look.lake, table, partition, footer, counted=counted, seconds=seconds, titles=titles),
    )


TAGS_STAGE = Stage(tags, lambda look, names: stale_tags(look, names, tags_file()), _tags_stored)
TAG_RELATIONS_STAGE = Stage(
    tag_relations, lambda look, names: stale_tag_relations(look, names, tags_file()), _relations_stored
)
ENTITY_TAGS_STAGE = Stage(
    entity_tags, lambda look, names: stale_entity_tags(look, names, tags_file()), _entity_tags_stored
)
