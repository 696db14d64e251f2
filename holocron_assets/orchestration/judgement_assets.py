"""Judgements: whether two entities are one, by the strongest voice."""

from time import perf_counter

import dagster as dg

from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.tables import ENTITY_JUDGEMENTS, ENTITY_PAIRS
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
from holocron_assets.resolve.judgement_store import (
    CHECKS_NAME,
    JUDGEMENTS_VERSION,
    stale_judgements,
    store_judgements,
)
from holocron_assets.resolve.look import Look


@dg.asset(
    deps=[ENTITY_PAIRS.name, CHECKS_NAME],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "python"},
    owners=[OWNER],
    code_version=JUDGEMENTS_VERSION,
    description=table_description(ENTITY_JUDGEMENTS),
    metadata=table_metadata(ENTITY_JUDGEMENTS),
    retry_policy=RETRIES,
)
def entity_judgements(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Judge the type's pairs: by people's decisions, then by the identity policy."""
    with resolving_alone(context, lake.open()) as look:
        return result(_stored(look, context.partition_key, context.run.run_id))


def _stored(look: Look, entity_type: str, _run_id: str) -> Stored:
    started = perf_counter()
    footer, rows = store_judgements(look, entity_type, entity_types=frozenset(TYPES), now=utc_now())
    seconds = perf_counter() - started
    metadata = written_metadata(footer, rows, counted="judgement", seconds=seconds, titles="pair_id")
    refused = sum(row["refused"] is not None for row in rows)
    return Stored(footer, {**metadata, "refused": refused})


JUDGEMENTS = Stage(entity_judgements, stale_judgements, _stored)
