"""Which fields of other pages' infoboxes name a page, as in 'Character.homeworld', in any language."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect

FieldsOfBatch = Callable[[str], Mapping[int, Sequence[str]]]
"""Gives the fields that name the pages of a batch, by title key; the most frequent first."""

_MOST_FIELDS = 30
_RELATIONS = ("current_answers", "page_signals", "page_links")

# A field names a page if the page with the infobox links to it, and an item of the field is the title,
# qualifiers aside. So only links that show the title are found, which most in infoboxes do.
_NAMING = r"""
create temp table naming as
with items as (
    select title_key as from_key, field, lower(regexp_replace(trim(item), '\s*\([^()]*\)$', '')) as name
    from (
        select title_key, infobox_template || '.' || field.name as field, field.value as value
        from (
            select title_key, infobox_template, unnest(infobox_fields) as field
            from page_signals
            semi join current_answers using (batch, title_key)
            where source = $source and infobox_template is not null
        )
    ), unnest(regexp_split_to_array(value, '[;,]')) as items(item)
),
links as (
    select from_key, target_key, lower(regexp_replace(target, '\s*\([^()]*\)$', '')) as name
    from page_links
    where source = $source and kind = 'link' and from_key <> target_key
),
counted as (
    select target_key, field, count(distinct from_key) as pages
    from items
    join links using (from_key, name)
    group by all
)
select batch, title_key, list(field order by pages desc, field)[:$most] as fields
from counted
join current_answers on title_key = target_key
group by all
order by batch
"""
_OF_BATCH = "select title_key, fields from naming where batch = $batch"


@contextmanager
def naming_fields(lake: Lake, source: str) -> Iterator[FieldsOfBatch]:
    """Read which infobox fields name the pages of a source: each link is read once.

    Args:
        lake: where the pages are.
        source: which.

    Returns:
        A function that gives the fields of a batch's pages.
    """
    with connect(lake, relations=_RELATIONS, made_once=["current_answers"]) as connection:
        connection.execute(_NAMING, {"source": source, "most": _MOST_FIELDS})
        yield lambda batch: dict(connection.execute(_OF_BATCH, {"batch": batch}).fetchall())
