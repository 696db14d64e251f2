"""Sensors: thin layers over `planning.work`. They read the lake and request runs."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.crawl.frontier.batches import cut_batches, unfinished_batches
from holocron_assets.crawl.frontier.known_links import reading_is_slow
from holocron_assets.crawl.frontier.views import frontier_mark
from holocron_assets.crawl.sources.seeds import seeds_are_usable
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.standing import left_alone
from holocron_assets.decisions.controls import standing_controls
from holocron_assets.decisions.log import TYPE_KINDS, standing_mark
from holocron_assets.derive.interrogations.interrogation import InterrogationError
from holocron_assets.derive.interrogations.loading import broken_interrogations
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.freshness import LakeListings
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    BATCH_PAGES,
    ENTITY_CANDIDATES,
    PAGES,
    SITES,
    TYPE_PREDICTIONS,
    UNREAD_PAGES,
)
from holocron_assets.lake.tables.identity import EXTRACTION, LINKED
from holocron_assets.orchestration.assets.entities import ENTITY_JOBS
from holocron_assets.orchestration.assets.partitions import BATCHES, SOURCES
from holocron_assets.orchestration.internals.runs import count_runs
from holocron_assets.orchestration.jobs.assets import ASSET_JOBS
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.requesting import Requested, is_under_way, run_requests
from holocron_assets.orchestration.sensors.adopting import answer, cut_unless_same, unknown
from holocron_assets.planning.batch_derivations import BATCH_DERIVATIONS
from holocron_assets.planning.holding import holds_named
from holocron_assets.planning.job_names import (
    BATCH_JOB,
    ENTITIES_JOB,
    LEARN_JOB,
    LINKS_JOB,
    SEARCH_JOB,
    SEEDS_JOB,
    SETTLE_JOB,
    SOURCES_JOB,
    VIEWS_JOB,
    WORK_TAG,
)
from holocron_assets.planning.repair import repaired_tick
from holocron_assets.planning.work import (
    KNOWLEDGE_TABLES,
    Work,
    batches_to_fetch,
    batches_to_settle,
    entities_to_resolve,
    knowledge_mark,
    links_to_compact,
    search_to_update,
    seeds_to_list,
    settled_version,
    sources_to_tag,
    types_to_learn,
    views_to_publish,
)

_RUNNING = dg.DefaultSensorStatus.RUNNING
_LONGEST_WAIT = timedelta(minutes=10)
_JobFinder = tuple[str, Callable[[Lake], list[Work]]]
_READ_AGAIN_AFTER = timedelta(minutes=1)
MOST_BATCHES_READ = 1000
"""The most batches whose candidates a tick reads; this takes five seconds."""
MOST_NAMES_READ = 50_000
"""The most names on list pages that a tick looks up; this takes five seconds."""
SETTLED_TABLES = (
    *(SITES, PAGES, UNREAD_PAGES, TYPE_PREDICTIONS),
    *(table for one in BATCH_DERIVATIONS for table in (one.table, *one.optional_inputs)),
)
"""The tables that `settle` reads."""


@dg.sensor(
    jobs=[ASSET_JOBS[SEEDS_JOB], ASSET_JOBS[BATCH_JOB], ASSET_JOBS[LINKS_JOB]],
    minimum_interval_seconds=15,
    default_status=_RUNNING,
    description="Lists the seeds of enabled sources, cuts what is pending into batches and fetches them.",
)
@repaired_tick
def new_pages(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Request runs that list seeds and fetch batches; adopt batches that a crash left without a partition."""
    opened, enabled = lake.open(), sources.enabled()
    problems = [str(error) for error in sources.broken()]
    # A run for a wiki that wants a pause could only fail.
    alone = left_alone(enabled, sources.shared_folder, utc_now())
    listings = [work for work in seeds_to_list(opened, enabled) if work.host not in alone]
    controls = standing_controls(opened)
    free = [source for source in enabled if not controls.is_held(source=source.name)]
    listed = [source for source in free if seeds_are_usable(opened, source)]
    slow = [source for source in listed if reading_is_slow(opened, source)]
    compactions = links_to_compact(opened, listed, at_end=False)
    try:
        batches = _cut(context, opened, [source for source in listed if source not in slow])
    except DamagedPartitionError as error:
        if not error.is_for_good:
            raise
        # Batches that were cut before are fetched all the same.
        problems.append(str(error))
        batches = None
    if batches is not None and not batches:
        compactions = links_to_compact(opened, listed)
    for batch in batches or ():
        context.log.info(f"cut {batch}")
    fetches = [work for work in batches_to_fetch(opened, enabled) if work.host not in alone]
    adopted = {
        SOURCES: unknown(context.instance, SOURCES, [source.name for source in enabled]),
        BATCHES: unknown(context.instance, BATCHES, opened.partitions(BATCH_PAGES)),
    }
    requested = run_requests(context.instance, opened, [*listings, *compactions, *fetches])
    lacking = "; ".join([*holds_named(opened), *alone.values()]) or "nothing is pending"
    for problem in problems if requested.requests else ():  # otherwise it is the tick's skip reason
        context.log.error(problem)
    return answer(opened, requested, adopted, lacking, problems)


