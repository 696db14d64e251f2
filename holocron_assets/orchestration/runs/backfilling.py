"""Backfills by command: Dagster's own, with guards. Running work is left out, and too much is refused.

Dagster would take any number of partitions, and any of them twice. These backfills show in the UI like those
that are started there, and can be ended there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.decisions.controls import refuse_held
from holocron_assets.definitions import defs
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.errors import HolocronError, PermanentError
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.orchestration.assets.entities import failures_of_steps
from holocron_assets.orchestration.assets.events import partitions_of_run
from holocron_assets.orchestration.assets.partitions import (
    BATCHES,
    BATCHES_OF_FILES,
    SOURCES,
    SOURCES_OF_FILES,
)
from holocron_assets.orchestration.internals.assets import (
    DEFERRED,
    asset_named,
    assets_of_job,
    makeable_assets,
)
from holocron_assets.orchestration.internals.backfills import start_backfill
from holocron_assets.orchestration.runs.open_work import made_already, runs_for, runs_waiting
from holocron_assets.planning.job_names import LEARN_JOB, SOURCE_TAG, SOURCES_JOB
from holocron_assets.settings import PROJECT_FOLDER

_ENDED = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE)


class BackfillRefusedError(HolocronError):
    """A backfill is not started; the message says why, and what can be done."""


@dataclass(frozen=True)
class Guards:
    """Limits of a backfill.

    Attributes:
        most_runs: runs that one backfill may request.
        most_queued: runs that may be queued already when it is started.
    """

    most_runs: int = 100
    most_queued: int = 100


@dataclass(frozen=True)
class Backfill:
    """A backfill that is about to be started.

    Attributes:
        asset: the asset's name.
        partitions: the partitions to make, in order.
        left_out: chosen partitions that are left out, with the run or backfill that makes them already.
        runs: how many runs it takes.
        queued: runs that wait in the queue, or that open backfills of any asset will put there.
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
    """The partitions whose last run failed, be it a run of our jobs or of Dagster's own."""
    statuses = instance.get_status_by_partition(dg.AssetKey(asset), partitions, _definition(asset)) or {}
    failed = {name for name, status in statuses.items() if status and status.value == "FAILED"}
    failed |= _failed_in_jobs(instance, asset, partitions)
    return [name for name in partitions if name in failed]


def _failed_in_jobs(instance: dg.DagsterInstance, asset: str, partitions: Sequence[str]) -> set[str]:
    """Partitions whose last run by a job of ours failed; Dagster keeps no such state."""
    key, last = dg.AssetKey(asset), dict[str, dg.RunRecord]()
    for job in defs.resolve_all_job_defs():
        if not _is_of(job, key) or not DEFERRED.items() <= job.run_tags.items():
            continue
        for record in instance.get_run_records(RunsFilter(job_name=job.name, statuses=_ENDED)):
            for name in _tried_by(instance, record.dagster_run, partitions):
                if name not in last or record.create_timestamp > last[name].create_timestamp:
                    last[name] = record
    return {name for name, record in last.items() if _failed_of(instance, record.dagster_run, asset, name)}


def _tried_by(instance: dg.DagsterInstance, run: dg.DagsterRun, partitions: Sequence[str]) -> Sequence[str]:
    """The partitions of which a run's end says whether it failed at them.

    A run over sources that names none makes all that are stale. If it failed, its steps say at which, or it
    says nothing. A run that asks models chooses some partitions, and does not say which.
    """
    if named := partitions_of_run(run):
        return named
    if run.job_name not in {LEARN_JOB, SOURCES_JOB}:
        return ()
    is_said = run.status == DagsterRunStatus.SUCCESS or failures_of_steps(instance, run.run_id)
    return partitions if is_said else ()


def _failed_of(instance: dg.DagsterInstance, run: dg.DagsterRun, asset: str, partition: str) -> bool:
    """Whether a run failed to make an asset's partition; a run over several names it in its steps."""
    if run.status != DagsterRunStatus.FAILURE:
        return False
    by_step = failures_of_steps(instance, run.run_id)
    return partition in by_step.get(asset, ()) if by_step else True


