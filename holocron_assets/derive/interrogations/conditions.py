"""Conditions: which pages, pairs or entities are wanted. They run over rows in an empty database."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from holocron_assets.derive.evidence.queries import check_query, locked_database, relations_named
from holocron_assets.derive.interrogations.derived_tables import ROW_TABLES, Over
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_TYPES, RULE_CLASSIFICATIONS
from holocron_assets.lake.views.database import query
from holocron_assets.lake.views.empty_database import closed_database

TYPE_TABLES = {table.name: table for table in (PAGE_TYPES, RULE_CLASSIFICATIONS)}
"""Tables that can give a page's type, by name."""

_KEY = "title_key"
_POSITION = "row_number_in_file"
_ROWS = "wanted_rows"


class ConditionError(PermanentError, ValueError):
    """A condition cannot be used."""


def check_condition(condition: str, over: Over, of: str, lake: Lake | None = None) -> None:
    """Refuse a condition that does not compile, gives no truth value, or does more than read.

    Args:
        condition: an SQL expression.
        over: the kind of the rows.
        of: for pages, the table that their type is read from.
        lake: with the tables that it may read. Without a lake, a condition that reads a table is only parsed.

    Raises:
        ConditionError: says what is wrong.
    """
    empty = [table.arrow_schema.empty_table() for table in _tables(over, of)]
    # As a column, to learn its type; and after WHERE, since not every expression is allowed there.
    asked = f"from {_ROWS} select ({condition}) as wanted where ({condition})"
    try:
        check_query(asked)
        if lake is None and relations_of_condition(condition):
            return
        with _opened(over, empty, lake, relations_of_condition(condition)) as connection:
            [[_, kind, *_]] = connection.execute(f"describe {asked}").fetchall()
    except (ValueError, duckdb.Error) as error:
        raise ConditionError(f"wants.sql: {condition!r} cannot be asked: {error}") from error
    if kind != "BOOLEAN":
        raise ConditionError(f"wants.sql: {condition!r} is no condition, but of type {kind}")


def relations_of_condition(condition: str) -> frozenset[tuple[str, str]]:
    """Schema and name of each relation that a condition reads in addition to the row.

    Raises:
        QueryError: it is no expression.
    """
    return relations_named(f"from {_ROWS} select 1 where ({condition})") - {("", _ROWS)}


def rows_that_fit(  # noqa: PLR0913 - two say which rows, three the conditions
    over: Over,
    tables: list[pa.Table],
    conditions: list[str],
    values: dict[str, Any],
    lake: Lake,
    *,
    columns: Sequence[str],
) -> list[dict[str, Any]]:
    """The rows that fit all conditions, in the first table's order.

    Args:
        over: the kind of the rows.
        tables: for pages, a partition's rows of page_signals and of the table of their types; otherwise,
            those of the table in `ROW_TABLES`.
        conditions: SQL expressions over a row.
        values: the values that the conditions name with `$`.
        lake: what they may read in addition to the rows.
        columns: those to give. A page has some fifty, of which items need a few.

    Raises:
        ConditionError: a condition failed on some row.
    """
    where = " and ".join(f"({condition})" for condition in conditions) or "true"
    fitting = f"from {_ROWS} select {', '.join(columns)} where {where} order by {_POSITION}"
    named = frozenset[tuple[str, str]]().union(*map(relations_of_condition, conditions))
    try:
        with _opened(over, tables, lake if named else None, named) as connection:
            return query(connection, fitting, values)
    except duckdb.Error as error:
        raise ConditionError(f"condition {where!r} failed: {error}") from error


def _tables(over: Over, of: str) -> list[Table]:
    return [ROW_TABLES[over], *([TYPE_TABLES[of]] if over == "pages" else [])]


@contextmanager
def _opened(
    over: Over, tables: list[pa.Table], lake: Lake | None, named: Iterable[tuple[str, str]]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the rows as `wanted_rows`, and with the named relations of a lake if there is one."""
    with locked_database(lake, named) if lake else closed_database() as connection:
        for number, table in enumerate(tables):
            connection.register(f"part_{number}", table)
        rows = f"from (from part_0 select *, row_number() over () as {_POSITION})"
        if over == "pages":
            shared = set(tables[0].column_names) & set(tables[1].column_names) - {_KEY}
            rows += f" join (from part_1 select * exclude ({', '.join(sorted(shared))})) using ({_KEY})"
        connection.execute(f"create temp view {_ROWS} as {rows}")
        yield connection
