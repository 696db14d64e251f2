"""A schedule for each source whose file says when all its pages are compared with its wiki."""

from pathlib import Path

import dagster as dg

from holocron_assets.crawl.changes.revision_check import start_pass
from holocron_assets.crawl.sources.files import SourceError
from holocron_assets.crawl.sources.settings import Recheck
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.standing import left_alone
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import SITES
from holocron_assets.orchestration.jobs.assets import ASSET_JOBS
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.requesting import run_requests
from holocron_assets.planning.job_names import RECHECK_JOB
from holocron_assets.planning.repair import repaired_tick
from holocron_assets.planning.work import checks_to_run

RECHECK_PREFIX = "recheck_"


def recheck_schedules(sources: SourcesResource) -> list[dg.ScheduleDefinition]:
    """A schedule for each source whose file sets one, by the files at the time when the code is loaded."""
    try:
        found = sources.all()
    except SourceError:
        return []  # the folder cannot be read: each tick of a sensor says so
    return [_schedule(source.name, source.changes.recheck) for source in found if source.changes.recheck]


def _schedule(name: str, recheck: Recheck) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=f"{RECHECK_PREFIX}{name}",
        job=ASSET_JOBS[RECHECK_JOB],
        cron_schedule=recheck.cron,
        execution_timezone=recheck.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Compares all pages of {name} with its wiki.",
    )
    @repaired_tick
    def schedule(
        context: dg.ScheduleEvaluationContext, lake: LakeResource, sources: SourcesResource
    ) -> list[dg.RunRequest] | dg.SkipReason:
        source = next((source for source in sources.all() if source.name == name), None)
        if source is None:
            return dg.SkipReason(f"source {name!r} has no file that can be read any more")
        if not source.enabled:
            return dg.SkipReason(f"source {name!r} is disabled")
        return _start(context, lake.open(), source, sources.shared_folder)

    return schedule


def _start(
    context: dg.ScheduleEvaluationContext, lake: Lake, source: Source, shared_folder: Path
) -> list[dg.RunRequest] | dg.SkipReason:
    if not lake.has(SITES, source.name):
        return dg.SkipReason(f"nothing of {source.name!r} was fetched yet")
    # After the decision, the sensor `changed_pages` requests its runs if this one is lost.
    start_pass(lake, source.name, "schedule", utc_now())
    if alone := left_alone([source], shared_folder, utc_now()):
        return dg.SkipReason(f"the check waits: {'; '.join(alone.values())}")
    requested = run_requests(context.instance, lake, checks_to_run(lake, [source]))
    if not requested.requests:
        return dg.SkipReason("; ".join(requested.waiting) or "a run for it is under way")
    return requested.requests
