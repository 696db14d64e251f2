"""A query of a person's own, over the views that it names."""

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import duckdb

from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.evidence.queries import QueryError, relations_named, syntax_tree
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect
from holocron_assets.lake.views.public_views import all_behind

_FRONTIER = frozenset({"frontier", "wanted_pages"})
_HIDES_NAMES = ("TABLE_FUNCTION", "SHOW_REF")
"""Parts of a query that may read or describe relations without naming them."""

_T = TypeVar("_T")
_Read = Callable[[duckdb.DuckDBPyConnection, str], _T]


def ask_sql(lake: Lake, sources: Sequence[Source], sql: str, read: _Read[_T]) -> _T:
    """The result of a query over all views.

    Args:
        lake: what is read.
        sources: all sources; the views of what is not fetched depend on their settings.
        sql: the query.
        read: runs it on a connection, as `database.query` does.

    Raises:
        duckdb.Error: the query cannot be run.
    """
    if (named := _relations(sql)) is not None and not all_behind(lake, named).unknown - _FRONTIER:
        # To make every view takes two seconds: the views of the status need the stale batches.
        frontier = frontier_tables_of(lake, sources) if named & _FRONTIER else ""
        try:
            with connect(lake, relations=named, more_views=frontier, kind="own") as connection:
                return read(connection, sql)
        except (duckdb.CatalogException, duckdb.BinderException):
            pass  # it may need other views' macros; if not, it fails again below, with the reason
    return _of_everything(lake, sources, sql, read)


def _of_everything(lake: Lake, sources: Sequence[Source], sql: str, read: _Read[_T]) -> _T:
    # What these views need takes a third of a second to import.
    from holocron_assets.operations.state.staleness import read_staleness  # noqa: PLC0415
    from holocron_assets.operations.views import all_views  # noqa: PLC0415
    from holocron_assets.planning.batch_derivations import stale_batches  # noqa: PLC0415

    staleness = read_staleness(lake, stale_batches=stale_batches(lake, sources))
    views = all_views(sources, lake, staleness)
    with connect(lake, more_views=views, kind="own") as connection:
        return read(connection, sql)


def _relations(sql: str) -> frozenset[str] | None:
    """The relations that a query names; None if it is no SELECT, or may read others too."""
    try:
        tree, named = json.dumps(syntax_tree(sql)), relations_named(sql)
    except QueryError:
        return None
    if any(part in tree for part in _HIDES_NAMES):
        return None
    return frozenset(name if schema in {"", "main"} else f"{schema}.{name}" for schema, name in named)
