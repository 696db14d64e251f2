"""The asset of the review queue: one file a source, made anew from what machines left open."""

from collections.abc import Sequence
from time import perf_counter

import dagster as dg

from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_RELATIONS,
    PAGE_TYPES,
    REVIEW_ITEMS,
)
from holocron_assets.orchestration.failures import RETRIES
from holocron_assets.orchestration.metadata import (
    OWNER,
    table_description,
    table_metadata,
    written_metadata,
)
from holocron_assets.orchestration.partitions import SOURCES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stages import Stage
from holocron_assets.orchestration.stored import Stored, resolving_alone, result
from holocron_assets.resolve.look import Look
from holocron_assets.resolve.review.store import REVIEW_VERSION, stale_review, store_review

_EVERYTHING = dg.AllPartitionMapping()
_DECIDED_ON = (PAGE_TYPES, ENTITY_JUDGEMENTS, ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS)


@dg.asset(
    name=REVIEW_ITEMS.name,
    deps=[dg.AssetDep(table.name, partition_mapping=_EVERYTHING) for table in _DECIDED_ON],
    partitions_def=SOURCES,
    group_name="review",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=REVIEW_VERSION,
    description=table_description(REVIEW_ITEMS),
    metadata=table_metadata(REVIEW_ITEMS),
    retry_policy=RETRIES,
)
def review_items(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Collect what a person should decide of the source, and rank it by how much a decision would change."""
    with resolving_alone(context, lake.open()) as look:
        return result(_stored(look, context.partition_key, context.run.run_id))


def _stale(look: Look, sources: Sequence[str]) -> list[str]:
    return stale_review(look.lake, sources)


def _stored(look: Look, source: str, _run_id: str) -> Stored:
    started = perf_counter()
    footer, rows = store_review(look.lake, source)
    seconds = perf_counter() - started
    return Stored(footer, written_metadata(footer, rows, counted="kind", seconds=seconds, titles="subject"))


REVIEW = Stage(review_items, _stale, _stored)
