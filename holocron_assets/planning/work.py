"""Work to do, read from the lake, which is the queue. Sensors and the CLI ask here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from holocron_assets.classify.learned.store import stale_type_models, stale_type_predictions
from holocron_assets.crawl.changes.revision_check import passes, seeds_are_due, unfinished_pass
from holocron_assets.crawl.frontier.batches import unfinished_batches
from holocron_assets.crawl.frontier.known_links import compaction_is_due, enough_is_new, standing
from holocron_assets.crawl.sources.seeds import fingerprint, seeds_are_stale
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.log import decisions_mark
from holocron_assets.derive.dispatch.backlog import stale_partitions as stale_answers
from holocron_assets.derive.dispatch.backlog import waiting_of
from holocron_assets.derive.dispatch.pools import CODE_POOL
from holocron_assets.derive.dispatch.served import served_by_code
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.unread import refuse_unread_answers
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.entities.tags.store import vocabulary_mark
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.freshness import LakeListings
from holocron_assets.lake.packs.compaction import partitions_to_pack
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import PAGE_CHUNKS, PAGES, RULE_CLASSIFICATIONS, SITES, TYPE_MODEL
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX
from holocron_assets.lake.views.publishing import views_are_stale
from holocron_assets.operations.views import all_views
from holocron_assets.planning.batch_derivations import BATCH_DERIVATIONS, stale_batches
from holocron_assets.planning.derive_job_names import is_by_type, job_name
from holocron_assets.planning.entity_stages import (
    BY_SOURCE,
    BY_TYPE,
    ENTITY_TABLES,
    LEARNED,
    LEARNED_TABLES,
    SOURCE_TABLES,
    STAGES,
    Stage,
    stale_partitions,
)
from holocron_assets.planning.job_names import (
    BATCH_JOB,
    COMPACTION_JOB,
    ENTITIES_JOB,
    LEARN_JOB,
    LINKS_JOB,
    RECHECK_JOB,
    SEARCH_JOB,
    SEEDS_JOB,
    SETTLE_JOB,
    SITES_JOB,
    SOURCES_JOB,
    UPKEEP_JOB,
    VIEWS_JOB,
)
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.settings import tags_file

KNOWLEDGE_TABLES: Mapping[str, tuple[Table, ...]] = {
    LEARN_JOB: LEARNED_TABLES,
    ENTITIES_JOB: ENTITY_TABLES,
    SOURCES_JOB: (*ENTITY_TABLES, *SOURCE_TABLES),
}
"""By job of the knowledge base, the tables that it reads besides answers. The last one reads all of them."""
_STAGES_VERSION = " ".join(stage.code_version for stage in STAGES)
_found: dict[tuple[Path, str], tuple[str, list["Work"]]] = {}
"""By lake and job, the mark of what the job reads and the work that was found at it.

A loop asks again and again, and a sensor does while work is paused or a failed run rests.
"""


@dataclass(frozen=True)
class Work:
    """Something that a job should run for, mostly a partition.

    Attributes:
        job: the job's name.
        partition: its partition; None for a job that has none.
        version: version of the work: code, rules, settings. A failed run is tried again after growing pauses;
            work of another version is tried at once.
        host: the wiki that it asks, if it asks one.
        config: its run config, without that of the console.
        about: what it is about, for people, if it has no partition.
        partitions: those that it is about, if several processes may share them.
    """

    job: str
    partition: str | None
    version: str
    host: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    about: str = ""
    partitions: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A name for the work, which stays the same as long as the work does."""
        return f"{self}/{content_hash(self.version)[:12]}"

    @property
    def source(self) -> str | None:
        """The source of its partition."""
        return (source_of(self.partition) or self.partition) if self.partition else None

    def __str__(self) -> str:
        """Job and partition, for people."""
        about = self.partition or self.about
        return f"{self.job} of {about}" if about else self.job


