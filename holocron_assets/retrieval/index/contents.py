"""What is indexed of a batch: its pages with their names, and its passages. Read from the lake in SQL."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import duckdb

from holocron_assets.lake.declaration.keys import rows_hash_sql
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import rows_there
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    PAGE_CHUNKS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
)
from holocron_assets.lake.views.database import query

READ = (PAGES, PAGE_SIGNALS, PAGE_TYPES, PAGE_LINKS, PAGE_CHUNKS, ENTITIES, ENTITY_ALIASES)
"""Tables that the index is made from, apart from those of spaces."""

RELATIONS = (
    *("current_answers", "entities"),
    *(f"lake.{table.name}" for table in (PAGE_SIGNALS, PAGE_TYPES, PAGE_LINKS, ENTITY_ALIASES)),
)
"""The relations that the queries here name."""

_PAGES = """
create or replace temp table indexed_pages as
with present as (
    select
        signals.batch, signals.source, signals.title, signals.title_key, signals.page_id, signals.revision_id,
        signals.continuity, signals.name, signals.is_redirect, signals.redirect_target
    from lake.page_signals as signals
    semi join current_answers as current
        on signals.batch = current.batch and signals.title_key = current.title_key
),
-- By the page's id, too: another page may be at the title of an entity whose page is gone.
-- The page of a merged entity tells of the one that it was merged into.
standing as (
    select
        survivor.entity_id, survivor.entity_type, survivor.state, survivor.name, own.source, own.title_key,
        own.merged_into is null as is_own
    from entities as own
    semi join present
        on own.source = present.source and own.title_key = present.title_key
        and own.page_id is not distinct from present.page_id
    join entities as survivor on survivor.entity_id = coalesce(own.merged_into, own.entity_id)
    where survivor.state not in ('merged', 'suppressed') and own.origin = 'page'
    qualify row_number() over (partition by own.source, own.title_key order by not is_own, own.entity_id) = 1
),
named as (
    select standing.title_key, alias as name
    from lake.entity_aliases join standing using (entity_id)
    where is_own
    union
    -- A redirect to a section names a part of the page.
    select links.target_key, links.from_title
    from lake.page_links as links
    join present on links.batch = present.batch and links.from_key = present.title_key
    where links.kind = 'redirect' and present.is_redirect and not contains(present.redirect_target, '#')
),
names as (select title_key, list_sort(list(distinct name)) as names from named group by title_key)
select
    signals.batch, signals.source, signals.title, signals.title_key, signals.revision_id,
    signals.continuity,
    coalesce(standing.entity_type, types.primary_type, 'Unknown') as type,
    coalesce(standing.state, 'none') as state,
    standing.entity_id, standing.entity_type,
    coalesce(standing.name, signals.name) as name,
    coalesce(names.names, []) as names
from present as signals
left join lake.page_types as types on types.batch = signals.batch and types.title_key = signals.title_key
left join standing on standing.source = signals.source and standing.title_key = signals.title_key
left join names on names.title_key = signals.title_key
where not signals.is_redirect and coalesce(types.primary_type, 'Unknown') <> 'TechnicalSitePage'
union all
select
    batch, source, title, null, revision_id, continuity, entity_type, state, entity_id, entity_type, name,
    [name]
from entities
where state not in ('merged', 'suppressed') and origin = 'mention'
"""
_DIGESTS = f"""
select batch, {rows_hash_sql("indexed_pages")}::varchar || ' ' || count(*) as digest
from indexed_pages
group by batch
"""  # noqa: S608 - a query of our own
_OF_BATCH = "select * from indexed_pages where batch = $batch order by title_key"
_OF_PASSAGE = ("title_key", "passage_id", "position", "headings", "text", "start_offset", "end_offset")


@dataclass(frozen=True)
class IndexedPage:
    """A page with its passages, as they are indexed.

    Attributes:
        row: its source, title, names, type, continuity, state and entity.
        passages: rows of table `page_chunks`, in their order.
    """

    row: Row
    passages: Sequence[Row]


def page_digests(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What the pages of each batch are called, and what they are, as a digest by batch.

    Args:
        connection: to the lake, with `RELATIONS`. It keeps the pages for `pages_of_batch`.
    """
    connection.execute(_PAGES)
    return {row["batch"]: row["digest"] for row in query(connection, _DIGESTS)}


def pages_of_batch(lake: Lake, connection: duckdb.DuckDBPyConnection, batch: str) -> list[IndexedPage]:
    """The pages of a batch that count now, with their passages.

    Args:
        lake: where the passages are. Only the batch's own file is opened.
        connection: that of `page_digests`.
        batch: which.
    """
    passages: Mapping[int, list[Row]] = defaultdict(list)
    for row in sorted(rows_there(lake, PAGE_CHUNKS, batch, _OF_PASSAGE), key=itemgetter("position")):
        passages[row["title_key"]].append(row)
    pages = query(connection, _OF_BATCH, {"batch": batch})
    return [IndexedPage(page, passages[page["title_key"]]) for page in pages]
