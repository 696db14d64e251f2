"""Launching jobs as `dagster job launch` does, with the exit code that it lacks."""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from time import sleep, time
from typing import Any

from dagster import DagsterInstance, DagsterRunStatus

from holocron_assets.crawl.sources.files import source_names
from holocron_assets.definitions import defs
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.events import makes_what_is_stale
from holocron_assets.orchestration.internals.assets import RANGE_TAGS
from holocron_assets.orchestration.internals.instance import open_instance
from holocron_assets.orchestration.internals.storage import daemon_last_heard
from holocron_assets.orchestration.model_runs.what_to_ask import RESOURCE
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.orchestration.runs.reaper import reaping
from holocron_assets.planning.job_names import (
    ADD_PAGES_JOB,
    GPU_JOB,
    PARTITION_TAG,
    PARTITIONS_TAG,
    REFRESH_JOB,
    SOURCE_TAG,
)
from holocron_assets.settings import PROJECT_FOLDER, data_folder, sources_folder

_POLL_SECONDS = 0.5
_QUEUE_DAEMON = "QUEUED_RUN_COORDINATOR"
_SHOWN = 5
_SILENT_SECONDS = 180  # a daemon shows twice a minute that it lives


class WrongTargetError(PermanentError):
    """There is no such job, source or partition, or the job takes no such config; names the valid ones."""


@dataclass(frozen=True)
class _Configured:
    """Where a job's config is in its run config, and which keys are required and allowed."""

    place: tuple[str, str]
    needed: frozenset[str]
    allowed: frozenset[str]

    def run_config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The run config with this config in its place."""
        kind, name = self.place
        return {kind: {name: {"config": dict(config)}}}


_CONFIGURED: Mapping[str, _Configured] = {
    REFRESH_JOB: _Configured(
        ("ops", "refresh_sources"), frozenset(), frozenset({"source", "maximum_batches"})
    ),
    ADD_PAGES_JOB: _Configured(
        ("ops", "add_given_pages"), frozenset({"source", "titles"}), frozenset({"source", "titles"})
    ),
}
_OPTIONS = {"source": "--source", "titles": "--title", "maximum_batches": "--maximum-batches"}
_WORKSPACE = PROJECT_FOLDER / "workspace.yaml"


def launch_job(  # noqa: PLR0913 - what is launched, and how it is reported
    job: str,
    *,
    config: Mapping[str, Any],
    partition: str | None,
    wait: bool,
    report: Callable[[str], None],
    tags: Mapping[str, str] | None = None,
) -> str | None:
    """Launch a job through the run queue.

    Args:
        job: its name.
        config: the job's config; empty for a job that takes none.
        partition: the partition of a partitioned job.
        wait: whether to wait for the run's end.
        report: called with the run's id and state.
        tags: tags that limits use.

    Returns:
        Why the launch or the run failed; None if neither did.

    Raises:
        WrongTargetError: no such job, source or partition, or the job takes no such config.
    """
    _refuse_wrong_target(job, config, partition)
    run_id = str(uuid.uuid4())
    with open_instance() as instance:
        if partition:
            _refuse_unknown_partition(instance, job, partition)
        command = [sys.executable, "-m", "dagster", "job", "launch", "-w", str(_WORKSPACE), "-j", job]
        command += ["--run-id", run_id]
        if config:
            command += ["--config-json", json.dumps(_configured(job).run_config(config))]
        own = {_partition_tag(job): partition, SOURCE_TAG: config.get("source")}
        if all_tags := {**(tags or {}), **{tag: value for tag, value in own.items() if value}}:
            command += ["--tags", json.dumps(all_tags)]
        launched = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
        if launched.returncode:
            return f"job {job} was not launched: {launched.stderr.strip() or launched.stdout.strip()}"
        report(f"launched {job}: run {run_id}")
        if wait:
            with reaping(instance, Lake(data_folder())):  # the daemon may end together with the run
                return _outcome(instance, job, run_id, report)
        if not _daemon_lives(instance):
            report("It stays queued until a daemon takes it, and none runs: `make ui` starts one.")
        return None


def _outcome(instance: DagsterInstance, job: str, run_id: str, report: Callable[[str], None]) -> str | None:
    """Wait for a run; return why it failed, or why it cannot even start."""
    while (run := instance.get_run_by_id(run_id)) is None or not run.is_finished:
        if run and run.status == DagsterRunStatus.QUEUED and not _daemon_lives(instance):
            return f"run {run_id} of {job} stays queued: no daemon takes it. `make ui` starts one."
        sleep(_POLL_SECONDS)
    if run.status == DagsterRunStatus.SUCCESS:
        report(f"run {run_id} succeeded")
        return None
    return f"run {run_id} of {job} ended as {run.status.value}: {failure_of(instance, run_id).reason}"


def _daemon_lives(instance: DagsterInstance) -> bool:
    last = daemon_last_heard(instance, _QUEUE_DAEMON)
    return last is not None and abs(time() - last) < _SILENT_SECONDS  # a clock may have been ahead


def _refuse_wrong_target(job: str, config: Mapping[str, Any], partition: str | None) -> None:
    every_job = defs.resolve_all_job_defs()
    jobs = {definition.name: definition for definition in every_job if not definition.name.startswith("__")}
    if job not in jobs:
        raise WrongTargetError(f"there is no job {job!r}; there are {', '.join(sorted(jobs))}")
    takes = _configured(job)
    if wrong := config.keys() - takes.allowed:
        raise WrongTargetError(f"job {job} takes no {_options(wrong)}")
    if lacking := takes.needed - config.keys():
        raise WrongTargetError(f"job {job} needs {_options(lacking)}")
    partitioned = jobs[job].partitions_def is not None
    if partitioned != bool(partition) and not (partitioned and makes_what_is_stale(jobs[job].run_tags)):
        raise WrongTargetError(f"job {job} {'needs' if partitioned else 'takes no'} --partition")
    if (source := config.get("source")) is not None:
        _refuse_unknown("there is no source", source, source_names(sources_folder()))


def _refuse_unknown_partition(instance: DagsterInstance, job: str, partition: str) -> None:
    """Refuse values with which the run would fail later."""
    definition = defs.resolve_job_def(job).partitions_def
    known = definition.get_partition_keys(dynamic_partitions_store=instance) if definition else ()
    _refuse_unknown(f"job {job} has no partition", partition, known)


def _partition_tag(job: str) -> str:
    """The tag that names the partition: Dagster refuses its own beside the range of a job's partitions."""
    return PARTITIONS_TAG if RANGE_TAGS[0] in defs.resolve_job_def(job).run_tags else PARTITION_TAG


def _refuse_unknown(lacking: str, name: str, known: Sequence[str]) -> None:
    if name in known:
        return
    near = get_close_matches(name, known) or sorted(known)[:_SHOWN]
    more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
    raise WrongTargetError(f"{lacking} {name!r}; there is {', '.join(near) or 'none yet'}{more}")


def _configured(job: str) -> _Configured:
    if job == GPU_JOB or job.startswith(f"{GPU_JOB}_"):  # one for each pool of models
        return _Configured(("resources", RESOURCE), frozenset(), frozenset({"model"}))
    return _CONFIGURED.get(job, _Configured(("", ""), frozenset(), frozenset()))


def _options(names: Iterable[str]) -> str:
    return " and ".join(sorted(_OPTIONS[name] for name in names))
