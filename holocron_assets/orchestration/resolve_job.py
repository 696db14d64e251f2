"""The job that makes the knowledge base: every stale stage of every type, with one look at the lake.

A person materializes one partition of an asset; sensors and `holocron run` start this job.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import dagster as dg

from holocron_assets.lake.paths import Lake
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.held_runs import ended_when_held, refuse_all_held
from holocron_assets.orchestration.names import ENTITIES_JOB
from holocron_assets.orchestration.partitions import TYPES
from holocron_assets.orchestration.resolve_stages import BY_SOURCE, IDENTITY, READ, TOLD, partitions_of
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.stages import Stage
from holocron_assets.orchestration.stored import materialization, resolving


@dg.op(
    description="Resolve every type of which anything changed; then names, statements, tags and reviews.",
    out=dg.Out(dg.Nothing),  # of anything else Dagster keeps a file a run
    retry_policy=RETRIES,
)
def resolve_types(
    context: dg.OpExecutionContext, lake: LakeResource
) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
    """Make what is stale, in the order in which it follows from each other.

    Each partition is materialized by itself, and one that fails does not keep the others from theirs.
    """
    failed = dict[str, Exception]()
    with ended_when_held(context), clear_failures(), resolving(lake.open()) as look:
        for stage, names in _in_order(look.lake):
            refuse_all_held(context, look.lake)
            # Yielded, since what is logged to the context is lost when the op fails.
            for name in names:
                with _kept_in(failed, name):
                    if name not in failed and stage.stale(look, [name]):
                        yield materialization(stage.asset, name, stage.store(look, name, context.run.run_id))
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


def _in_order(lake: Lake) -> Iterator[tuple[Stage, Sequence[str]]]:
    """Stages, each with partitions of which it may make those that are stale."""
    for stage in READ:
        yield stage, partitions_of(lake, stage)
    # Twice: a type may give a page up after the type that takes it was resolved.
    for entity_type in (*TYPES, *TYPES):
        for stage in IDENTITY:
            yield stage, [entity_type]
    for stage in (*TOLD, *BY_SOURCE):
        yield stage, partitions_of(lake, stage)


@contextmanager
def _kept_in(failed: dict[str, Exception], partition: str) -> Iterator[None]:
    """Keep a partition's error for the end, so that the others come to theirs."""
    try:
        with clear_failures():
            yield
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised when the others are done
        failed[partition] = error


def _raise(failed: dict[str, Exception]) -> None:
    """Raise what the op's retries may mend as it is, and else name all that failed."""
    for error in failed.values():
        if not isinstance(error, dg.Failure):
            raise error
    if failed:
        raise dg.Failure("; ".join(f"{name}: {error}" for name, error in failed.items()), allow_retries=False)
