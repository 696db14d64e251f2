"""`holocron sql`: queries the lake in SQL."""

import json
from collections.abc import Sequence
from typing import Any

import click
import duckdb
from rich.console import Console

from holocron_assets.cli.console import print_rows, to_json
from holocron_assets.cli.shared import all_sources, clear_errors, counted, json_option, opened_lake
from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.evidence.queries import QueryError, relations_named, syntax_tree
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.public_views import all_behind

_FRONTIER = frozenset({"frontier", "wanted_pages"})
_HIDES_NAMES = ("TABLE_FUNCTION", "SHOW_REF")
"""Parts of a query that may read or describe relations without naming them."""


@click.command()
@click.argument("sql")
@json_option
@clear_errors
def sql(sql: str, *, as_json: bool) -> None:
    """Ask the lake in SQL (DuckDB). `holocron sql "show tables"` names the views."""
    if not sql.strip():
        raise click.UsageError('the query is empty; "show tables" names the views')
    lake, sources = opened_lake(), all_sources()
    rows = _rows_of_relations_named(lake, sources, sql)
    if rows is None:
        rows = _rows_of_everything(lake, sources, sql)
    if as_json:
        click.echo(to_json(rows))
    else:
        print_rows(Console(), "", rows)
        click.echo(counted(len(rows), "row"))


def _rows_of_relations_named(
    lake: Lake, sources: Sequence[Source], sql: str
) -> Sequence[dict[str, Any]] | None:
    """The result of a query over only the relations that it names; None if it may need more relations.

    To make every view takes two seconds: the views of the status need the stale batches.
    """
    if (named := _relations(sql)) is None or all_behind(lake, named).unknown - _FRONTIER:
        return None
    frontier = frontier_tables_of(lake, sources) if named & _FRONTIER else ""
    try:
        with connect(lake, relations=named, more_views=frontier) as connection:
            return query(connection, sql)
    except duckdb.Error:  # it may need other views' macros; if not, it fails again below, with the reason
        return None


def _rows_of_everything(lake: Lake, sources: Sequence[Source], sql: str) -> Sequence[dict[str, Any]]:
    # What these views need takes a third of a second to import.
    from holocron_assets.operations.state.staleness import read_staleness
    from holocron_assets.operations.views import all_views
    from holocron_assets.planning.batch_derivations import stale_batches

    staleness = read_staleness(lake, stale_batches=stale_batches(lake, sources))
    with connect(lake, more_views=all_views(sources, lake, staleness)) as connection:
        return query(connection, sql)


def _relations(sql: str) -> frozenset[str] | None:
    """The relations that a query names; None if it is no SELECT, or may read others too."""
    try:
        tree, named = json.dumps(syntax_tree(sql)), relations_named(sql)
    except QueryError:
        return None
    if any(part in tree for part in _HIDES_NAMES):
        return None
    return frozenset(name if schema in {"", "main"} else f"{schema}.{name}" for schema, name in named)