def seeds_to_list(lake: Lake, sources: Iterable[Source]) -> list[Work]:
    """Enabled sources whose present seeds were not listed, or not since a check of all pages began."""
    work = []
    for source in sources:
        if not source.enabled:
            continue
        version = repr(sorted(fingerprint(source).items()))
        if seeds_are_stale(lake, source):
            work.append(Work(SEEDS_JOB, source.name, version, source.host))
        elif seeds_are_due(lake, source.name):
            begun = passes(lake, source.name)[-1]["started_at"]
            work.append(Work(SEEDS_JOB, source.name, f"{version} {begun}", source.host))
    return work


def checks_to_run(lake: Lake, sources: Iterable[Source]) -> list[Work]:
    """Unfinished checks of all pages. Each run goes on from another place, and so is other work.

    A source that became a dump, or was not crawled yet, has nothing to compare.
    """
    crawled = [
        source for source in sources if source.kind == "mediawiki_api" and lake.has(SITES, source.name)
    ]
    return [
        Work(RECHECK_JOB, source.name, f"{current['started_at']} {current['place']}", source.host)
        for source in crawled
        if (current := unfinished_pass(lake, source.name))
    ]


def sites_to_ask(lake: Lake, sources: Iterable[Source]) -> list[Work]:
    """Sources whose wiki was never asked for its site information."""
    return [
        Work(SITES_JOB, source.name, "ask", source.host)
        for source in sources
        if not lake.has(SITES, source.name)
    ]


def batches_to_fetch(lake: Lake, sources: Iterable[Source]) -> list[Work]:
    """Batches that were cut and have pages without an outcome."""
    return [
        Work(BATCH_JOB, batch, "fetch", source.host)
        for source in sources
        for batch in unfinished_batches(lake, source.name)
    ]


def links_to_compact(lake: Lake, sources: Iterable[Source], *, at_end: bool = True) -> list[Work]:
    """Sources whose `known_links` should be made again.

    Args:
        lake: what it is made from.
        sources: the sources to check.
        at_end: also where nothing is pending: only a newly made `known_links` shows whether everything was
            fetched.
    """
    is_due = compaction_is_due if at_end else enough_is_new
    due = [source for source in sources if is_due(lake, source)]
    return [Work(LINKS_JOB, source.name, standing(lake, source)) for source in due]


def settled_version() -> str:
    """Version of all the code and rules that make a batch's derived tables now."""
    return "-".join(derivation.code_version for derivation in BATCH_DERIVATIONS)


def batches_to_settle(lake: Lake, sources: Iterable[Source]) -> list[Work]:
    """Fetched batches with a derived table that is not what today's code, rules and inputs give.

    Raises:
        InterrogationError: answers that some of it is made from cannot be read now.
    """
    refuse_unread_answers(lake, (derivation.table.name for derivation in BATCH_DERIVATIONS))
    version, stale = settled_version(), stale_batches(lake, sources)
    # New answers of models and new decisions of people change the work's version.
    listings = LakeListings(lake)
    late = [(derivation, derivation.rows_of(lake)) for derivation in BATCH_DERIVATIONS]
    marks = {
        batch: {
            name: mark
            for derivation, rows_of in late
            for name, mark in derivation.late_fingerprints(lake, batch, rows_of, listings.footer).items()
        }
        for batch in stale
    }
    return [Work(SETTLE_JOB, batch, f"{version} {sorted(marks[batch].items())}") for batch in stale]


def views_to_publish(lake: Lake, sources: Sequence[Source]) -> list[Work]:
    """The views, if there is data, and the views are stale by today's lake and sources."""
    definition = all_views(sources)
    if not lake.partitions(PAGES) or not views_are_stale(lake, definition):
        return []
    return [Work(VIEWS_JOB, None, definition)]


def search_to_update(lake: Lake) -> list[Work]:
    """The search index, if there are passages, and a table that it is made from changed."""
    index = SearchIndex(lake)
    if not lake.partitions(PAGE_CHUNKS) or not index.is_stale():
        return []
    return [Work(SEARCH_JOB, None, index.wanted_mark)]


