"""What the lake knows about titles that a wiki answered for: our side of a comparison with the wiki."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import duckdb

from holocron_assets.crawl.frontier.coverage import coverage
from holocron_assets.crawl.frontier.views import relations, rows_now
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import query
from holocron_assets.lake.views.spilling import spilling_database

_MEMORY = "500MB"
# Both under the title that was asked for and under the wiki's own title. Of what `known_links` covers,
# only the newest outcome of a title is kept.
_OUTCOMES = """
    create view new_outcomes as
    select *, status in ('ok', 'missing', 'invalid') as is_answer from crawl.new_outcomes;

    create view outcomes as
    select
        title_key, title, asked_at, answered_at, answered_status as status, answered_revision as revision_id
    from crawl.compacted
    where asked_at is not null
    union all
    select
        requested_key, requested_title, fetched_at, if(is_answer, fetched_at, null), status, revision_id
    from new_outcomes
    union all
    select title_key, title, fetched_at, fetched_at, status, revision_id
    from new_outcomes
    where is_answer and title_key <> requested_key;

    create view answers as from outcomes where answered_at is not null;
"""
# Keys first, then the answers for them: memory then holds the titles of one slice, not all titles.
_NEXT_TITLES = """
    with pages as (from answers where status <> 'invalid'),
    slice as materialized (
        select distinct title_key from pages where title_key > $after order by title_key limit $limit
    )
    select
        title_key,
        max_by(
            struct_pack(title := title, revision_id := if(status = 'ok', revision_id, null)), answered_at
        ) as last,
        max(asked_at) as asked_at
    from pages semi join slice using (title_key)
    group by title_key
    order by title_key
"""
# A page that was never asked for needs no note of its change: a later fetch reads it as it is then. Its
# change matters only while the page is being read. It also matters where every page of the wiki is wanted,
# since the change may be the first sign of the page; the deletion of such a page asks for nothing.
_SETTLED = """
    with last as (
        select
            title_key,
            max(asked_at) as asked_at,
            max_by(struct_pack(status := status, revision_id := revision_id), answered_at) as answer
        from outcomes semi join crawl.changes using (title_key)
        group by title_key
    )
    select coalesce(list(change.title_key), []) as keys
    from crawl.changes as change
    join crawl.settings as settings using (source)
    left join last using (title_key)
    anti join crawl.manifests as in_flight using (title_key)
    where case
        when not list_contains(namespaces, namespace) then true
        when not fits_include(source, title) or fits_exclude(source, title) then true
        when asked_at is null then not is_whole or kind = 'delete'
        else is_settled(
            kind, change.revision_id, seen_at, surely_at, asked_at, answer.status, answer.revision_id
        )
    end
"""

_ASKED = """
    select
        min(last) filter (is_of_these) as first,
        max(last) filter (is_of_these) as last,
        max(last) as last_of_all
    from (
        select title_key in (select unnest($keys::bigint[])) as is_of_these, max(asked_at) as last
        from outcomes
        group by title_key
    )
"""


@dataclass(frozen=True)
class KnownPage:
    """A title for which the wiki gave an answer.

    Attributes:
        title: the wiki's own title.
        title_key: its key in the source.
        revision_id: the revision last fetched; None if the page was missing.
        asked_at: when the wiki last gave an answer for it, by our clock then.
    """

    title: str
    title_key: int
    revision_id: int | None
    asked_at: datetime


@dataclass(frozen=True)
class TimesAsked:
    """When titles were last asked for, by our clock then.

    Attributes:
        first: the earliest of some titles; None if none of them was asked for.
        last: the latest of these.
        last_of_all: the latest of all titles; None if none was asked for.
    """

    first: datetime | None
    last: datetime | None
    last_of_all: datetime | None


def answered_titles(lake: Lake, source: Source, *, after: int, limit: int) -> list[KnownPage]:
    """Titles for which the wiki gave an answer, in the order of their keys.

    Args:
        lake: the lake.
        source: the source of the titles.
        after: only keys above this one.
        limit: the most titles to return; memory grows with it, not with the lake.
    """
    with _answers(lake, source) as connection:
        rows = query(connection, _NEXT_TITLES, {"after": after, "limit": limit})
    return [KnownPage(title_key=row["title_key"], **row["last"], asked_at=row["asked_at"]) for row in rows]


def settled_changes(lake: Lake, source: Source) -> list[int]:
    """Keys of the titles in table `page_changes` that need no fetch any more."""
    with _answers(lake, source) as connection:
        keys: list[int] = query(connection, _SETTLED)[0]["keys"]
    return keys


def times_asked(lake: Lake, source: Source, keys: Sequence[int]) -> TimesAsked:
    """When titles were last asked for.

    Args:
        lake: the lake.
        source: the source of the titles.
        keys: of some titles.
    """
    with _answers(lake, source) as connection:
        return TimesAsked(**query(connection, _ASKED, {"keys": list(keys)})[0])


@contextmanager
def _answers(lake: Lake, source: Source) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the views `outcomes` and `answers`, made of `known_links` and newer batches."""
    rows = rows_now(lake, {source.name: coverage(lake, source)})
    with spilling_database(lake, memory=_MEMORY) as connection:
        query(connection, relations([source], rows))
        query(connection, _OUTCOMES)
        yield connection
