"""What list pages name: a mention is a page's entity, or one that no page is about."""

from time import perf_counter

import dagster as dg

from holocron_assets.lake.tables import ENTITY_CANDIDATES, ENTITY_MENTIONS, PAGE_LINKS, PAGE_SIGNALS
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
from holocron_assets.resolve.mention_search import EXTRACTION
from holocron_assets.resolve.mention_store import MENTIONS_VERSION, stale_mentions, store_mentions

_EVERY_BATCH = dg.AllPartitionMapping()
_MADE_FROM = (EXTRACTION, PAGE_LINKS.name, PAGE_SIGNALS.name, ENTITY_CANDIDATES.name)


@dg.asset(
    deps=[dg.AssetDep(name, partition_mapping=_EVERY_BATCH) for name in _MADE_FROM],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=MENTIONS_VERSION,
    description=table_description(ENTITY_MENTIONS),
    metadata=table_metadata(ENTITY_MENTIONS),
    retry_policy=RETRIES,
)
def entity_mentions(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Find out what the names mean that list pages give to things of the type."""
    with resolving_alone(context, lake.open()) as look:
        return result(_stored(look, context.partition_key, context.run.run_id))


def _stored(look: Look, entity_type: str, run_id: str) -> Stored:
    started = perf_counter()
    footer, rows = store_mentions(look, entity_type, run_id)
    kept_out = look.mentions.kept_out.get(entity_type, {})
    seconds = perf_counter() - started
    return Stored(
        footer,
        {
            **written_metadata(footer, rows, counted="method", seconds=seconds, titles="name"),
            **{f"kept out: {reason}": count for reason, count in sorted(kept_out.items())},
        },
    )


MENTIONS = Stage(entity_mentions, stale_mentions, _stored)
