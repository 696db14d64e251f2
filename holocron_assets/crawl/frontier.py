"""The frontier: what a source knows of and has not fetched, asked of the lake. There is no queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from holocron_assets.crawl.sources import Source
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.views import connect, query

_FRONTIER_VIEWS = files("holocron_assets.crawl").joinpath("frontier.sql").read_text(encoding="utf-8")
_PENDING = """
    select title, title_key, namespace, coalesce(depth, 0) as depth, failures, reason, ordinal
    from frontier
    where status = 'pending' and source = $source
    order by ordinal nulls last, inbound desc, title
    limit $limit
"""
_DISCOVERED_FROM = """
    select target_key, arg_min(from_title, coalesce(reached.depth, 1000000))
    from lake.page_links as links
    left join reached on reached.title_key = links.from_key
    where target_key in (select unnest($keys))
    group by target_key
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
        reason: 'new', 'retry', 'requeue' or 'added'.
        ordinal: its place in the dump, if it is in one.
        discovered_from: a page that links to it, the nearest to a seed; None where nothing does.
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
    rows = ", ".join(f"({_settings(source)})" for source in sources)
    settings = f"""
        create view source_settings as
        select
            source, is_dump::boolean as is_dump, max_depth::bigint as max_depth,
            namespaces::bigint[] as namespaces, include_patterns::varchar[] as include_patterns,
            exclude_patterns::varchar[] as exclude_patterns
        from (values {rows or "(null, null, null, null, null, null)"})
            as settings (source, is_dump, max_depth, namespaces, include_patterns, exclude_patterns)
        where source is not null;
    """  # noqa: S608 - values are quoted by _text
    return settings + _FRONTIER_VIEWS


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
        rows = query(connection, _PENDING, {"source": source.name, "limit": limit})
        keys = [row["title_key"] for row in rows]
        found_on = dict(connection.execute(_DISCOVERED_FROM, {"keys": keys}).fetchall()) if keys else {}
    return [PendingPage(**row, discovered_from=found_on.get(row["title_key"])) for row in rows]


def _settings(source: Source) -> str:
    """A source's row of view `source_settings`."""
    values = [
        _text(source.name),
        str(source.kind == "mediawiki_dump"),
        "null" if source.depth is None else str(source.depth),
        str(list(source.namespaces)),
        _texts(source.include),
        _texts(source.exclude),
    ]
    return ", ".join(values)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"
