"""Asset checks: quality of the whole lake. They only report; what must hold is checked before each write."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import dagster as dg

from holocron_assets.crawl.dumps.check import check_dumps
from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.verifying import faulty_files, files_due, note_verified
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import ENTITIES, PAGE_TYPES, PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.retries import LAKE
from holocron_assets.planning.repair import repair_all

UNKNOWN_RATE_LIMIT = 0.25
"""Largest share of Unknown pages, among pages with content, where a source sets no limit of its own."""

_FAULTY = "faulty"
GROWTH_LIMIT = 0.10
"""Largest share of its promoted entities that a type may lose in a day."""

_TYPE_COUNTS = """
    select source, primary_type, count(*) as pages from page_types group by all
"""
# An unfinished crawl cannot be judged yet. Pages that only changed do not count: pages always change.
_FINISHED_COUNTS = """
    select sites.source, count(pages.title_key) as pages
    from sites
    left join current_pages as pages on pages.source = sites.source
    anti join (
        from frontier
        where status in ('pending', 'in flight', 'waiting') and reason is distinct from 'changed'
    ) as unfinished
        on unfinished.source = sites.source
    group by all
"""
_COUNTED = ("sites", "current_pages", "page_types")
_SHRINKING = """
    select
        entity_type,
        count(*) filter (where valid_to is null) as now_promoted,
        count(*) filter (
            where valid_from <= now() - interval 1 day and coalesce(valid_to > now() - interval 1 day, true)
        ) as promoted_a_day_ago
    from entity_history
    where state = 'promoted'
    group by entity_type
    having now_promoted < (1 - $limit) * promoted_a_day_ago
"""


@dg.asset_check(
    asset=PAGE_TYPES.name,
    description="Few enough pages are of type Unknown, by source.",
    retry_policy=LAKE,
)
@clear_failures()
def unknown_rate(lake: LakeResource, sources: SourcesResource) -> dg.AssetCheckResult:
    """Compare each source's share of Unknown pages with its limit."""
    with connect(lake.open(), relations=["page_types"]) as connection:
        counts = query(connection, _TYPE_COUNTS)
    rates: dict[str, float] = {}
    problems: dict[str, list[str]] = {}
    for source in sources.all():
        of_source = {row["primary_type"]: row["pages"] for row in counts if row["source"] == source.name}
        if not of_source:
            continue
        limit = source.expected.max_unknown_rate
        limit = UNKNOWN_RATE_LIMIT if limit is None else limit
        rates[source.name] = of_source.get("Unknown", 0) / sum(of_source.values())
        if rates[source.name] > limit:
            problems[source.name] = [f"{rates[source.name]:.1%} of pages are Unknown, limit {limit:.0%}"]
    return _result(problems, {f"unknown rate of {name}": rate for name, rate in rates.items()})


@dg.asset_check(
    asset=PAGES.name,
    description="Each source yielded what its file expects.",
    retry_policy=LAKE,
)
@clear_failures()
def source_expectations(lake: LakeResource, sources: SourcesResource) -> dg.AssetCheckResult:
    """Compare the pages and types of each source that was crawled to its end with its `expected` counts."""
    opened = lake.open()
    frontier = frontier_tables_of(opened, sources.all())
    with connect(opened, relations=_COUNTED, more_views=frontier) as connection:
        pages = {row["source"]: row["pages"] for row in query(connection, _FINISHED_COUNTS)}
        types = {
            (row["source"], row["primary_type"]): row["pages"] for row in query(connection, _TYPE_COUNTS)
        }
    unmet = {
        source.name: _unmet(source, pages[source.name], types)
        for source in sources.all()
        if source.name in pages
    }
    problems = {name: problems for name, problems in unmet.items() if problems}
    return _result(problems, {f"pages of {name}": count for name, count in pages.items()})


@dg.asset_check(
    asset=PAGES.name,
    description="Every listed page of each dump has an outcome, or is still to be read; no dump is cut off.",
    retry_policy=LAKE,
)
@clear_failures()
def dump_is_whole(lake: LakeResource, sources: SourcesResource) -> dg.AssetCheckResult:
    """Compare each dump's file with its list, and its list with the outcomes in the lake."""
    checked = check_dumps(lake.open(), sources.all())
    counts = {
        f"{name}: {what}": count for name, found in checked.items() for what, count in found.counts.items()
    }
    return _result({name: found.problems for name, found in checked.items() if found.problems}, counts)


@dg.asset_check(
    asset=ENTITIES.name,
    description="No type lost many of its promoted entities in a day.",
    retry_policy=LAKE,
)
@clear_failures()
def growth(lake: LakeResource) -> dg.AssetCheckResult:
    """Compare each type's promoted entities with those of a day ago."""
    with connect(lake.open(), relations=["entity_history"]) as connection:
        shrinking = query(connection, _SHRINKING, {"limit": GROWTH_LIMIT})
    problems = {
        row["entity_type"]: [f"{row['now_promoted']} promoted, {row['promoted_a_day_ago']} a day ago"]
        for row in shrinking
    }
    return _result(problems, {"types that shrank": len(shrinking)})


@dg.asset_check(
    asset=PAGES.name,
    description="The files of the lake that are due, all of them in a week, are as they were written.",
    retry_policy=LAKE,
)
@clear_failures()
def files_are_whole(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> dg.AssetCheckResult:
    """Verify some files by their checksums; those that are damaged are set aside, and made again."""
    opened = lake.open()
    files, hour = files_due(opened, utc_now())
    messages: list[str] = []
    left = repair_all(list(faulty_files(files)), messages.append)
    note_verified(opened, hour)
    for message in messages:
        context.log.error(message)
    return dg.AssetCheckResult(
        passed=not left,
        severity=dg.AssetCheckSeverity.ERROR,
        description="; ".join([*left, *messages]) or "Nothing is wrong.",
        metadata={"files verified": len(files), "files set aside": len(messages)},
    )


QUALITY_CHECKS = [unknown_rate, source_expectations, dump_is_whole, growth, files_are_whole]


def _unmet(source: Source, pages: int, types: dict[tuple[str, str], int]) -> list[str]:
    expected = source.expected
    problems = []
    if expected.min_pages is not None and pages < expected.min_pages:
        problems.append(f"{pages} pages, expected {expected.min_pages} or more")
    for name, least in expected.min_by_type.items():
        found = types.get((source.name, name), 0)
        if found < least:
            problems.append(f"{found} pages of type {name}, expected {least} or more")
    return problems


def concerns(check: dg.AssetCheckEvaluation, sources: AbstractSet[str]) -> bool:
    """Whether a failed check is about one of some sources, or about something that no source owns alone."""
    named = check.metadata.get(_FAULTY)
    faulty = set(str(named.value).split(", ")) if named else set()
    everybody = {growth.check_key.name, files_are_whole.check_key.name}
    return check.check_name in everybody or bool(sources & faulty)


def _result(problems: Mapping[str, Sequence[str]], measured: dict[str, Any]) -> dg.AssetCheckResult:
    """The result of a check that found problems by source, or by entity type."""
    lines = [f"{name}: {problem}" for name, found in problems.items() for problem in found]
    return dg.AssetCheckResult(
        passed=not problems,
        severity=dg.AssetCheckSeverity.ERROR,
        description="; ".join(lines) or "Nothing is wrong.",
        metadata={**measured, **({_FAULTY: ", ".join(problems)} if problems else {})},
    )
