"""Upkeep: it keeps the lake and Dagster's storage quick to read, and makes no asset."""

from collections.abc import Sequence

import dagster as dg

from holocron_assets.crawl.files.collecting import collect, collection_is_due
from holocron_assets.crawl.leftovers import batches_with_leftovers, clear_leftovers
from holocron_assets.crawl.sources.settings import CronTimes
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.journals.packing import journals_are_due, pack_journals
from holocron_assets.lake.packs.compaction import CompactionUnderWayError, compact
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.internals.compute_logs import forget_tick_logs, tick_logs_are_due
from holocron_assets.orchestration.internals.retention import forget_old_runs, old_runs_are_due
from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.held import ended_when_held, refuse_all_held
from holocron_assets.orchestration.runs.requesting import is_under_way, run_requests
from holocron_assets.orchestration.runs.retries import LAKE
from holocron_assets.planning.job_names import COMPACTION_JOB, UPKEEP_JOB
from holocron_assets.planning.repair import repair_all, repaired_tick
from holocron_assets.planning.work import Work, compaction_to_do, upkeep_to_do
from holocron_assets.settings import run_retention


@dg.op(
    description="Pack old partitions of every table into large files, and remove the files that were packed.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,
)
def compact_lake(context: dg.OpExecutionContext, lake: LakeResource) -> None:
    """Compact the lake. A partition that cannot be read is set aside; another fault fails the run."""
    opened = _opened(context, lake)
    try:
        with clear_failures():
            done = compact(opened, now=utc_now(), report=context.log.info)
    except CompactionUnderWayError as error:
        context.log.info(f"{error}: nothing is left to do here")
        return
    context.add_output_metadata(
        {"packs": done.packs, "partitions_packed": done.packed, "files_removed": done.removed}
    )
    damages = [problem for problem in done.problems if isinstance(problem, DamagedPartitionError)]
    left = repair_all(damages, context.log.error)
    left += [str(problem) for problem in done.problems if problem not in damages]
    if left:
        raise dg.Failure("; ".join(left), allow_retries=False)


@dg.op(
    description="Pack journals that nothing was appended to for a day. They lose nothing.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,
)
def pack_old_journals(context: dg.OpExecutionContext, lake: LakeResource) -> None:
    """Pack old journals of requests and replies; one that cannot be read is set aside."""
    opened = _opened(context, lake)
    with clear_failures():
        done = pack_journals(opened, now=utc_now())
    context.add_output_metadata({"journals_packed": done.journals, "bytes_freed": done.bytes_freed})


@dg.op(
    description="Forget runs that ended long ago, with events and logs. What assets hold stays known.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,
)
def forget_runs(context: dg.OpExecutionContext, lake: LakeResource) -> None:
    """Forget old runs, as old as HOLOCRON_RUN_DAYS and HOLOCRON_FAILED_RUN_DAYS say; logs go with ticks."""
    _opened(context, lake)
    now = utc_now()
    with clear_failures():
        done = forget_old_runs(context.instance, run_retention(), now=now)
        logs = forget_tick_logs(context.instance, now=now)
    metadata = {"runs_forgotten": done.runs, "events_forgotten": done.events, "tick_logs_forgotten": logs}
    context.add_output_metadata(metadata)


@dg.op(
    description="Remove bytes of files that no row names, a week after they were stored.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,
)
def remove_unnamed_files(context: dg.OpExecutionContext, lake: LakeResource) -> None:
    """Remove what a killed run stored and never named, and parts of files that nobody finished."""
    opened = _opened(context, lake)
    with clear_failures():
        done = collect(opened, utc_now())
    context.add_output_metadata({"files_removed": done.files, "bytes_freed": done.freed_bytes})


@dg.op(
    description="Remove journals whose rows are in the lake, which a kill left beside finished batches.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,
)
def remove_left_journals(context: dg.OpExecutionContext, lake: LakeResource) -> None:
    """Remove the journals that keep a finished batch from being packed; requests in them are stored."""
    opened = _opened(context, lake)
    with clear_failures():
        context.add_output_metadata({"batches_cleared": clear_leftovers(opened)})


def _opened(context: dg.OpExecutionContext, lake: LakeResource) -> Lake:
    """The lake; an op ends here if a person holds everything back."""
    opened = lake.open()
    with ended_when_held(context), clear_failures():
        refuse_all_held(context, opened, frees_space=True)
    return opened


@dg.job(
    name=UPKEEP_JOB,
    description="Forget old runs and logs of ticks, and remove what kills left and no row names, when due.",
    executor_def=dg.in_process_executor,
)
def upkeep_job() -> None:
    """See the ops. None waits for another."""
    forget_runs()
    remove_unnamed_files()
    remove_left_journals()


@dg.job(
    name=COMPACTION_JOB,
    description="Pack old files of the lake and old journals: what is due.",
    executor_def=dg.in_process_executor,
)
def compaction_job() -> None:
    """See the ops. They do not depend on each other."""
    compact_lake()
    pack_old_journals()


def upkeep_schedule(times: CronTimes) -> dg.ScheduleDefinition:
    """The schedule of the upkeep."""

    @dg.schedule(
        name="upkeep",
        job=upkeep_job,
        cron_schedule=times.cron,
        execution_timezone=times.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Forgets old runs and logs of ticks, and removes bytes that no row names, when due.",
    )
    @repaired_tick
    def upkeep(
        context: dg.ScheduleEvaluationContext, lake: LakeResource
    ) -> Sequence[dg.RunRequest] | dg.SkipReason:
        """Ask for a run that does what is due."""
        now, opened, due = utc_now(), lake.open(), []
        if old_runs_are_due(context.instance, run_retention(), now=now):
            due.append(f"runs of before {now:%Y-%m-%d}")
        if tick_logs_are_due(context.instance, now=now):
            due.append(f"logs of ticks of before {now:%Y-%m-%d}")
        if collection_is_due(opened, now):
            due.append(f"bytes of files of before {now:%Y-%m-%d}")
        if left := batches_with_leftovers(opened):
            due.append(f"journals beside {len(left)} finished batches on {now:%Y-%m-%d}")
        return _asked(context.instance, opened, upkeep_to_do(due), UPKEEP_JOB)

    return upkeep


def compaction_schedule(times: CronTimes) -> dg.ScheduleDefinition:
    """The schedule of the compaction."""

    @dg.schedule(
        name="compaction",
        job=compaction_job,
        cron_schedule=times.cron,
        execution_timezone=times.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Packs old files of the lake and old journals, when due.",
    )
    @repaired_tick
    def compaction(
        context: dg.ScheduleEvaluationContext, lake: LakeResource
    ) -> Sequence[dg.RunRequest] | dg.SkipReason:
        """Ask for a run that does what is due."""
        now, opened = utc_now(), lake.open()
        more = [f"journals of before {now:%Y-%m-%d}"] if journals_are_due(opened, now=now) else []
        return _asked(context.instance, opened, compaction_to_do(opened, now=now, more=more), COMPACTION_JOB)

    return compaction


def _asked(
    instance: dg.DagsterInstance, lake: Lake, work: Sequence[Work], job: str
) -> Sequence[dg.RunRequest] | dg.SkipReason:
    if is_under_way(instance, job):
        return dg.SkipReason(f"{job} is under way")
    requested = run_requests(instance, lake, work)
    if not requested.requests:
        return dg.SkipReason("; ".join(requested.waiting) or "everything is as it should be")
    return requested.requests
