"""The graph of assets as Dagster resolved it, and the type of a job that is not resolved yet.

Waits for: public calls that give an asset's parents, partitions and backfill policy, and the assets of a job;
and an exported name of the type that `define_asset_job` returns.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

if TYPE_CHECKING:
    from dagster._core.definitions.assets.graph.asset_graph import AssetNode

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
