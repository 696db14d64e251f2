"""What was answered for titles, asked of the lake: the side of a comparison with the wiki that we hold."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from holocron_assets.crawl.batches import unfinished_batches
from holocron_assets.crawl.change_rows import Answer
from holocron_assets.crawl.coverage import coverage
from holocron_assets.crawl.frontier_views import relations, rows_now
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.parquet import read_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.spilling import spilling_database
from holocron_assets.lake.tables import BATCH_PAGES
from holocron_assets.lake.views import query

_MEMORY = "500MB"
# Under the name that was asked for, and under the wiki's own: of what `known_links` covers, the newest.
_ANSWERS = """
    create view answers as
    select title_key, title, answered_status as status, answered_revision as revision_id, answered_at
    from crawl.compacted
    where answered_at is not null
    union all
    select title_key, title, status, revision_id, fetched_at
    from crawl.new_outcomes
    where status in ('ok', 'missing', 'invalid')
    union all
    select requested_key, requested_title, status, revision_id, fetched_at
    from crawl.new_outcomes
    where status in ('ok', 'missing', 'invalid') and requested_key <> title_key
"""
# Keys first, then what was answered for them: so memory is for the titles of a slice, not for all.
_NEXT_TITLES = """
    with pages as (from answers where status <> 'invalid'),
    slice as materialized (
        select distinct title_key from pages where title_key > $after order by title_key limit $limit
    )
    select
        title_key,
        max_by(
            struct_pack(title := title, revision_id := if(status = 'ok', revision_id, null)), answered_at
        ) as last
    from pages semi join slice using (title_key)
    group by title_key
    order by title_key
"""
_LAST_ANSWERS = """
    with wanted as materialized (select unnest($keys) as title_key)
    select
        title_key,
        max_by(struct_pack(is_ok := status = 'ok', revision_id := revision_id), answered_at) as last,
        max(answered_at) as answered_at
    from answers semi join wanted using (title_key)
    group by title_key
"""


@dataclass(frozen=True)
class KnownPage:
    """A title that was answered for.

    Attributes:
        title: the wiki's own title.
        title_key: its key in the source.
        revision_id: the revision last fetched; None if the page was missing.
    """

    title: str
    title_key: int
    revision_id: int | None


def answered_titles(lake: Lake, source: Source, *, after: int, limit: int) -> list[KnownPage]:
    """Titles that were answered for, in the order of their keys.

    Args:
        lake: what was fetched.
        source: whose titles.
        after: only keys above this one.
        limit: at most so many; memory grows with it, not with the lake.
    """
    with _answers(lake, source) as connection:
        rows = query(connection, _NEXT_TITLES, {"after": after, "limit": limit})
    return [KnownPage(title_key=row["title_key"], **row["last"]) for row in rows]


def last_answers(lake: Lake, source: Source, keys: Iterable[int]) -> dict[int, Answer]:
    """The newest answer for each of some titles; those without one are left out."""
    with _answers(lake, source) as connection:
        rows = query(connection, _LAST_ANSWERS, {"keys": list(keys)})
    return {row["title_key"]: Answer(**row["last"], answered_at=row["answered_at"]) for row in rows}


def titles_in_flight(lake: Lake, source_name: str) -> set[int]:
    """Keys of the titles whose batch is not fetched yet."""
    return {
        row["title_key"]
        for batch in unfinished_batches(lake, source_name)
        for row in read_partition(lake, BATCH_PAGES, batch, ["title_key"])
    }


@contextmanager
def _answers(lake: Lake, source: Source) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database whose view `answers` holds what `known_links` and the batches since then say."""
    rows = rows_now(lake, {source.name: coverage(lake, source)})
    with spilling_database(lake, memory=_MEMORY) as connection:
        query(connection, relations([source], rows))
        query(connection, _ANSWERS)
        yield connection
