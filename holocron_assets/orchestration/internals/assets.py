"""Assets: tags by which steps record events themselves, the content of the last events, the resolved graph.

Waits for: a public setting that keeps Dagster from recording a materialization for each partition of a run's
range; public calls that give the data versions of many partitions at once, an asset's parents, partitions and
backfill policy, and the assets of a job; an exported name of the type that `define_asset_job` returns.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

if TYPE_CHECKING:
    from dagster._core.definitions.assets.graph.asset_graph import AssetNode


DEFERRED: Mapping[str, str] = {"dagster/defer_asset_events": "true"}
"""Tag of a job whose steps themselves record which files they replaced. Dagster does not document it."""

RANGE_TAGS = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
"""Tags of a run over several partitions.

A run needs these tags or a partition. Without either, a step that follows another fails.
"""

DATA_VERSION_TAG = "dagster/data_version"
"""Tag of a materialization: the data version of what was made."""


def last_data_versions(
    instance: dg.DagsterInstance, asset: dg.AssetKey, partitions: Sequence[str]
) -> dict[str, str | None]:
    """The data version that the last materialization of each partition names.

    Dagster has no public call that reads it for many partitions at once.

    Args:
        instance: knows the events.
        asset: the asset.
        partitions: names of the partitions.
    """
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        asset, dg.DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION_TAG], list(partitions)
    )
    return {name: own.get(DATA_VERSION_TAG) for name, own in tags.items()}


AssetJob = UnresolvedAssetJobDefinition
"""What `dagster.define_asset_job` returns. Dagster does not export the type."""


def assets_in_order(defs: dg.Definitions) -> Sequence["AssetNode"]:
    """Every asset, by its key. Dagster has no public call that gives an asset with its parents."""
    return sorted(defs.resolve_asset_graph().asset_nodes, key=lambda node: node.key)


def asset_named(defs: dg.Definitions, key: dg.AssetKey) -> "AssetNode":
    """An asset. Dagster has no public call that gives its partitions and its backfill policy."""
    return defs.resolve_asset_graph().get(key)


def makeable_assets(defs: dg.Definitions) -> set[dg.AssetKey]:
    """The assets that a run can make. Dagster has no public call that leaves the others out."""
    return set(defs.resolve_asset_graph().executable_asset_keys)


def assets_of_job(job: dg.JobDefinition) -> frozenset[dg.AssetKey]:
    """The assets that a job makes. Dagster has no public call that names them."""
    return frozenset(job.asset_layer.selected_asset_keys)


def makeable_assets_of_job(job: dg.JobDefinition) -> frozenset[dg.AssetKey]:
    """The assets that runs of a job can make. Dagster has no public call that leaves the others out."""
    return frozenset(job.asset_layer.executable_asset_keys)


def checks_of_job(job: dg.JobDefinition) -> set[str]:
    """Names of the checks in a job. Dagster has no public call that names them."""
    return {key.name for key in job.asset_layer.asset_graph.asset_check_keys}
