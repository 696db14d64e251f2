"""Pairs of records that may be one: what is judged, by the identity policy, models and people."""

from time import perf_counter

import dagster as dg

from holocron_assets.lake.tables import (
    ENTITY_CANDIDATES,
    ENTITY_MENTIONS,
    ENTITY_PAIRS,
    PAGE_FACTS,
    PAGE_SIGNALS,
)
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
from holocron_assets.resolve.pair_store import PAIRS_VERSION, stale_pairs, store_pairs

_EVERY_BATCH = dg.AllPartitionMapping()


@dg.asset(
    deps=[
        dg.AssetDep(ENTITY_CANDIDATES.name, partition_mapping=_EVERY_BATCH),
        dg.AssetDep(PAGE_SIGNALS.name, partition_mapping=_EVERY_BATCH),
        dg.AssetDep(PAGE_FACTS.name, partition_mapping=_EVERY_BATCH),
        ENTITY_MENTIONS.name,
    ],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "python"},
    owners=[OWNER],
    code_version=PAIRS_VERSION,
    description=table_description(ENTITY_PAIRS),
    metadata=table_metadata(ENTITY_PAIRS),
    retry_policy=RETRIES,
)
def entity_pairs(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Pair the type's candidates whose names are alike."""
    with resolving_alone(context, lake.open()) as look:
        return result(_stored(look, context.partition_key, context.run.run_id))


def _stored(look: Look, entity_type: str, _run_id: str) -> Stored:
    started = perf_counter()
    footer, rows = store_pairs(look, entity_type, entity_types=frozenset(TYPES))
    seconds = perf_counter() - started
    return Stored(
        footer, written_metadata(footer, rows, counted="verdict", seconds=seconds, titles="first_title")
    )


PAIRS = Stage(entity_pairs, stale_pairs, _stored)
