"""Backfills by command: Dagster's own, with guards. What runs already is left out, and too much is refused.

Dagster would take any number of partitions, and any of them twice. Its backfills show in the UI like those
that are started there, and can be ended there.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.crawl.batches import source_of
from holocron_assets.definitions import defs
from holocron_assets.lake.errors import PermanentError
from holocron_assets.lake.paths import Lake
from holocron_assets.operations.controls import refuse_held
from holocron_assets.orchestration.names import PARTITION_TAG, SOURCE_TAG
from holocron_assets.orchestration.run_requests import UNDER_WAY
from holocron_assets.settings import PROJECT_FOLDER

_OPEN = ("REQUESTED", "CANCELING", "FAILING")
_GRAPHQL = "from dagster_graphql.cli import main; main()"  # it is no module that Python runs
_MUTATION = """
mutation ($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on Error { message }
  }
}
"""


class BackfillRefusedError(Exception):
    """A backfill that is not started; the message says why, and what can be done."""


@dataclass(frozen=True)
class Guards:
    """What a backfill may ask for.

    Attributes:
        most_runs: runs that one backfill may ask for.
        most_queued: runs that may be queued already when it is started.
    """

    most_runs: int = 100
    most_queued: int = 100


@dataclass(frozen=True)
class Backfill:
    """A backfill that is about to be started.

    Attributes:
        asset: the asset's name.
        partitions: what is to be made, in order.
        left_out: partitions that were meant too, and the run or backfill that makes them already.
        runs: how many runs that takes.
        queued: runs that wait in the queue, or that other backfills will put there.
    """

    asset: str
    partitions: Sequence[str]
    left_out: Mapping[str, str]
    runs: int
    queued: int


def asset_partitions(instance: dg.DagsterInstance, asset: str) -> Sequence[str]:
    """The partitions that an asset has, in order.

    Raises:
        PermanentError: there is no such asset, it cannot be made by itself, or it has no partitions.
    """
    partitions = _definition(asset).get_partition_keys(dynamic_partitions_store=instance)
    if not partitions:
        raise PermanentError(f"asset {asset!r} has no partition yet")
    return partitions


def failed_partitions(instance: dg.DagsterInstance, asset: str, partitions: Sequence[str]) -> list[str]:
    """Those of some partitions whose last run failed."""
    statuses = instance.get_status_by_partition(dg.AssetKey(asset), partitions, _definition(asset)) or {}
    return [name for name in partitions if (status := statuses.get(name)) and status.value == "FAILED"]


def plan_backfill(instance: dg.DagsterInstance, asset: str, partitions: Sequence[str]) -> Backfill:
    """What a backfill of some partitions comes to, as things stand.

    Args:
        instance: knows the asset's partitions, the queue, and what runs.
        asset: the asset's name.
        partitions: what is meant, of those that the asset has.

    Raises:
        PermanentError: there is no such asset.
    """
    known, meant = asset_partitions(instance, asset), set(partitions)
    key = dg.AssetKey(asset)
    to_come = {name: f"backfill {one}" for one, names in _to_come(instance, key).items() for name in names}
    busy = {**to_come, **_under_way(instance, key)}
    free = [name for name in known if name in meant and name not in busy]
    return Backfill(
        asset,
        free,
        {name: busy[name] for name in known if name in meant and name in busy},
        _runs_for(asset, known, free),
        instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.QUEUED])) + len(to_come),
    )


def refuse_unguarded(lake: Lake, backfill: Backfill, guards: Guards) -> None:
    """Refuse a backfill that would flood the queue, or do what a person holds back.

    Raises:
        BackfillRefusedError: it asks for too many runs, too many are queued, or nothing is left to do.
        HeldBackError: a person holds back what it is about.
    """
    if not backfill.partitions:
        why = f": {len(backfill.left_out)} are queued or running already" if backfill.left_out else ""
        raise BackfillRefusedError(f"nothing is left to do{why}")
    if backfill.runs > guards.most_runs:
        raise BackfillRefusedError(
            f"it takes {backfill.runs} runs, and may ask for {guards.most_runs} at once: name fewer "
            f"partitions, or say --most-runs {backfill.runs}"
        )
    if backfill.queued > guards.most_queued:
        raise BackfillRefusedError(
            f"{backfill.queued} runs wait already, and it may be started behind {guards.most_queued} at "
            f"most: wait, or say --most-queued {backfill.queued}"
        )
    interrogation = backfill.asset.removeprefix("derived_").removeprefix("shadow_")
    for source in sorted({_source_of(name) for name in backfill.partitions}):
        refuse_held(lake, source=source, interrogation=interrogation)


def launch_backfill(backfill: Backfill, tags: Mapping[str, str]) -> str:
    """Have Dagster start a backfill, and give its id. A daemon makes its runs.

    Raises:
        PermanentError: Dagster refused it.
    """
    sources = {_source_of(name) for name in backfill.partitions}
    known_by = {SOURCE_TAG: sources.pop()} if len(sources) == 1 else {}
    params = {
        "assetSelection": [{"path": [backfill.asset]}],
        "partitionNames": list(backfill.partitions),
        "title": f"holocron backfill {backfill.asset}",
        "tags": [{"key": key, "value": value} for key, value in {**known_by, **tags}.items()],
    }
    answer = _ask({"params": params})["launchPartitionBackfill"]
    if answer["__typename"] != "LaunchBackfillSuccess":
        raise PermanentError(f"Dagster refused the backfill: {answer.get('message', answer['__typename'])}")
    return str(answer["backfillId"])


def _ask(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Ask Dagster by GraphQL, over the instance that is open in this process."""
    command = [sys.executable, "-c", _GRAPHQL, "-w", str(PROJECT_FOLDER / "workspace.yaml")]
    command += ["-t", _MUTATION, "-v", json.dumps(variables)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    answer = json.loads(lines[-1]) if lines else {}
    if not answer.get("data"):
        raise PermanentError(f"Dagster did not take it: {done.stderr.strip() or done.stdout.strip()}")
    found: dict[str, Any] = answer["data"]
    return found


def _source_of(partition: str) -> str:
    return source_of(partition) or partition


def _definition(asset: str) -> dg.PartitionsDefinition[str]:
    graph = defs.resolve_asset_graph()
    key = dg.AssetKey(asset)
    names = sorted(one.to_user_string() for one in graph.executable_asset_keys)
    if asset not in names:
        near = ", ".join(get_close_matches(asset, names) or names)
        raise PermanentError(f"no asset is called {asset!r} that a run could make; there are {near}")
    found = graph.get(key).partitions_def
    if found is None:
        raise PermanentError(f"asset {asset!r} has no partitions: materialize it with `holocron launch`")
    return found


def _runs_for(asset: str, known: Sequence[str], chosen: Sequence[str]) -> int:
    """Runs that a backfill takes: one a partition; of assets that take any number at once, one a range."""
    policy = defs.resolve_asset_graph().get(dg.AssetKey(asset)).backfill_policy
    if policy is None or policy.max_partitions_per_run is not None:
        return len(chosen)
    wanted = set(chosen)
    starts = Counter(
        name in wanted and (place == 0 or known[place - 1] not in wanted) for place, name in enumerate(known)
    )
    return starts[True]


def _under_way(instance: dg.DagsterInstance, key: dg.AssetKey) -> dict[str, str]:
    """The partitions of an asset that runs are to make, and the run of each."""
    found = {}
    for run in instance.get_runs(RunsFilter(statuses=list(UNDER_WAY))):
        partition = run.tags.get(PARTITION_TAG)
        if partition and key in _made_by(run):
            found[partition] = f"run {run.run_id}"
    return found


def _made_by(run: dg.DagsterRun) -> frozenset[dg.AssetKey]:
    if run.asset_selection:
        return frozenset(run.asset_selection)
    jobs = {job.name: job for job in defs.resolve_all_job_defs()}
    job = jobs.get(run.job_name)
    return frozenset(job.asset_layer.executable_asset_keys) if job else frozenset()


def _to_come(instance: dg.DagsterInstance, key: dg.AssetKey) -> dict[str, set[str]]:
    """The partitions of an asset that open backfills have yet to make runs for, by backfill."""
    found = {}
    for backfill in instance.get_backfills():
        data = backfill.asset_backfill_data
        if data is None or backfill.status.value not in _OPEN or key not in data.target_subset.asset_keys:
            continue
        target, requested = (
            subset.get_partitions_subset(key) if key in subset.asset_keys else None
            for subset in (data.target_subset, data.requested_subset)
        )
        names = set(target.get_partition_keys()) if target else set()
        found[backfill.backfill_id] = names - (set(requested.get_partition_keys()) if requested else set())
    return found
