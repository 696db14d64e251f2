"""What readers open: the database of views, and the search index."""

from time import perf_counter
from typing import Any

import dagster as dg

from holocron_assets.derive.interrogations.loading import derived_tables
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    ENTITY_TAGS,
    PAGE_LINKS,
    PAGE_TYPES,
    PAGES,
    REVIEW_ITEMS,
    TAGS,
)
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX
from holocron_assets.lake.views.publishing import publish_views
from holocron_assets.operations.views import all_views
from holocron_assets.orchestration.assets.metadata import OWNER, sample_list
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.held import ended_when_held, refuse_all_held
from holocron_assets.orchestration.runs.retries import PUBLISHING
from holocron_assets.retrieval.index.contents import READ as INDEXED
from holocron_assets.retrieval.index.index import SearchIndex

READ = (
    *(PAGES, PAGE_LINKS, PAGE_TYPES, ENTITIES, ENTITY_ALIASES),
    *(ENTITY_FACTS, ENTITY_RELATIONS, TAGS, ENTITY_TAGS, REVIEW_ITEMS),
)
"""Tables that provide most rows of the views."""


@dg.asset(
    deps=[dg.AssetDep(table.name, partition_mapping=dg.AllPartitionMapping()) for table in READ],
    group_name="views",
    kinds={"duckdb"},
    owners=[OWNER],
    description=(
        "`holocron.duckdb`: views over every table, for any DuckDB client. They show newer data too; "
        "the file is written again only when packs, a view or a source changes."
    ),
    metadata={
        "dagster/column_schema": dg.TableSchema(
            [dg.TableColumn("view", "string", description="Name of a public view")]
        )
    },
    retry_policy=PUBLISHING,
)
def views(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> dg.MaterializeResult[None]:
    """Publish the views."""
    with ended_when_held(context), clear_failures():
        refuse_all_held(context, lake.open())
        metadata = _published(lake.open(), all_views(sources.all()))
    context.log.info(f"published {metadata['dagster/row_count']} views")
    return dg.MaterializeResult(metadata=metadata)


def _published(lake: Lake, definition: str) -> dict[str, Any]:
    started = perf_counter()
    names = publish_views(lake, definition)
    return {
        "dagster/row_count": len(names),
        "seconds": round(perf_counter() - started, 3),
        "path": dg.MetadataValue.path(lake.database),
        "views": dg.MetadataValue.md("\n".join(f"- `{name}`" for name in names)),
    }


SPACE_TABLES = tuple(table for table in derived_tables() if table.name.startswith(SPACE_PREFIX))


@dg.asset(
    deps=[
        dg.AssetDep(table.name, partition_mapping=dg.AllPartitionMapping())
        for table in (*INDEXED, *SPACE_TABLES)
    ],
    group_name="search",
    kinds={"rust"},
    owners=[OWNER],
    description=(
        "`search/` in the data folder: a full-text index of names and passages, and arrays of vectors. "
        "A batch is replaced when its passages, vectors, names, types or states changed; searches go on."
    ),
    metadata={
        "dagster/column_schema": dg.TableSchema(
            [dg.TableColumn("passage_id", "string", description="A passage that can be found")]
        )
    },
    retry_policy=PUBLISHING,
)
def search_index(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Index the batches that changed."""
    with ended_when_held(context), clear_failures():
        refuse_all_held(context, lake.open())
        metadata = _indexed(lake.open())
    context.log.info(f"{metadata['dagster/row_count']} passages can be found")
    return dg.MaterializeResult(metadata=metadata)


def _indexed(lake: Lake) -> dict[str, Any]:
    started = perf_counter()
    update = SearchIndex(lake).update()
    return {
        "dagster/row_count": update.passages,
        "batches": update.batches,
        "batches_replaced": len(update.replaced),
        "batches_removed": len(update.removed),
        "vectors": sum(update.embedded.values()),
        "seconds": round(perf_counter() - started, 3),
        "sample_batches": sample_list(update.replaced[:5]),
    }
