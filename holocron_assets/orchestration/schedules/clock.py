"""Schedules of `data/schedules.yaml`: upkeep, compaction, quality checks, repeated crawls, and groups."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

import dagster as dg
from dagster import RunsFilter

from holocron_assets.crawl.sources.settings import CronTimes
from holocron_assets.decisions.controls import standing_controls
from holocron_assets.operations.schedules import GroupTimes, RefreshTimes, Schedules
from holocron_assets.orchestration.jobs.assets import ASSET_JOBS
from holocron_assets.orchestration.jobs.group import run_group
from holocron_assets.orchestration.jobs.refresh import refresh
from holocron_assets.orchestration.jobs.upkeep import compaction_schedule, upkeep_schedule
from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.orchestration.runs.requesting import UNDER_WAY
from holocron_assets.planning.job_names import GROUP_TAG, QUALITY_JOB, SOURCE_TAG

_Times = TypeVar("_Times", bound=CronTimes)


def clock_schedules(schedules: Schedules) -> list[dg.ScheduleDefinition]:
    """A schedule for all work at set times."""
    return [
        upkeep_schedule(schedules.upkeep),
        compaction_schedule(schedules.compaction),
        _quality_schedule(schedules.check_quality),
        *_numbered(_refresh_schedule, [(f"refresh_{one.source or 'all'}", one) for one in schedules.refresh]),
        *_numbered(_group_schedule, [(f"group_{one.group}", one) for one in schedules.groups]),
    ]


def _quality_schedule(times: CronTimes) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name="check_quality_hourly",
        job=ASSET_JOBS[QUALITY_JOB],
        cron_schedule=times.cron,
        execution_timezone=times.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Checks the lake's quality.",
    )


def _numbered(
    make: Callable[[str, _Times], dg.ScheduleDefinition], several: Sequence[tuple[str, _Times]]
) -> Iterator[dg.ScheduleDefinition]:
    """Schedules by name; numbered where one thing has several times, unless another has that name."""
    taken = {name for name, _ in several}
    seen: set[str] = set()
    for name, times in several:
        free = (numbered for number in count(2) if (numbered := f"{name}_{number}") not in taken)
        own = next(free) if name in seen else name
        taken.add(own)
        seen.add(own)
        yield make(own, times)


def _refresh_schedule(name: str, times: RefreshTimes) -> dg.ScheduleDefinition:
    return _schedule(
        name,
        times,
        refresh,
        description=f"Crawls {times.source or 'every enabled source'} again, from its seeds on.",
        tags={SOURCE_TAG: times.source} if times.source else {},
        ops={"refresh_sources": {"config": {"source": times.source} if times.source else {}}},
    )


def _group_schedule(name: str, times: GroupTimes) -> dg.ScheduleDefinition:
    return _schedule(
        name,
        times,
        run_group,
        description=f"Runs the steps of group {times.group}.",
        tags={GROUP_TAG: times.group},
        ops={"run_steps": {"config": {"group": times.group}}},
    )


def _schedule(  # noqa: PLR0913 - a job, and how it is run
    name: str,
    times: CronTimes,
    job: dg.JobDefinition,
    *,
    description: str,
    tags: Mapping[str, str],
    ops: Mapping[str, Any],
) -> dg.ScheduleDefinition:
    """A schedule that requests a run unless a person holds it back, or a run of the same goes on."""

    @dg.schedule(
        name=name,
        job=job,
        cron_schedule=times.cron,
        execution_timezone=times.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=description,
    )
    def schedule(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
        if hold := standing_controls(lake.open()).holds(source=tags.get(SOURCE_TAG)):
            return dg.SkipReason(str(hold))
        if _is_under_way(context.instance, job.name, tags):
            return dg.SkipReason("a run of it is queued or under way")
        return dg.RunRequest(run_config={"ops": ops}, tags=tags)

    return schedule


def _is_under_way(instance: dg.DagsterInstance, job: str, tags: Mapping[str, str]) -> bool:
    """Whether a run with some tags is queued or goes on; without tags, one that is not of a single source."""
    same = RunsFilter(job_name=job, tags=dict(tags), statuses=list(UNDER_WAY))
    found = (record.dagster_run for record in instance.get_run_records(same))
    return any(tags or SOURCE_TAG not in run.tags for run in found)
