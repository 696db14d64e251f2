"""Schedules that `data/schedules.yaml` sets: upkeep, compaction, quality checks, and crawls anew."""

from collections.abc import Sequence
from pathlib import Path

import dagster as dg
from dagster import RunsFilter

from holocron_assets.crawl.change_settings import CronTimes
from holocron_assets.crawl.source_files import SourceError
from holocron_assets.operations.controls import standing_controls
from holocron_assets.operations.schedules import RefreshTimes, Schedules, read_schedules
from holocron_assets.orchestration.jobs import ASSET_JOBS
from holocron_assets.orchestration.names import QUALITY_JOB, REFRESH_JOB, SOURCE_TAG
from holocron_assets.orchestration.refresh import refresh
from holocron_assets.orchestration.resources import LakeResource
from holocron_assets.orchestration.run_requests import UNDER_WAY
from holocron_assets.orchestration.upkeep import compaction_schedule, upkeep_schedule


def clock_schedules(file: Path) -> list[dg.ScheduleDefinition]:
    """A schedule for everything that is done by the clock, as the file is when the code is loaded.

    Where the file cannot be used the usual times count, and `holocron schedules` tells what is wrong with it:
    the rest goes on.
    """
    try:
        schedules = read_schedules(file)
    except SourceError:
        schedules = Schedules()
    return [
        upkeep_schedule(schedules.upkeep),
        compaction_schedule(schedules.compaction),
        _quality_schedule(schedules.check_quality),
        *_refresh_schedules(schedules.refresh),
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


def _refresh_schedules(several: Sequence[RefreshTimes]) -> list[dg.ScheduleDefinition]:
    """Numbered where a source has several times."""
    names: list[str] = []
    found = []
    for times in several:
        name = f"refresh_{times.source or 'all'}"
        names.append(name)
        number = names.count(name)
        found.append(_refresh_schedule(name if number == 1 else f"{name}_{number}", times))
    return found


def _refresh_schedule(name: str, times: RefreshTimes) -> dg.ScheduleDefinition:
    tags = {SOURCE_TAG: times.source} if times.source else {}

    @dg.schedule(
        name=name,
        job=refresh,
        cron_schedule=times.cron,
        execution_timezone=times.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Crawls {times.source or 'every enabled source'} anew, from its seeds on.",
    )
    def schedule(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
        if hold := standing_controls(lake.open()).holds(source=times.source):
            return dg.SkipReason(str(hold))
        same = RunsFilter(job_name=REFRESH_JOB, tags=tags, statuses=list(UNDER_WAY))
        if context.instance.get_runs_count(same):
            return dg.SkipReason("a run of it is queued or under way")
        config = {"source": times.source} if times.source else {}
        return dg.RunRequest(
            run_config={"ops": {"refresh_sources": {"config": config}}},
            tags=tags,
        )

    return schedule
