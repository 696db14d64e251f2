"""The sensor of files: a thin layer over `planning.file_work`."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import dagster as dg

from holocron_assets.crawl.frontier.file_batches import cut_file_batches
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.standing import left_alone
from holocron_assets.decisions.controls import standing_controls
from holocron_assets.decisions.log import standing_mark
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS, ENTITIES, FILE_BATCHES, FILE_LIST, FILE_USES, FILES
from holocron_assets.orchestration.assets.partitions import BATCHES_OF_FILES, SOURCES_OF_FILES
from holocron_assets.orchestration.jobs.assets import ASSET_JOBS
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.requesting import run_requests
from holocron_assets.orchestration.sensors.adopting import answer, cut_unless_same, unknown
from holocron_assets.planning.file_work import files_to_fetch, files_to_list, has_list
from holocron_assets.planning.holding import holds_named
from holocron_assets.planning.job_names import FILES_JOB, LIST_FILES_JOB
from holocron_assets.planning.repair import repaired_tick

FILE_TABLES = (FILE_USES, ENTITIES, FILE_LIST, FILE_BATCHES, FILES, DECISIONS)
"""The tables that `new_files` reads."""
_CUT_FROM = (FILE_LIST, FILE_BATCHES, FILES)
_LOOK_AGAIN_AFTER = timedelta(minutes=2)  # files become due that failed, or are to be checked again
_REST_OF_A_LIST = timedelta(minutes=10)  # while pages are read, each batch changes what pages use


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
    free = [one for one in enabled if has_list(opened, one) and not controls.is_held(source=one.name)]
    for batch in _cut(context, opened, free, now):
        context.log.info(f"cut {batch}")
    listings = files_to_list(opened, enabled, now=now, rest=_REST_OF_A_LIST)
    work = [*listings, *files_to_fetch(opened, enabled)]
    listed = dict.fromkeys([*(source.name for source in enabled), *opened.partitions(FILE_LIST)])
    adopted = {
        SOURCES_OF_FILES: unknown(context.instance, SOURCES_OF_FILES, list(listed)),
        BATCHES_OF_FILES: unknown(context.instance, BATCHES_OF_FILES, opened.partitions(FILE_BATCHES)),
    }
    requested = run_requests(context.instance, opened, [one for one in work if one.host not in alone])
    done = "every file that is listed is fetched" if enabled else "no source of files is enabled"
    lacking = "; ".join([*holds_named(opened), *alone.values()]) or done
    return answer(opened, requested, adopted, lacking)


def _cut(
    context: dg.SensorEvaluationContext, lake: Lake, sources: Sequence[FileSource], now: datetime
) -> list[str]:
    """Cut pending files. Unless something was written, they are looked for only now and then."""

    def cut() -> list[str]:
        return [batch for source in sources for batch in cut_file_batches(lake, source, now=now)]

    mark = f"{lake.mark(_CUT_FROM)} {standing_mark(lake, 'requeue')} {content_hash(repr(sources))}"
    return cut_unless_same(context, mark, cut, now=now, again_after=_LOOK_AGAIN_AFTER) or []