def upkeep_to_do(due: Sequence[str]) -> list[Work]:
    """The upkeep, if any part of it is due."""
    return [Work(UPKEEP_JOB, None, "\n".join(due))] if due else []


def compaction_to_do(lake: Lake, *, now: datetime, more: Sequence[str] = ()) -> list[Work]:
    """The compaction, if the lake is to be compacted.

    Args:
        lake: the lake.
        now: the moment.
        more: other things that are due.
    """
    due = [*more, *(repr(plan) for plan in partitions_to_pack(lake, now=now))]
    return [Work(COMPACTION_JOB, None, "\n".join(due))] if due else []


def types_to_learn(lake: Lake) -> list[Work]:
    """The models of types of sources, and what they say, if enough that they are made from changed.

    Raises:
        InterrogationError: answers that some of it is made from cannot be read now.
    """
    refuse_unread_answers(lake, (stage.name for stage in LEARNED))
    names = lake.partitions(SITES)
    models, predictions = stale_type_models(lake, names), stale_type_predictions(lake, names)
    version = f"{lake.mark([RULE_CLASSIFICATIONS, TYPE_MODEL])} {models} {predictions}"
    return [Work(LEARN_JOB, None, version)] if models or predictions else []


def entities_to_resolve(lake: Lake) -> list[Work]:
    """The tables of entities by type, if anything that they are made from changed.

    Raises:
        InterrogationError: answers that some of it is made from cannot be read now.
    """
    return _stages_to_run(lake, BY_TYPE, ENTITIES_JOB)


def sources_to_tag(lake: Lake) -> list[Work]:
    """The tags and the review queue of sources, if anything that they are made from changed.

    They follow from entities: ask when `entities_to_resolve` gives nothing that could be done now.

    Raises:
        InterrogationError: answers that some of it is made from cannot be read now.
    """
    return _stages_to_run(lake, BY_SOURCE, SOURCES_JOB)


def knowledge_mark(lake: Lake, job: str) -> str:
    """A mark that changes with anything that a job of the knowledge base reads. Quick to compute."""
    answers = [table for table in lake.derived_tables if not table.name.startswith(SPACE_PREFIX)]
    tables = lake.mark((*KNOWLEDGE_TABLES[job], *answers))
    return f"{tables} {decisions_mark(lake)} {_STAGES_VERSION} {vocabulary_mark(tags_file())}"


def _stages_to_run(lake: Lake, stages: Sequence[Stage], job: str) -> list[Work]:
    refuse_unread_answers(lake, (stage.name for stage in stages))
    mark = knowledge_mark(lake, job)  # before the lake is read: what is written meanwhile changes it
    known = _found.get((lake.root, job))
    if known and known[0] == mark:
        return known[1]
    with open_snapshot(lake) as snapshot:
        stale = stale_partitions(snapshot, stages)
        work = [Work(job, None, f"{snapshot.mark} {sorted(stale.items())}")] if stale else []
    _found[lake.root, job] = mark, work
    return work


def code_to_run(lake: Lake) -> list[Work]:
    """Interrogations that code is to answer, over batches and over entity types."""
    asked = [one for one in load_interrogations() if one.is_of_code]
    now, found, batches = utc_now(), dict[str, list[str]](), dict[str, set[str]]()
    stale = stale_answers(lake, asked, digests=served_by_code(asked).digests, most_opened=None)
    for part in StandingControls(lake).heeded(stale):
        if any(one.is_due for one in waiting_of([part], now)):
            state = f"{part.interrogation.name} {part.partition} {part.state}"
            job = job_name(CODE_POOL, part.interrogation)
            found.setdefault(job, []).append(state)
            # Processes do not share entity types: there are few, and one has most of the work.
            if not is_by_type(part.interrogation):
                batches.setdefault(job, set()).add(part.partition)
    return [
        Work(job, None, "\n".join(sorted(parts)), partitions=tuple(sorted(batches.get(job, ()))))
        for job, parts in found.items()
    ]
