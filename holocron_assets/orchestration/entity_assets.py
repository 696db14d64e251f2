"""Entities with their history, partitioned by type: identity is only ever decided inside one type."""

from time import perf_counter

import dagster as dg
import pyarrow.compute as pc

from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.tables import ENTITIES, ENTITY_CANDIDATES, ENTITY_JUDGEMENTS, ENTITY_MENTIONS
from holocron_assets.orchestration.failures import RETRIES
from holocron_assets.orchestration.metadata import (
    OWNER,
    table_description,
    table_metadata,
    written_metadata,
)
from holocron_assets.orchestration.partitions import ENTITY_TYPES, TYPES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stages import Stage
from holocron_assets.orchestration.stored import Stored, resolving_alone, result
from holocron_assets.resolve.look import Look
from holocron_assets.resolve.store import ENTITIES_VERSION, stale_entities, store_entities


@dg.asset(
    deps=[
        dg.AssetDep(ENTITY_CANDIDATES.name, partition_mapping=dg.AllPartitionMapping()),
        ENTITY_MENTIONS.name,
        ENTITY_JUDGEMENTS.name,
    ],
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
    with resolving_alone(context, lake.open()) as look:
        return result(_entities_stored(look, context.partition_key, context.run.run_id))


def _entities_stored(look: Look, entity_type: str, run_id: str) -> Stored:
    started = perf_counter()
    footer, rows, changes = store_entities(
        look, entity_type, entity_types=frozenset(TYPES), now=utc_now(), run_id=run_id
    )
    shown = rows.filter(pc.is_null(rows.column("valid_to"))).select(["name", "state", "review_reason"])
    current = shown.to_pylist()
    seconds = perf_counter() - started
    return Stored(
        footer,
        {
            **written_metadata(footer, current, counted="state", seconds=seconds, titles="name"),
            "entities": len(current),
            "history_rows": rows.num_rows,
            "for_review": sum(row["review_reason"] is not None for row in current),
            "new": changes.new,
            "changed": changes.changed,
            "suppressed": changes.suppressed,
            "returned": changes.returned,
            "unchanged": changes.unchanged,
        },
    )


ENTITIES_STAGE = Stage(entities, stale_entities, _entities_stored)
