"""The database of views that any DuckDB client opens."""

from time import perf_counter

import dagster as dg

from holocron_assets.crawl.frontier_views import frontier_views
from holocron_assets.lake.publishing import publish_views
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, PAGE_LINKS, PAGE_TYPES, PAGES
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.metadata import OWNER
from holocron_assets.orchestration.resources import LakeResource, SourcesResource

_READ = (PAGES, PAGE_LINKS, PAGE_TYPES, ENTITIES, ENTITY_ALIASES)


@dg.asset(
    deps=[dg.AssetDep(table.name, partition_mapping=dg.AllPartitionMapping()) for table in _READ],
    group_name="views",
    kinds={"duckdb"},
    owners=[OWNER],
    description=(
        "`holocron.duckdb`: views over every table, for any DuckDB client. They read the lake as it is; "
        "the file is written again only when a table gets its first rows, or a view or a source changes."
    ),
    metadata={
        "dagster/column_schema": dg.TableSchema(
            [dg.TableColumn("view", "string", description="Name of a public view")]
        )
    },
    retry_policy=RETRIES,
)
def views(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> dg.MaterializeResult[None]:
    """Publish the views."""
    started = perf_counter()
    with clear_failures():
        names = publish_views(lake.open(), frontier_views(sources.all()))
    context.log.info(f"published {len(names)} views")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(names),
            "seconds": round(perf_counter() - started, 3),
            "path": dg.MetadataValue.path(lake.open().database),
            "views": dg.MetadataValue.md("\n".join(f"- `{name}`" for name in names)),
        }
    )
