"""A table's new file, and how it is told: as an asset's result, or as a materialization among several."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import dagster as dg

from holocron_assets.lake.parquet import Footer
from holocron_assets.lake.paths import Lake
from holocron_assets.orchestration.failures import clear_failures
from holocron_assets.orchestration.held_runs import ended_when_held, refuse_all_held
from holocron_assets.resolve.look import Look, look_at


class Stored(NamedTuple):
    """One partition's new file, and what its materialization says."""

    footer: Footer
    metadata: dict[str, Any]


def result(stored: Stored) -> dg.MaterializeResult[None]:
    """What an asset gives back."""
    return dg.MaterializeResult(
        metadata=stored.metadata, data_version=dg.DataVersion(stored.footer.content_id)
    )


def materialization(asset: dg.AssetsDefinition, partition: str, stored: Stored) -> dg.AssetMaterialization:
    """What an op that makes several partitions tells of one."""
    return dg.AssetMaterialization(
        asset.key,
        partition=partition,
        metadata=stored.metadata,
        tags={"dagster/data_version": stored.footer.content_id},
    )


@contextmanager
def resolving(lake: Lake) -> Iterator[Look]:
    """One look at the lake at a time: who resolves anew must see what was resolved before."""
    with lake.lock("entities"), look_at(lake) as look:
        yield look


@contextmanager
def resolving_alone(context: dg.AssetExecutionContext, lake: Lake) -> Iterator[Look]:
    """The same for an asset that somebody materializes by itself: it heeds holds and fails as the job."""
    with ended_when_held(context), clear_failures(), resolving(lake) as look:
        refuse_all_held(context, lake)
        yield look
