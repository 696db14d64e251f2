"""The frontier: what a source knows of and has not fetched, asked of the lake. There is no queue."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from holocron_assets.crawl.sources import Source
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.views import connect, query

_FRONTIER_VIEWS = files("holocron_assets.crawl").joinpath("frontier.sql").read_text(encoding="utf-8")
_SETTINGS = [{"source": "varchar", "is_dump": "boolean", "max_depth": "bigint", "namespaces": ["bigint"]}]
_PENDING = """
    with known as materialized (from frontier where source = $source),
    chosen as materialized (
        from known
        where status = 'pending'
        order by ordinal nulls last, inbound desc, title
        limit $limit
    ),
    linking as (
        select
            links.target_key as title_key,
            min(struct_pack(depth := coalesce(known.depth, $nowhere), title := from_title)).title as title
        from lake.page_links as links
        join chosen on links.target_key = chosen.title_key and not chosen.is_seed
        left join known on links.from_key = known.title_key
        group by links.target_key
    )
    select
        chosen.title, title_key, namespace, coalesce(depth, 0) as depth, failures, reason, ordinal,
        linking.title as discovered_from
    from chosen left join linking using (title_key)
    order by ordinal nulls last, inbound desc, chosen.title
"""
_NOWHERE = 2**31
"""Deeper than any page lies."""


@dataclass(frozen=True)
class PendingPage:
    """A page to fetch.

    Attributes:
        title: canonical title.
        title_key: its key in the source.
        namespace: its namespace number.
        depth: links from the nearest seed.
        failures: failed attempts since the last requeue.
        reason: 'new', 'retry', 'requeue' or 'added'.
        ordinal: its place in the dump, if it is in one.
        discovered_from: of the pages that link to it, the nearest to a seed; None for a seed.
    """

    title: str
    title_key: int
    namespace: int
    depth: int
    failures: int
    reason: str
    ordinal: int | None = None
    discovered_from: str | None = None


def frontier_views(sources: Iterable[Source]) -> str:
    """SQL for views `frontier` and `processing_status`, and those that they stand on.

    Args:
        sources: their depth, namespaces and patterns become view `source_settings`.
    """
    sources = list(sources)
    rows = _text(json.dumps([_settings(source) for source in sources]))
    made_from_files = f"""
        create view source_settings as
        select unnest(from_json({rows}, {_text(json.dumps(_SETTINGS))}), max_depth := 2);

        create macro fits_include(of_source, title) as
        {_fits({source.name: source.include for source in sources})};

        create macro fits_exclude(of_source, title) as
        {_fits({source.name: source.exclude for source in sources})};
    """
    return made_from_files + _FRONTIER_VIEWS


def pending_pages(lake: Lake, source: Source, *, limit: int) -> list[PendingPage]:
    """The pages to fetch next: those of a dump in its order, those of a wiki by inbound links.

    Args:
        lake: what was seeded, linked, cut and fetched so far.
        source: whose pages.
        limit: at most so many.

    Raises:
        duckdb.Error: the lake cannot be read. That is never taken for "no work".
    """
    with connect(lake, more_views=frontier_views([source])) as connection:
        rows = query(connection, _PENDING, {"source": source.name, "limit": limit, "nowhere": _NOWHERE})
    return [PendingPage(**row) for row in rows]


def _settings(source: Source) -> dict[str, Any]:
    """A source's row of view `source_settings`."""
    return {
        "source": source.name,
        "is_dump": source.kind == "mediawiki_dump",
        "max_depth": source.depth,
        "namespaces": source.namespaces,
    }


def _fits(patterns: Mapping[str, Sequence[str]]) -> str:
    """SQL for whether `title` matches a pattern of `of_source`; null for a source without patterns.

    Patterns are literals, because DuckDB compiles any other anew for every title.
    """
    cases = [
        f"when {_text(source)} then {' or '.join(f'regexp_matches(title, {_text(one)})' for one in several)}"
        for source, several in patterns.items()
        if several
    ]
    return f"case of_source {' '.join(cases)} end" if cases else "null::boolean"


def _text(value: str) -> str:
    """A literal of SQL: views and macros take no parameters."""
    return "'" + value.replace("'", "''") + "'"
