"""The knowledge base's assets, partitioned by entity type: identity is only ever decided inside one type."""

from time import perf_counter

import dagster as dg

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_CANDIDATES, PAGE_SIGNALS
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.metadata import (
    OWNER,
    table_description,
    table_metadata,
    written_metadata,
)
from holocron_assets.orchestration.partitions import ENTITY_TYPES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.resolve.store import ALIASES_VERSION, ENTITIES_VERSION, store_aliases, store_entities

_EVERY_BATCH = dg.AllPartitionMapping()


@dg.asset(
    deps=[dg.AssetDep(ENTITY_CANDIDATES.name, partition_mapping=_EVERY_BATCH)],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=ENTITIES_VERSION,
    description=table_description(ENTITIES),
    metadata=table_metadata(ENTITIES),
    retry_policy=RETRIES,
)
def entities(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Resolve the type's candidates of every batch against its standing entities."""
    started = perf_counter()
    with clear_failures():
        footer, rows, changes = store_entities(
            lake.open(),
            context.partition_key,
            entity_types=frozenset(load_taxonomy().entity_worthy_types),
            now=utc_now(),
            run_id=context.run.run_id,
        )
    current = [row for row in rows if row["valid_to"] is None]
    seconds = perf_counter() - started
    return dg.MaterializeResult(
        metadata={
            **written_metadata(footer, current, counted="state", seconds=seconds, titles="name"),
            "entities": len(current),
            "history_rows": len(rows),
            "new": changes.new,
            "changed": changes.changed,
            "suppressed": changes.suppressed,
            "returned": changes.returned,
            "unchanged": changes.unchanged,
        },
        data_version=dg.DataVersion(footer.content_id),
    )


@dg.asset(
    deps=[entities, dg.AssetDep(PAGE_SIGNALS.name, partition_mapping=_EVERY_BATCH)],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=ALIASES_VERSION,
    description=table_description(ENTITY_ALIASES),
    metadata=table_metadata(ENTITY_ALIASES),
    retry_policy=RETRIES,
)
def entity_aliases(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Collect the names that the type's entities go by."""
    started = perf_counter()
    with clear_failures():
        footer, rows = store_aliases(lake.open(), context.partition_key)
    seconds = perf_counter() - started
    return dg.MaterializeResult(
        metadata=written_metadata(footer, rows, counted="kind", seconds=seconds, titles="alias"),
        data_version=dg.DataVersion(footer.content_id),
    )
