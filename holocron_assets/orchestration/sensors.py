"""Sensors: thin shells over `work`. They read the lake, ask for runs, and keep no state of their own."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import dagster as dg
from dagster import RunsFilter

from holocron_assets.crawl.batches import cut_batches, unfinished_batches
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES
from holocron_assets.orchestration.crawl_assets import batch_cut
from holocron_assets.orchestration.jobs import ASSET_JOBS
from holocron_assets.orchestration.names import (
    BATCH_JOB,
    ENTITIES_JOB,
    QUALITY_JOB,
    SEEDS_JOB,
    SETTLE_JOB,
    VIEWS_JOB,
)
from holocron_assets.orchestration.partitions import BATCHES, SOURCES
from holocron_assets.orchestration.reaper import reap_dead_runs
from holocron_assets.orchestration.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.run_requests import UNDER_WAY, Requested, run_requests
from holocron_assets.orchestration.work import (
    batches_to_fetch,
    batches_to_settle,
    seeds_to_list,
    types_to_resolve,
    views_to_publish,
)

_RUNNING = dg.DefaultSensorStatus.RUNNING
_LONGEST_WAIT = timedelta(minutes=10)


@dg.sensor(
    jobs=[ASSET_JOBS[SEEDS_JOB], ASSET_JOBS[BATCH_JOB]],
    minimum_interval_seconds=15,
    default_status=_RUNNING,
    description="Lists the seeds of enabled sources, cuts what is pending into batches and fetches them.",
)
def new_pages(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Ask for runs that list seeds and fetch batches; adopt batches that a crash left without a partition."""
    opened, enabled = lake.open(), sources.enabled()
    for run_id in reap_dead_runs(context.instance, opened):
        context.log.warning(f"run {run_id} was dead and is reported failed")
    for error in sources.broken():
        context.log.error(str(error))
    listings = seeds_to_list(opened, enabled)
    unlisted = {item.partition for item in listings}
    for source in enabled:
        if source.name not in unlisted:
            for batch in cut_batches(opened, source, now=utc_now()):
                context.log.info(f"cut {batch}")
    fetches = batches_to_fetch(opened, enabled)
    adopted = {
        SOURCES: _unknown(context.instance, SOURCES, [source.name for source in enabled]),
        BATCHES: _unknown(context.instance, BATCHES, opened.partitions(BATCH_PAGES)),
    }
    requested = run_requests(context.instance, [*listings, *fetches])
    return _answer(requested, adopted, "nothing is pending")


@dg.sensor(
    job=ASSET_JOBS[SETTLE_JOB],
    minimum_interval_seconds=30,
    default_status=_RUNNING,
    description="Redoes links, signals, types and candidates whose code, rules or inputs changed.",
)
def settle(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Ask for runs that settle fetched batches."""
    opened = lake.open()
    stale = batches_to_settle(opened, sources.all())
    adopted = {BATCHES: _unknown(context.instance, BATCHES, opened.partitions(BATCH_PAGES))}
    return _answer(run_requests(context.instance, stale), adopted, "every batch is settled")


@dg.sensor(
    job=ASSET_JOBS[ENTITIES_JOB],
    minimum_interval_seconds=15,
    default_status=_RUNNING,
    description="Resolves entity types whose candidates changed, once no batch is in flight.",
)
def promotion(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Ask for runs that resolve entities."""
    opened = lake.open()
    if _crawl_goes_on(context.instance, opened, sources.enabled()) and not _waited_long_enough(context):
        return dg.SkipReason("batches are in flight; entities are resolved after them, or in 10 minutes")
    requested = run_requests(context.instance, types_to_resolve(opened))
    if requested.requests:
        context.update_cursor(utc_now().isoformat())
    return _answer(requested, {}, "every entity type is resolved")


@dg.sensor(
    job=ASSET_JOBS[VIEWS_JOB],
    minimum_interval_seconds=60,
    default_status=_RUNNING,
    description="Publishes the views when a table got its first rows, or a view or source changed.",
)
def upkeep(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Ask for a run that publishes the views."""
    stale = views_to_publish(lake.open(), sources.all())
    return _answer(run_requests(context.instance, stale), {}, "the views are as they should be")


check_quality_hourly = dg.ScheduleDefinition(
    name="check_quality_hourly",
    job=ASSET_JOBS[QUALITY_JOB],
    cron_schedule="17 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks the lake's quality once an hour.",
)

SENSORS = [new_pages, settle, promotion, upkeep]
SCHEDULES = [check_quality_hourly]


def _crawl_goes_on(instance: dg.DagsterInstance, lake: Lake, sources: Sequence[Source]) -> bool:
    """Whether candidates are still being made: batches are in flight, or being settled."""
    if any(unfinished_batches(lake, source.name) for source in sources):
        return True
    runs = [RunsFilter(job_name=job, statuses=list(UNDER_WAY)) for job in (BATCH_JOB, SETTLE_JOB)]
    return any(instance.get_runs_count(filters) for filters in runs)


def _waited_long_enough(context: dg.SensorEvaluationContext) -> bool:
    """Whether entities were last asked for ten minutes ago; the first tick starts the wait."""
    if not context.cursor:
        context.update_cursor(utc_now().isoformat())
        return False
    return utc_now() - datetime.fromisoformat(context.cursor) >= _LONGEST_WAIT


def _answer(
    requested: Requested, adopted: Mapping[dg.DynamicPartitionsDefinition, Sequence[str]], lacking: str
) -> dg.SensorResult:
    """The tick's result: partitions first, then the runs for them."""
    return dg.SensorResult(
        run_requests=requested.requests,
        dynamic_partitions_requests=[
            definition.build_add_request(list(keys)) for definition, keys in adopted.items() if keys
        ],
        asset_events=[batch_cut(batch) for batch in adopted.get(BATCHES, ())],
        skip_reason=None if requested.requests else "; ".join(requested.waiting) or lacking,
    )


def _unknown(
    instance: dg.DagsterInstance, definition: dg.DynamicPartitionsDefinition, keys: Sequence[str]
) -> list[str]:
    """Keys that the instance does not know yet: new ones, and those that a crash left behind."""
    known = set(instance.get_dynamic_partitions(definition.name or ""))
    return [key for key in keys if key not in known]