def plan_backfill(instance: dg.DagsterInstance, asset: str, partitions: Sequence[str]) -> Backfill:
    """A backfill of some partitions, by the present state.

    Args:
        instance: knows the asset's partitions, the queue, and runs under way.
        asset: the asset's name.
        partitions: the chosen partitions of the asset.

    Raises:
        PermanentError: there is no such asset.
    """
    known, meant = asset_partitions(instance, asset), set(partitions)
    busy = made_already(instance, asset, known)
    free = [name for name in known if name in meant and name not in busy]
    return Backfill(
        asset,
        free,
        {name: busy[name] for name in known if name in meant and name in busy},
        runs_for(asset, known, free),
        runs_waiting(instance),
    )


def refuse_unguarded(lake: Lake, backfill: Backfill, guards: Guards) -> None:
    """Refuse a backfill that would flood the queue, or do work that a person holds back.

    Raises:
        BackfillRefusedError: it requests too many runs, too many are queued, or nothing is left to do.
        HeldBackError: a person holds its work back.
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
            f"{backfill.queued} runs wait already, and this backfill allows {guards.most_queued}: try "
            f"again when fewer wait, or give --most-queued {backfill.queued}"
        )
    # By its table: an asset of entities may have the name of an interrogation.
    named = {one.table.name: one.name for one in load_interrogations()}
    for source in tuple(_sources(backfill)) or (None,):
        refuse_held(lake, source=source, interrogation=named.get(backfill.asset))


def launch_backfill(backfill: Backfill, tags: Mapping[str, str]) -> str:
    """Have Dagster start a backfill, and return its id. A daemon makes its runs.

    Raises:
        PermanentError: Dagster refused it.
    """
    params = {
        "assetSelection": [{"path": [backfill.asset]}],
        "partitionNames": list(backfill.partitions),
        "title": f"holocron backfill {backfill.asset}",
        "tags": [{"key": key, "value": value} for key, value in {**source_tag(backfill), **tags}.items()],
    }
    return start_backfill(PROJECT_FOLDER / "workspace.yaml", params)


def source_of_partition(asset: str, partition: str) -> str | None:
    """The source that a partition of an asset belongs to; None of an entity type.

    Raises:
        PermanentError: there is no such asset, or it has no partitions.
    """
    definition = _definition(asset)
    if definition in (SOURCES, SOURCES_OF_FILES):
        return partition
    return source_of(partition) if definition in (BATCHES, BATCHES_OF_FILES) else None


def source_tag(backfill: Backfill) -> dict[str, str]:
    """The tag of a backfill's source, if it has a single one."""
    sources = _sources(backfill)
    return {SOURCE_TAG: sources[0]} if len(sources) == 1 else {}


def _sources(backfill: Backfill) -> list[str]:
    found = {source_of_partition(backfill.asset, name) for name in backfill.partitions}
    return sorted(name for name in found if name)


def _definition(asset: str) -> dg.PartitionsDefinition[str]:
    key = dg.AssetKey(asset)
    names = sorted(one.to_user_string() for one in makeable_assets(defs))
    if asset not in names:
        near = ", ".join(get_close_matches(asset, names) or names)
        raise PermanentError(f"no asset is called {asset!r} that a run could make; there are {near}")
    found = asset_named(defs, key).partitions_def
    if found is None:
        makes = [f"`holocron launch {job.name}`" for job in defs.resolve_all_job_defs() if _is_of(job, key)]
        raise PermanentError(f"asset {asset!r} has no partitions: {makes[0] if makes else 'the UI'} makes it")
    return found


def _is_of(job: dg.JobDefinition, asset: dg.AssetKey) -> bool:
    """Whether a job makes an asset, and is not Dagster's own, which makes every one."""
    return asset in assets_of_job(job) and not job.name.startswith("__")
