"""What is said of entities: facts, and relations of one to another."""

from time import perf_counter

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_MENTIONS,
    ENTITY_RELATIONS,
    PAGE_FACTS,
    PAGE_LINKS,
)
from holocron_assets.orchestration.failures import RETRIES
from holocron_assets.orchestration.metadata import OWNER, large_metadata, table_description, table_metadata
from holocron_assets.orchestration.partitions import ENTITY_TYPES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stages import Stage
from holocron_assets.orchestration.stored import Stored, resolving_alone, result
from holocron_assets.resolve.facts.model_tables import FACTS as MODEL_FACTS
from holocron_assets.resolve.facts.model_tables import LISTED
from holocron_assets.resolve.facts.model_tables import RELATIONS as MODEL_RELATIONS
from holocron_assets.resolve.facts.store import (
    FACTS_VERSION,
    stale_facts,
    stale_relations,
    store_facts,
    store_relations,
)
from holocron_assets.resolve.look import Look

_EVERY_BATCH = dg.AllPartitionMapping()


def _batches_of(*names: str) -> list[dg.AssetDep]:
    return [dg.AssetDep(name, partition_mapping=_EVERY_BATCH) for name in names]


@dg.asset(
    deps=[ENTITIES.name, ENTITY_MENTIONS.name, *_batches_of(PAGE_FACTS.name, MODEL_FACTS, LISTED)],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=FACTS_VERSION,
    description=table_description(ENTITY_FACTS),
    metadata=table_metadata(ENTITY_FACTS),
    retry_policy=RETRIES,
)
def entity_facts(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Collect what infoboxes, models and people say of the type's entities."""
    with resolving_alone(context, lake.open()) as look:
        return result(_facts_stored(look, context.partition_key, context.run.run_id))


@dg.asset(
    deps=[
        ENTITIES.name,
        ENTITY_ALIASES.name,
        *_batches_of(PAGE_FACTS.name, PAGE_LINKS.name, MODEL_RELATIONS),
    ],
    partitions_def=ENTITY_TYPES,
    group_name="entities",
    kinds={"parquet", "duckdb"},
    owners=[OWNER],
    code_version=FACTS_VERSION,
    description=table_description(ENTITY_RELATIONS),
    metadata=table_metadata(ENTITY_RELATIONS),
    retry_policy=RETRIES,
)
def entity_relations(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Collect what the type's entities have to do with others, and find these."""
    with resolving_alone(context, lake.open()) as look:
        return result(_relations_stored(look, context.partition_key, context.run.run_id))


def _facts_stored(look: Look, entity_type: str, run_id: str) -> Stored:
    started = perf_counter()
    footer, rows = store_facts(look, entity_type, run_id)
    told = large_metadata(
        look.lake,
        ENTITY_FACTS,
        entity_type,
        footer,
        counted="fact_key",
        seconds=perf_counter() - started,
    )
    return Stored(footer, {**told, **_standing(rows), "disputed": _count(rows["is_disputed"])})


def _relations_stored(look: Look, entity_type: str, run_id: str) -> Stored:
    started = perf_counter()
    footer, rows = store_relations(look, entity_type, run_id)
    told = large_metadata(
        look.lake,
        ENTITY_RELATIONS,
        entity_type,
        footer,
        counted="relation",
        seconds=perf_counter() - started,
    )
    return Stored(footer, {**told, **_standing(rows), "other_known": _count(pc.is_valid(rows["to_id"]))})


def _standing(rows: pa.Table) -> dict[str, int]:
    """How many rows have each status."""
    counted = rows["status"].value_counts().to_pylist()
    return {f"status: {each['values']}": each["counts"] for each in counted}


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


FACTS = Stage(entity_facts, stale_facts, _facts_stored)
RELATIONS = Stage(entity_relations, stale_relations, _relations_stored)
