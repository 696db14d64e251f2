"""The frontier: titles that are known and not fetched, found by a query of the lake. There is no queue."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from holocron_assets.crawl.frontier.views import frontier_mark, frontier_tables
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import query
from holocron_assets.lake.views.spilling import spilling_database

_MEMORY = "1GB"
_PENDING = """
    with chosen as materialized (
        select title, title_key, namespace, depth, failures, reason, ordinal, reported_at, via_key, inbound,
            asked_at, listed_at
        from frontier
        where status = 'pending'
        order by reason <> 'changed', reported_at, ordinal nulls last, inbound desc, title
        limit $limit
    ),
    linking as (
        select named.title_key, any_value(named.title) as title
        from (
            select title_key, title from crawl.compacted
            union all
            select title_key, title from crawl.new_pages
        ) as named
        semi join chosen on chosen.via_key = named.title_key
        group by named.title_key
    )
    select
        chosen.title, chosen.title_key, namespace, coalesce(depth, 0) as depth, failures, reason, ordinal,
        linking.title as discovered_from, reported_at, asked_at, listed_at
    from chosen left join linking on linking.title_key = chosen.via_key
    order by reason <> 'changed', reported_at, ordinal nulls last, inbound desc, chosen.title
"""
_OUTLOOK = """
    select
        coalesce(bool_or(status = 'pending'), false) as is_pending,
        exists (from known_titles where is_shortcut) as has_shortcuts,
        min(due_at) as next_due
    from frontier
    where status in ('pending', 'waiting')
"""


@dataclass(frozen=True)
class PendingPage:
    """A page to fetch.

    Attributes:
        title: canonical title.
        title_key: its key in the source.
        namespace: its namespace number.
        depth: links from the nearest seed.
        failures: failed attempts since the last requeue.
        reason: 'new', 'changed', 'retry', 'requeue' or 'added'.
        ordinal: its place in the dump, if it is in one.
        discovered_from: the page before it on a shortest way from a seed; None for a seed.
        reported_at: when its change was reported; None if the reason is another.
        asked_at: when it was last asked for; None if it never was.
        listed_at: when its source listed it; None if it did not.
    """

    title: str
    title_key: int
    namespace: int
    depth: int
    failures: int
    reason: str
    ordinal: int | None = None
    discovered_from: str | None = None
    reported_at: datetime | None = None
    asked_at: datetime | None = None
    listed_at: datetime | None = None


@dataclass(frozen=True)
class Outlook:
    """What is left to do for a crawl.

    Attributes:
        is_pending: whether a page is pending.
        has_shortcuts: whether a new link leads to a page whose own links `known_links` holds, so that their
            targets are nearer or within depth now. Only a new `known_links` shows how far that goes.
        next_due: when the first page that waits may be asked for; None if none waits.
    """

    is_pending: bool
    has_shortcuts: bool
    next_due: datetime | None


@dataclass(frozen=True)
class _Rest:
    """What was seen when nothing was pending. It stays so until the lake changes or a page is due."""

    mark: str
    read_at: datetime
    outlook: Outlook

    def lasts(self, mark: str) -> bool:
        due, now = self.outlook.next_due, utc_now()
        return mark == self.mark and self.read_at <= now and (due is None or now < due)


_RESTS: dict[tuple[Path, str], _Rest] = {}
"""What was seen when nothing was pending, by lake and source: a reading of a large lake takes seconds."""


def pending_pages(lake: Lake, source: Source, *, limit: int) -> list[PendingPage]:
    """The pages to fetch next: changed ones first, then a dump's in its order, or a wiki's by inbound links.

    Memory is at most 1 GB, plus the pages as Python objects.

    Args:
        lake: where seeds, links, batches, pages and changes are.
        source: the source of the pages.
        limit: the most pages to return.

    Raises:
        DamagedPartitionError, duckdb.Error: the lake cannot be read. This never counts as "no work".
    """
    mark, now = frontier_mark(lake, [source]), utc_now()
    if _rest(lake, source, mark):
        return []
    with _frontier(lake, source) as connection:
        rows = query(connection, _PENDING, {"limit": limit})
        if not rows:
            _read_outlook(connection, lake, source, mark, now)
    return [PendingPage(**row) for row in rows]


def outlook(lake: Lake, source: Source) -> Outlook:
    """Whether any page of a source is pending, and whether `known_links` is new enough to say so."""
    mark, now = frontier_mark(lake, [source]), utc_now()
    if rest := _rest(lake, source, mark):
        return rest.outlook
    with _frontier(lake, source) as connection:
        return _read_outlook(connection, lake, source, mark, now)


def _rest(lake: Lake, source: Source, mark: str) -> _Rest | None:
    known = _RESTS.get((lake.root, source.name))
    return known if known and known.lasts(mark) else None


def _read_outlook(
    connection: duckdb.DuckDBPyConnection, lake: Lake, source: Source, mark: str, read_at: datetime
) -> Outlook:
    seen = Outlook(**query(connection, _OUTLOOK)[0])
    if not seen.is_pending:
        _RESTS[lake.root, source.name] = _Rest(mark, read_at, seen)
    return seen


@contextmanager
def _frontier(lake: Lake, source: Source) -> Iterator[duckdb.DuckDBPyConnection]:
    with spilling_database(lake, memory=_MEMORY) as connection:
        query(connection, frontier_tables(lake, source))
        yield connection
