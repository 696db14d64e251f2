"""The names that entities go by."""

from time import perf_counter

import dagster as dg

from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_MENTIONS, PAGE_FACTS, PAGE_SIGNALS
from holocron_assets.orchestration.failures import RETRIES
from holocron_assets.orchestration.metadata import (
    OWNER,
    table_description,
    table_metadata,
    written_metadata,
)
from holocron_assets.orchestration.partitions import ENTITY_TYPES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stages import Stage
from holocron_assets.orchestration.stored import Stored, resolving_alone, result
from holocron_assets.resolve.look import Look
from holocron_assets.resolve.store import ALIASES_VERSION, stale_aliases, store_aliases

_EVERY_BATCH = dg.AllPartitionMapping()


@dg.asset(
    deps=[
        ENTITIES.name,
        ENTITY_MENTIONS.name,
        dg.AssetDep(PAGE_SIGNALS.name, partition_mapping=_EVERY_BATCH),
        dg.AssetDep(PAGE_FACTS.name, partition_mapping=_EVERY_BATCH),
    ],
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
    with resolving_alone(context, lake.open()) as look:
        return result(_stored(look, context.partition_key, context.run.run_id))


def _stored(look: Look, entity_type: str, _run_id: str) -> Stored:
    started = perf_counter()
    footer, rows = store_aliases(look, entity_type)
    seconds = perf_counter() - started
    return Stored(footer, written_metadata(footer, rows, counted="kind", seconds=seconds, titles="alias"))


ALIASES = Stage(entity_aliases, stale_aliases, _stored)
