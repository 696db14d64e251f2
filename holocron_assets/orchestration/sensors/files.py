"""The sensor of files: a thin layer over `planning.file_work`."""

import dagster as dg

from holocron_assets.crawl.frontier.file_batches import cut_file_batches
from holocron_assets.crawl.sources.standing import left_alone
from holocron_assets.decisions.controls import standing_controls
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import DECISIONS, ENTITIES, FILE_BATCHES, FILE_LIST, FILE_USES, FILES
from holocron_assets.orchestration.assets.partitions import BATCHES_OF_FILES, SOURCES_OF_FILES
from holocron_assets.orchestration.jobs.assets import ASSET_JOBS
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.sensors.adopting import answer, unknown
from holocron_assets.orchestration.sensors.run_requests import run_requests
from holocron_assets.planning.file_work import files_to_fetch, files_to_list, has_list
from holocron_assets.planning.holding import holds_named
from holocron_assets.planning.job_names import FILES_JOB, LIST_FILES_JOB
from holocron_assets.planning.repair import repaired_tick

FILE_TABLES = (FILE_USES, ENTITIES, FILE_LIST, FILE_BATCHES, FILES, DECISIONS)
"""The tables that `new_files` reads."""


@dg.sensor(
    jobs=[ASSET_JOBS[LIST_FILES_JOB], ASSET_JOBS[FILES_JOB]],
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Lists the files of enabled sources, cuts what is pending into batches and fetches them.",
)
@repaired_tick
def new_files(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult:
    """Request runs that list and fetch files; adopt batches that a crash left without a partition."""
    enabled, opened, now = sources.enabled_files(), lake.open(), utc_now()
    alone = left_alone(enabled, sources.shared_folder, now)
    controls = standing_controls(opened)
    for source in enabled:
        if has_list(opened, source) and not controls.is_held(source=source.name):
            for batch in cut_file_batches(opened, source, now=now):
                context.log.info(f"cut {batch}")
    work = [*files_to_list(opened, enabled, now=now), *files_to_fetch(opened, enabled)]
    listed = dict.fromkeys([*(source.name for source in enabled), *opened.partitions(FILE_LIST)])
    adopted = {
        SOURCES_OF_FILES: unknown(context.instance, SOURCES_OF_FILES, list(listed)),
        BATCHES_OF_FILES: unknown(context.instance, BATCHES_OF_FILES, opened.partitions(FILE_BATCHES)),
    }
    requested = run_requests(context.instance, opened, [one for one in work if one.host not in alone])
    done = "every file that is listed is fetched" if enabled else "no source of files is enabled"
    lacking = "; ".join([*holds_named(opened), *alone.values()]) or done
    return answer(opened, requested, adopted, lacking)
