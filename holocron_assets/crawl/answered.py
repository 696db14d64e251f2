"""What was answered for titles, asked of the lake: the side of a comparison with the wiki that we hold."""

from collections.abc import Iterable
from dataclasses import dataclass

from holocron_assets.crawl.batches import unfinished_batches
from holocron_assets.crawl.change_rows import Answer
from holocron_assets.lake.parquet import read_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES
from holocron_assets.lake.views import connect, query

# Titles first, then what was answered for them: so memory is for the titles of a slice, not for all.
_NEXT_TITLES = """
    with slice as materialized (
        select distinct title_key
        from lake.pages
        where source = $source and status in ('ok', 'missing') and title_key > $after
        order by title_key
        limit $limit
    )
    select
        title_key,
        max_by(
            struct_pack(title := title, revision_id := if(status = 'ok', revision_id, null)),
            struct_pack(fetched_at := fetched_at, batch := batch)
        ) as last
    from lake.pages semi join slice using (title_key)
    where status in ('ok', 'missing')
    group by title_key
    order by title_key
"""
# Under the name that was asked for, and under the wiki's own.
_LAST_ANSWERS = """
    with wanted as materialized (select unnest($keys) as title_key),
    answers as (
        select title_key, status, revision_id, fetched_at from lake.pages semi join wanted using (title_key)
        union all
        select requested_key, status, revision_id, fetched_at
        from lake.pages semi join wanted on requested_key = wanted.title_key
    )
    select
        title_key,
        max_by(struct_pack(is_ok := status = 'ok', revision_id := revision_id), fetched_at) as last,
        max(fetched_at) as answered_at
    from answers
    where status in ('ok', 'missing', 'invalid')
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


def answered_titles(lake: Lake, source_name: str, *, after: int, limit: int) -> list[KnownPage]:
    """Titles that were answered for, in the order of their keys.

    Args:
        lake: what was fetched.
        source_name: whose titles.
        after: only keys above this one.
        limit: at most so many; memory grows with it, not with the lake.
    """
    with connect(lake) as connection:
        rows = query(connection, _NEXT_TITLES, {"source": source_name, "after": after, "limit": limit})
    return [KnownPage(title_key=row["title_key"], **row["last"]) for row in rows]


def last_answers(lake: Lake, keys: Iterable[int]) -> dict[int, Answer]:
    """The newest answer for each of some titles; those without one are left out."""
    with connect(lake) as connection:
        rows = query(connection, _LAST_ANSWERS, {"keys": list(keys)})
    return {row["title_key"]: Answer(**row["last"], answered_at=row["answered_at"]) for row in rows}


def titles_in_flight(lake: Lake, source_name: str) -> set[int]:
    """Keys of the titles whose batch is not fetched yet."""
    return {
        row["title_key"]
        for batch in unfinished_batches(lake, source_name)
        for row in read_partition(lake, BATCH_PAGES, batch, ["title_key"])
    }
