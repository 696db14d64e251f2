"""Work that Dagster has already: in runs that wait or go on, and in backfills with runs left to request."""

from collections.abc import Collection, Mapping, Sequence

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.definitions import defs
from holocron_assets.orchestration.assets.events import is_deferred, partitions_of_run
from holocron_assets.orchestration.internals.assets import (
    RANGE_TAGS,
    asset_named,
    makeable_assets,
    makeable_assets_of_job,
)
from holocron_assets.orchestration.internals.backfills import OpenBackfill, open_backfills
from holocron_assets.orchestration.internals.runs import count_runs
from holocron_assets.orchestration.runs.requesting import UNDER_WAY


def made_already(instance: dg.DagsterInstance, asset: str, known: Sequence[str]) -> dict[str, str]:
    """The partitions of an asset that a run or a backfill is to make, each with that run or backfill.

    Args:
        instance: knows runs and backfills.
        asset: the asset's name.
        known: its partitions, in order.
    """
    key, found = dg.AssetKey(asset), dict[str, str]()
    for backfill in open_backfills(instance):
        found |= dict.fromkeys(_remaining(backfill).get(key) or (), f"backfill {backfill.id}")
    for record in instance.get_run_records(RunsFilter(statuses=list(UNDER_WAY))):
        run = record.dagster_run
        if key in _made_by(run):
            found |= dict.fromkeys(_partitions_of(run, known), f"run {run.run_id}")
    return found


def runs_waiting(instance: dg.DagsterInstance) -> int:
    """How many runs of any kind are queued, or are left to request for open backfills."""
    queued = count_runs(instance, RunsFilter(statuses=[DagsterRunStatus.QUEUED]))
    return queued + sum(_runs_to_come(instance, backfill) for backfill in open_backfills(instance))


def runs_for(asset: str, known: Sequence[str], chosen: Collection[str]) -> int:
    """The number of runs for some partitions: one each; for assets that make several at once, one per range.

    Args:
        asset: the asset's name.
        known: all of its partitions, in order.
        chosen: those that are to be made.
    """
    policy = asset_named(defs, dg.AssetKey(asset)).backfill_policy
    if policy is None or policy.max_partitions_per_run is not None:
        return len(chosen)
    wanted = frozenset(chosen)
    starts = (
        name in wanted and (place == 0 or known[place - 1] not in wanted) for place, name in enumerate(known)
    )
    return sum(starts)


def _remaining(backfill: OpenBackfill) -> Mapping[dg.AssetKey, frozenset[str] | None]:
    """The partitions that a backfill has yet to request, by asset; None for an asset without partitions."""
    if backfill.job is None:
        return backfill.of_assets
    return dict.fromkeys(_assets_of(backfill.job), frozenset(backfill.of_job))


def _runs_to_come(instance: dg.DagsterInstance, backfill: OpenBackfill) -> int:
    """Runs that a backfill has yet to request. One run makes all assets of equal partitions and policy.

    No run makes an asset that is gone: that of an interrogation whose file was removed, say.
    """
    if backfill.job is not None:
        return len(backfill.of_job)
    alike: dict[object, tuple[dg.AssetKey, frozenset[str] | None]] = {}
    known, left = makeable_assets(defs), _remaining(backfill)
    for key, names in ((key, names) for key, names in left.items() if key in known):
        node = asset_named(defs, key)
        alike[node.partitions_def, names, node.backfill_policy] = key, names
    return sum(
        1 if names is None else runs_for(key.to_user_string(), _all_partitions(instance, key), names)
        for key, names in alike.values()
    )


def _all_partitions(instance: dg.DagsterInstance, key: dg.AssetKey) -> Sequence[str]:
    definition = asset_named(defs, key).partitions_def
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
    return makeable_assets_of_job(job) if job else frozenset()
