"""Pairs of standing entities that may be one: what identity checks ask about."""

from time import perf_counter

import dagster as dg

from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_PAIRS
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.metadata import (
    OWNER,
    table_description,
    table_metadata,
    written_metadata,
)
from holocron_assets.orchestration.partitions import ENTITY_TYPES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stored import Stored, result
from holocron_assets.resolve.store import PAIRS, store_pairs


@dg.asset(
    deps=[ENTITIES.name, ENTITY_ALIASES.name],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "python"},
    owners=[OWNER],
    code_version=PAIRS.code_version,
    description=table_description(ENTITY_PAIRS),
    metadata=table_metadata(ENTITY_PAIRS),
    retry_policy=RETRIES,
)
def entity_pairs(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Pair the type's entities that go by one name."""
    with clear_failures():
        return result(pairs_stored(lake.open(), context.partition_key))


def pairs_stored(lake: Lake, entity_type: str) -> Stored:
    """Write one type's pairs."""
    started = perf_counter()
    footer, rows = store_pairs(lake, entity_type)
    seconds = perf_counter() - started
    return Stored(
        footer, written_metadata(footer, rows, counted="continuity", seconds=seconds, titles="first_title")
    )
