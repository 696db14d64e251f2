"""`holocron sql`: queries the lake in SQL."""

import click
import duckdb

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import all_sources, clear_errors, counted, json_option, opened_lake
from holocron_assets.doors.asking_sql import ask_sql
from holocron_assets.lake.views.database import query


@click.command()
@click.argument("sql")
@json_option
@clear_errors
def sql(sql: str, *, as_json: bool) -> None:
    """Ask the lake in SQL (DuckDB). `holocron sql "show tables"` names the views."""
    if not _says_something(sql):
        raise click.UsageError('the query is empty; "show tables" names the views')
    rows = ask_sql(opened_lake(), all_sources(), sql, query)
    if as_json:
        click.echo(to_json(rows))
    else:
        print_rows(terminal(), "", rows)
        click.echo(counted(len(rows), "row"))


def _says_something(sql: str) -> bool:
    """Whether there is a statement in a query, and not only spaces, semicolons and comments.

    Raises:
        UnicodeEncodeError: it is not UTF-8; DuckDB would only say that it wants a text.
    """
    sql.encode()
    try:
        return bool(duckdb.extract_statements(sql))
    except duckdb.Error:  # it is reported with its place when the query is run
        return True
