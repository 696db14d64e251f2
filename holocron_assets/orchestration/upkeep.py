"""Upkeep: what keeps the lake quick to read, done every five minutes if it is due."""

from collections.abc import Sequence

import dagster as dg
from dagster import RunsFilter

from holocron_assets.crawl.frontier_views import frontier_views
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.compaction import CompactionUnderWayError, compact
from holocron_assets.lake.publishing import views_are_stale
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.link_assets import compacted, known_links
from holocron_assets.orchestration.names import LINKS_JOB, UPKEEP_JOB
from holocron_assets.orchestration.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.run_requests import UNDER_WAY, run_requests
from holocron_assets.orchestration.view_assets import published, views
from holocron_assets.orchestration.work import links_to_compact, upkeep_to_do


@dg.op(
    description="Make `known_links` of sources anew where enough is new.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def compact_known_links(context: dg.OpExecutionContext, lake: LakeResource, sources: SourcesResource) -> None:
    """Compact what is known of titles, source by source, unless that is being done."""
    opened = lake.open()
    if _is_under_way(context.instance, LINKS_JOB):
        context.log.info(f"{LINKS_JOB} is under way")
        return
    for work in links_to_compact(opened, sources.enabled(), at_end=False):
        with clear_failures():
            metadata = compacted(opened, sources.get(str(work.partition)))
        context.log_event(
            dg.AssetMaterialization(
                known_links.key,
                partition=work.partition,
                metadata=metadata,
                tags={"dagster/data_version": metadata["content_id"]},
            )
        )


@dg.op(
    description="Pack old partitions of every table into large files, and remove what packs took over.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def compact_lake(context: dg.OpExecutionContext, lake: LakeResource) -> None:
    """Compact the lake. A partition that cannot be read stays as it is, and fails the run by name."""
    try:
        with clear_failures():
            done = compact(lake.open(), now=utc_now(), tell=context.log.info)
    except CompactionUnderWayError as error:
        context.log.info(f"{error}: nothing is left to do here")
        return
    context.add_output_metadata(
        {"packs": done.packs, "partitions_packed": done.packed, "files_removed": done.removed}
    )
    if done.problems:
        raise dg.Failure("; ".join(done.problems), allow_retries=False)


@dg.op(
    description="Publish the views, if they are not those that the lake and sources give now.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def publish_stale_views(context: dg.OpExecutionContext, lake: LakeResource, sources: SourcesResource) -> None:
    """Publish the views, if that is due."""
    opened, definition = lake.open(), frontier_views(sources.all())
    if views_are_stale(opened, definition):
        with clear_failures():
            metadata = published(opened, definition)
        context.log_event(dg.AssetMaterialization(views.key, metadata=metadata))


@dg.job(
    name=UPKEEP_JOB,
    description="Compact what is known of links and the lake's files, and publish the views: what is due.",
    executor_def=dg.in_process_executor,
)
def upkeep_job() -> None:
    """See the ops. None waits for another; what one makes due for another is done the next time."""
    compact_known_links()
    compact_lake()
    publish_stale_views()


@dg.schedule(
    name="upkeep",
    job=upkeep_job,
    cron_schedule="*/5 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Compacts what is known of links and the lake's files, and publishes the views, when due.",
)
def upkeep(
    context: dg.ScheduleEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> Sequence[dg.RunRequest] | dg.SkipReason:
    """Ask for a run that does what is due."""
    if _is_under_way(context.instance, UPKEEP_JOB):
        return dg.SkipReason("upkeep is under way")
    requested = run_requests(context.instance, upkeep_to_do(lake.open(), sources.all(), now=utc_now()))
    if not requested.requests:
        return dg.SkipReason("; ".join(requested.waiting) or "everything is as it should be")
    return requested.requests


def _is_under_way(instance: dg.DagsterInstance, job: str) -> bool:
    return instance.get_runs_count(RunsFilter(job_name=job, statuses=list(UNDER_WAY))) > 0