@dg.sensor(
    job=ASSET_JOBS[SETTLE_JOB],
    minimum_interval_seconds=30,
    default_status=_RUNNING,
    description="Makes links, signals, types and candidates again when their code, rules or inputs changed.",
)
@repaired_tick
def settle(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Request runs that settle fetched batches."""
    opened = lake.open()
    known = sources.all()
    # Settled batches stay so until a file, a rule or the code changes; reading every footer costs seconds.
    decided = standing_mark(opened, *TYPE_KINDS, "requeue")
    names = sorted(source.name for source in known)  # a file may be unreadable for a moment
    mark = f"{opened.mark(SETTLED_TABLES)} {decided} {settled_version()} {names}"
    if context.cursor == mark:
        return dg.SkipReason("every batch is settled")
    stale = batches_to_settle(opened, known)
    if not stale:
        context.update_cursor(mark)
    requested = run_requests(context.instance, opened, stale)
    # Only what its runs need: `new_pages` adopts the others, and two sensors would record each of them twice.
    needed = [request.partition_key for request in requested.requests if request.partition_key]
    adopted = {BATCHES: unknown(context.instance, BATCHES, needed)}
    return answer(opened, requested, adopted, "every batch is settled")


@dg.sensor(
    jobs=ENTITY_JOBS,
    minimum_interval_seconds=15,
    default_status=_RUNNING,
    description="Trains models of types, once no batch is in flight; then resolves entities, then sources.",
)
@repaired_tick
def promotion(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Request a run that learns types; else one that resolves all stale types; else one over the sources."""
    opened, memory = lake.open(), _memory(context)
    # The file of an interrogation that cannot be read is not read again until this process ends. The work
    # that needs it waits as long.
    resolved = f"{knowledge_mark(opened, SOURCES_JOB)} {sorted(broken_interrogations().items())}"
    if memory.get("resolved") == resolved:
        return dg.SkipReason(memory.get("unread") or "every entity type is resolved")
    if any(is_under_way(context.instance, job) for job in KNOWLEDGE_TABLES):
        return dg.SkipReason("entities are being resolved")
    now = utc_now()
    goes_on = _crawl_goes_on(context.instance, opened, sources.enabled())
    waiting_since = datetime.fromisoformat(memory.get("waiting_since") or now.isoformat())
    following, earlier = _in_turn(context.instance, memory.get("after"))
    is_to_wait = goes_on and not earlier
    if is_to_wait and timedelta(0) <= now - waiting_since < _LONGEST_WAIT:  # the clock may be set back
        context.update_cursor(json.dumps({"waiting_since": waiting_since.isoformat()}))
        return dg.SkipReason("batches are in flight; entities are resolved after them, or in 10 minutes")
    waiting, unread = list[str](), list[str]()
    for job, find in following if goes_on else [*following, *earlier]:
        try:
            work = _stale_knowledge(context.instance, opened, job, find)
        except InterrogationError as error:  # the other jobs may need nothing of it
            unread.append(str(error))
            continue
        requested = run_requests(context.instance, opened, work)
        waiting += requested.waiting
        if requested.requests:
            context.update_cursor(json.dumps({"after": job}))
            return answer(opened, requested, {}, "")
    if earlier and goes_on:
        context.update_cursor("{}")  # the next ten minutes begin
        nothing = "what follows from the last run is up to date"
        return answer(opened, Requested([], unread + waiting), {}, nothing)
    if not waiting:
        context.update_cursor(json.dumps({"resolved": resolved, "unread": "; ".join(unread)}))
    return answer(opened, Requested([], unread + waiting), {}, "every entity type is resolved")


@dg.sensor(
    job=ASSET_JOBS[VIEWS_JOB],
    minimum_interval_seconds=300,
    default_status=_RUNNING,
    description="Publishes the views, when the lake or the sources would give others.",
)
@repaired_tick
def stale_views(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult | dg.SkipReason:
    """Request a run that publishes the views."""
    opened = lake.open()
    requested = run_requests(context.instance, opened, views_to_publish(opened, sources.all()))
    return answer(opened, requested, {}, "the views are up to date")


@dg.sensor(
    job=ASSET_JOBS[SEARCH_JOB],
    minimum_interval_seconds=60,
    default_status=_RUNNING,
    description="Updates the search index, when a table that it is made from changed.",
)
@repaired_tick
def stale_search(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult | dg.SkipReason:
    """Request a run that updates the search index."""
    opened = lake.open()
    requested = run_requests(context.instance, opened, search_to_update(opened))
    return answer(opened, requested, {}, "the search index is up to date")


SENSORS = [new_pages, settle, promotion, stale_search, stale_views]


def _in_turn(instance: dg.DagsterInstance, after: str | None) -> tuple[list[_JobFinder], list[_JobFinder]]:
    """The jobs of the knowledge base with what finds their work: those that follow a job, and those before.

    They take turns. While pages are read, or models answer, there is always something new to learn.

    Args:
        instance: knows whether entities failed: that does not hold up the sources.
        after: the job that had its turn last; None if all are to begin anew.
    """
    jobs: list[_JobFinder] = [
        (LEARN_JOB, types_to_learn),
        (ENTITIES_JOB, entities_to_resolve),
        (SOURCES_JOB, sources_to_tag),
    ]
    if _last_failed(instance, ENTITIES_JOB):
        jobs[1:] = reversed(jobs[1:])
    had_its_turn = 1 + next((place for place, (job, _) in enumerate(jobs) if job == after), -1)
    return jobs[had_its_turn:], jobs[:had_its_turn]


def _last_failed(instance: dg.DagsterInstance, job: str) -> bool:
    return any(
        record.dagster_run.status == DagsterRunStatus.FAILURE
        for record in instance.get_run_records(RunsFilter(job_name=job), limit=1)
    )


def _stale_knowledge(
    instance: dg.DagsterInstance, lake: Lake, job: str, find: Callable[[Lake], list[Work]]
) -> list[Work]:
    """The work of a job of the knowledge base, if something that it is made from may have changed.

    Reading thousands of batches, or of list pages, takes longer than a tick may. Then the run itself finds
    what is stale, and a run that found nothing is remembered with the marks of the tables that it read.
    """
    if len(lake.partitions(ENTITY_CANDIDATES)) <= MOST_BATCHES_READ and _names_read(lake) <= MOST_NAMES_READ:
        return find(lake)
    work = Work(job, None, knowledge_mark(lake, job))
    done = RunsFilter(tags={WORK_TAG: work.key}, statuses=[DagsterRunStatus.SUCCESS])
    return [] if count_runs(instance, done) else [work]


def _names_read(lake: Lake) -> int:
    """How many names were read on list pages, by the footers of their tables."""
    listings = LakeListings(lake)
    tables = [table for table in lake.derived_tables if table.name in {EXTRACTION, LINKED}]
    footers = (listings.footer(table, name) for table in tables for name in listings.listing(table).names)
    return sum(footer.rows for footer in footers if footer)


def _crawl_goes_on(instance: dg.DagsterInstance, lake: Lake, sources: Sequence[Source]) -> bool:
    """Whether candidates are still being made: batches are in flight and not held back, or being settled."""
    controls = standing_controls(lake)
    free = [source.name for source in sources if not controls.is_held(source=source.name)]
    if any(unfinished_batches(lake, name) for name in free):
        return True
    return is_under_way(instance, BATCH_JOB) or is_under_way(instance, SETTLE_JOB)


def _cut(context: dg.SensorEvaluationContext, lake: Lake, sources: Sequence[Source]) -> list[str] | None:
    """Cut pending pages; return None if the frontier was not read.

    Unless something was written, one reading a minute is enough to find pages that become due.
    """
    now = utc_now()

    def cut() -> list[str]:
        return [batch for source in sources for batch in cut_batches(lake, source, now=now)]

    return cut_unless_same(context, frontier_mark(lake, sources), cut, now=now, again_after=_READ_AGAIN_AFTER)


def _memory(context: dg.SensorEvaluationContext) -> dict[str, str]:
    """What a sensor keeps between ticks, only to save reading. If it is lost, one more reading is needed."""
    memory: dict[str, str] = json.loads(context.cursor or "{}")
    return memory
