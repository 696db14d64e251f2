"""A table's new file, and how it is told: as an asset's result, or as a materialization among several."""

from typing import Any, NamedTuple

import dagster as dg

from holocron_assets.lake.parquet import Footer


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
