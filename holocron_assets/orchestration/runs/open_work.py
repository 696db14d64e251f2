"""Work that Dagster has already: in runs that wait or go on, and in backfills with runs to request."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.definitions import defs
from holocron_assets.orchestration.assets.events import RANGE_TAGS, is_deferred, partitions_of_run
from holocron_assets.orchestration.sensors.run_requests import UNDER_WAY

if TYPE_CHECKING:
    from dagster._core.execution.backfill import PartitionBackfill

_OPEN = ("REQUESTED", "CANCELING", "FAILING")


def made_already(instance: dg.DagsterInstance, asset: str, known: Sequence[str]) -> dict[str, str]:
    """The partitions of an asset that a run or a backfill is to make, each with that run or backfill.

    Args:
        instance: knows runs and backfills.
        asset: the asset's name.
        known: its partitions, in order.
    """
    key, found = dg.AssetKey(asset), dict[str, str]()
    for backfill in _open_backfills(instance):
        found |= dict.fromkeys(_remaining(backfill).get(key) or (), f"backfill {backfill.backfill_id}")
    for run in instance.get_runs(RunsFilter(statuses=list(UNDER_WAY))):
        if key in _made_by(run):
            found |= dict.fromkeys(_partitions_of(run, known), f"run {run.run_id}")
    return found


def runs_waiting(instance: dg.DagsterInstance) -> int:
    """The number of queued runs, with those that open backfills have yet to request, for all assets."""
    queued = instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.QUEUED]))
    return queued + sum(_runs_to_come(instance, backfill) for backfill in _open_backfills(instance))


def runs_for(asset: str, known: Sequence[str], chosen: Collection[str]) -> int:
    """The number of runs for some partitions: one each; for assets that make several at once, one a range.

    Args:
        asset: the asset's name.
        known: all of its partitions, in order.
        chosen: those that are to be made.
    """
    policy = defs.resolve_asset_graph().get(dg.AssetKey(asset)).backfill_policy
    if policy is None or policy.max_partitions_per_run is not None:
        return len(chosen)
    wanted = frozenset(chosen)
    starts = (
        name in wanted and (place == 0 or known[place - 1] not in wanted) for place, name in enumerate(known)
    )
    return sum(starts)


def _open_backfills(instance: dg.DagsterInstance) -> "Iterator[PartitionBackfill]":
    return (one for one in instance.get_backfills() if one.status.value in _OPEN)


def _remaining(backfill: "PartitionBackfill") -> Mapping[dg.AssetKey, frozenset[str] | None]:
    """The partitions that a backfill has yet to request, by asset; None for an asset without partitions."""
    data = backfill.asset_backfill_data
    if data is None:
        names = frozenset(_remaining_of_job(backfill))
        return dict.fromkeys(_assets_of(backfill.job_name or ""), names)
    left = data.target_subset - data.requested_subset - data.failed_and_downstream_subset
    partitioned = left.partitions_subsets_by_asset_key.items()
    return {
        **{key: frozenset(subset.get_partition_keys()) for key, subset in partitioned if not subset.is_empty},
        **dict.fromkeys(left.non_partitioned_asset_keys),
    }


def _remaining_of_job(backfill: "PartitionBackfill") -> Sequence[str]:
    """The partitions that a backfill of a job has yet to request: it goes through them in order."""
    names, last = backfill.partition_names or (), backfill.last_submitted_partition_name
    return names[names.index(last) + 1 :] if last in names else names


def _runs_to_come(instance: dg.DagsterInstance, backfill: "PartitionBackfill") -> int:
    """Runs that a backfill has yet to request; as in Dagster, one for all assets that are made alike."""
    if backfill.asset_backfill_data is None:
        return len(_remaining_of_job(backfill))
    graph = defs.resolve_asset_graph()
    alike: dict[object, tuple[dg.AssetKey, frozenset[str] | None]] = {}
    for key, names in _remaining(backfill).items():
        node = graph.get(key)
        alike[node.partitions_def, names, node.backfill_policy] = key, names
    return sum(
        1 if names is None else runs_for(key.to_user_string(), _all_partitions(instance, key), names)
        for key, names in alike.values()
    )


def _all_partitions(instance: dg.DagsterInstance, key: dg.AssetKey) -> Sequence[str]:
    definition = defs.resolve_asset_graph().get(key).partitions_def
    return definition.get_partition_keys(dynamic_partitions_store=instance) if definition else ()


def _partitions_of(run: dg.DagsterRun, known: Sequence[str]) -> Sequence[str]:
    """The asset's partitions that a run is to make: those that it names, or a backfill's range."""
    if named := partitions_of_run(run):
        return named
    first, last = (run.tags.get(tag) for tag in RANGE_TAGS)
    if is_deferred(run) or first not in known or last not in known:
        return []
    return known[known.index(first) : known.index(last) + 1]


def _made_by(run: dg.DagsterRun) -> frozenset[dg.AssetKey]:
    return frozenset(run.asset_selection) if run.asset_selection else _assets_of(run.job_name)


def _assets_of(job_name: str) -> frozenset[dg.AssetKey]:
    jobs = {job.name: job for job in defs.resolve_all_job_defs()}
    job = jobs.get(job_name)
    return frozenset(job.asset_layer.executable_asset_keys) if job else frozenset()
