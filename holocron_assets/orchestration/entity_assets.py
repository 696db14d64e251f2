"""The knowledge base's assets, partitioned by entity type: identity is only ever decided inside one type.

A person materializes one type; sensors and `holocron run` resolve all stale types in one run of
`resolve_entities`, which looks at the lake once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import dagster as dg
from filelock import FileLock

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_CANDIDATES, PAGE_SIGNALS
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.metadata import (
    OWNER,
    table_description,
    table_metadata,
    written_metadata,
)
from holocron_assets.orchestration.names import ENTITIES_JOB
from holocron_assets.orchestration.pair_assets import entity_pairs, pairs_stored
from holocron_assets.orchestration.partitions import ENTITY_TYPES
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stored import Stored, materialization, result
from holocron_assets.resolve.look import Look, look_at
from holocron_assets.resolve.store import (
    ALIASES_VERSION,
    ENTITIES_VERSION,
    stale_aliases,
    stale_entities,
    stale_pairs,
    store_aliases,
    store_entities,
)

_EVERY_BATCH = dg.AllPartitionMapping()
_TYPES = frozenset(load_taxonomy().entity_worthy_types)


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
    with clear_failures(), _resolving(lake.open()) as look:
        return result(_entities_stored(look, context.partition_key, context.run.run_id))


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
    with clear_failures(), _resolving(lake.open()) as look:
        return result(_aliases_stored(look, context.partition_key))


@dg.op(
    description="Resolve every type whose candidates, redirects or policy changed; then compare names.",
    out=dg.Out(dg.Nothing),  # of anything else Dagster keeps a file a run
    retry_policy=RETRIES,
)
def resolve_types(
    context: dg.OpExecutionContext, lake: LakeResource
) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
    """Make stale types' entities, then the names, which depend on all types' entities, then pairs of a name.

    Each type is materialized by itself, and one that fails does not keep the others from theirs.
    """
    types, run_id, failed = sorted(_TYPES), context.run.run_id, dict[str, Exception]()
    with clear_failures(), _resolving(lake.open()) as look:
        # Yielded, since what is logged to the context is lost when the op fails.
        for name in stale_entities(look, types):
            with _kept_in(failed, name):
                yield materialization(entities, name, _entities_stored(look, name, run_id))
        for name in stale_aliases(look, types):
            if name not in failed:
                with _kept_in(failed, name):
                    yield materialization(entity_aliases, name, _aliases_stored(look, name))
        for name in stale_pairs(look.lake, types):
            if name not in failed:
                with _kept_in(failed, name):
                    yield materialization(entity_pairs, name, pairs_stored(look.lake, name))
    _raise(failed)
    yield dg.Output(None)


@dg.job(
    name=ENTITIES_JOB,
    description="Resolve and promote the entities of all stale types, from the candidates of every batch.",
    executor_def=dg.in_process_executor,
)
def resolve_entities() -> None:
    """See `resolve_types`."""
    resolve_types()


@contextmanager
def _resolving(lake: Lake) -> Iterator[Look]:
    """One look at the lake at a time: who resolves anew must see what was resolved before."""
    with FileLock(lake.locks / "entities.lock"), look_at(lake) as look:
        yield look


def _entities_stored(look: Look, entity_type: str, run_id: str) -> Stored:
    started = perf_counter()
    footer, rows, changes = store_entities(
        look, entity_type, entity_types=_TYPES, now=utc_now(), run_id=run_id
    )
    current = [row for row in rows if row["valid_to"] is None]
    seconds = perf_counter() - started
    return Stored(
        footer,
        {
            **written_metadata(footer, current, counted="state", seconds=seconds, titles="name"),
            "entities": len(current),
            "history_rows": len(rows),
            "for_review": sum(row["review_reason"] is not None for row in current),
            "new": changes.new,
            "changed": changes.changed,
            "suppressed": changes.suppressed,
            "returned": changes.returned,
            "unchanged": changes.unchanged,
        },
    )


def _aliases_stored(look: Look, entity_type: str) -> Stored:
    started = perf_counter()
    footer, rows = store_aliases(look, entity_type)
    seconds = perf_counter() - started
    return Stored(footer, written_metadata(footer, rows, counted="kind", seconds=seconds, titles="alias"))


@contextmanager
def _kept_in(failed: dict[str, Exception], entity_type: str) -> Iterator[None]:
    """Keep a type's error for the end, so that the other types come to theirs."""
    try:
        with clear_failures():
            yield
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised when the others are done
        failed[entity_type] = error


def _raise(failed: dict[str, Exception]) -> None:
    """Raise what the op's retries may mend as it is, and else name all that failed."""
    for error in failed.values():
        if not isinstance(error, dg.Failure):
            raise error
    if failed:
        raise dg.Failure("; ".join(f"{name}: {error}" for name, error in failed.items()), allow_retries=False)
