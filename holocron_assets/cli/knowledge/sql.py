"""`holocron sql`: asks the lake in SQL."""

import click
from rich.console import Console

from holocron_assets.cli.console import print_rows, to_json
from holocron_assets.cli.shared import all_sources, clear_errors, counted, json_option, opened_lake
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.state.staleness import read_staleness
from holocron_assets.operations.views import all_views


@click.command()
@click.argument("sql")
@json_option
@clear_errors
def sql(sql: str, *, as_json: bool) -> None:
    """Ask the lake in SQL (DuckDB). `holocron sql "show tables"` names the views."""
    if not sql.strip():
        raise click.UsageError('the query is empty; "show tables" names the views')
    from holocron_assets.planning.batch_steps import stale_batches

    lake, sources = opened_lake(), all_sources()
    staleness = read_staleness(lake, stale_batches=stale_batches(lake, sources))
    with connect(lake, more_views=all_views(sources, lake, staleness)) as connection:
        rows = query(connection, sql)
    if as_json:
        click.echo(to_json(rows))
    else:
        print_rows(Console(), "", rows)
        click.echo(counted(len(rows), "row"))
