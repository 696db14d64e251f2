"""DuckDB over the lake: one view a table in schema `lake`, and the public views built on them."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.files.rows import no_rows, rows_at_any_time, rows_of, write_columns
from holocron_assets.lake.files.verifying import faulty_files
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.public_views import View, all_behind, public_views
from holocron_assets.lake.views.spilling import Kind, spilling_database
from holocron_assets.lake.views.texts import comment_on_views

__all__ = ["MEMORY", "arrow", "connect", "damaged_files_named", "publish", "query", "rows_of"]

MEMORY = "1GB"
"""The memory that a connection to the lake may use; it spills the rest to the lake's disk."""

_TRIES = 3
_ERRORS_OF_FILES = (duckdb.Error, duckdb.IOException, duckdb.InvalidInputException, UnicodeDecodeError)
"""Errors of DuckDB's Parquet reader; errors in SQL have types of their own."""
_NAMELESS = (duckdb.Error, UnicodeDecodeError)
"""Those of them whose texts may not name the file."""

_MAKES_VIEW = re.compile(r"(?:\s|--.*\n)*create (?:or replace )?view (?P<name>\S+) as\b")
_T = TypeVar("_T")


@contextmanager
def connect(  # noqa: PLR0913 - what is in it, and its kind
    lake: Lake,
    *,
    tables: Iterable[Table] | None = None,
    relations: Iterable[str] | None = None,
    made_once: Collection[str] = (),
    more_views: str = "",
    kind: Kind = "open",
) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory database whose views read the lake as it was when the connection was made.

    Args:
        lake: what to read.
        tables: only these, and views over them alone, are there, which is quicker; all by default.
        relations: in place of `tables`, names of public views, and of tables as `lake.NAME`: only these and
            what they depend on are there, which is quicker still.
        made_once: names of public views that are made as tables, for a caller that reads them several times:
            most of the time of a small query is that of opening its files.
        more_views: SQL run after the lake's own views, for views that need configuration.
        kind: of the database; see `spilling_database`.

    Raises:
        DamagedPartitionError: a file cannot be read.
    """
    views: Sequence[View] = public_views(lake)
    if relations is not None:
        behind = all_behind(lake, relations)
        tables, views = [table for table in lake.tables if table.name in behind.tables], behind.views
    named = lake.tables if tables is None else tables
    rows = {table: rows_of(lake, table) for table in named}
    with spilling_database(lake, memory=MEMORY, kind=kind) as connection:
        for sql in _views_of_now(views, rows, more_views, made_once):
            _patiently(connection, partial(connection.execute, sql))
        yield connection


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The rows that a query gives, as mappings by column name.

    Of columns with one name, all but the first have a number behind it: `title`, `title_1`.

    Raises:
        DamagedPartitionError: the query failed, and a file of the connected lake is damaged.
    """

    def rows() -> list[dict[str, Any]]:
        result = connection.execute(sql, dict(parameters or {}))
        names = _numbered([column[0] for column in result.description or ()])
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    return _patiently(connection, rows)


def _numbered(names: list[str]) -> list[str]:
    taken = set(names)
    if len(taken) == len(names):
        return names
    numbered = list[str]()
    for name in names:
        free = (f"{name}_{number}" for number in count(1))
        numbered.append(name if name not in numbered else next(one for one in free if one not in taken))
        taken.add(numbered[-1])
    return numbered


def arrow(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None
) -> pa.Table:
    """What a query gives, as an Arrow table.

    Raises:
        DamagedPartitionError: the query failed, and a file of the connected lake is damaged.
    """

    def table() -> pa.Table:
        found = connection.sql(sql, params=dict(parameters or {}))
        return pa.table({}) if found is None else found.to_arrow_table()  # a statement may give nothing

    return _patiently(connection, table)


def publish(lake: Lake, *, more_views: str = "") -> Path:
    """Write `holocron.duckdb`: the same views, for any DuckDB client, with comments that describe them.

    Args:
        lake: the lake that the views read, by absolute path.
        more_views: as for `connect`.

    Returns:
        The database's path. The file is replaced in one step, so a client that has it open keeps the old one.

    Raises:
        DamagedPartitionError: a pack cannot be read.
    """
    for table in lake.tables:
        write_columns(lake, table)
    rows = {table.name: rows_at_any_time(lake, table) for table in lake.tables}
    # Over files, DuckDB would open those of all tables behind a view for each view that is made.
    empty = {name: f'create table lake."{name}" as from ({sql}) limit 0' for name, sql in rows.items()}
    with replacing(lake.database) as aside:
        aside.unlink()  # DuckDB does not accept an empty file as a new database
        with duckdb.connect(aside) as connection:
            connection.execute("begin")  # the disk is waited for once, not for every view and comment
            views = (view.sql for view in public_views(lake))
            statements = ["create schema lake", *empty.values(), *views, more_views]
            _make_views_of_views(connection, statements)
            for name, sql in rows.items():
                connection.execute(f'drop table lake."{name}"; {_view_of_rows(name, sql)}')
            comment_on_views(lake, connection)
            connection.execute("commit")
        # A killed client may leave a log of the old file, with which DuckDB refuses to open the new one.
        lake.database.with_name(f"{lake.database.name}.wal").unlink(missing_ok=True)
    return lake.database


def _make_views_of_views(connection: duckdb.DuckDBPyConnection, sql: Iterable[str]) -> None:
    """Run statements over tables without rows. Views are made last, those that read others first.

    For each view that it makes, DuckDB goes through all views behind it. So until a view is made, there is a
    table in its place.
    """
    views: list[tuple[str, str]] = []
    for statement in connection.extract_statements(";\n".join(sql)):
        if made := _MAKES_VIEW.match(statement.query):
            name, asked = made["name"], statement.query[made.end() :]
            views.append((name, asked))
            connection.execute(f"create table {name} as {asked}")
        else:
            connection.execute(statement)
    for name, asked in reversed(views):
        connection.execute(f"drop table {name}; create view {name} as {asked}")


def _views_of_now(
    views: Iterable[View], rows: Mapping[Table, str], more_views: str, made_once: Collection[str]
) -> Iterator[str]:
    """SQL that makes the tables of the lake, and then all views.

    For each view that it makes, DuckDB opens the files of all tables behind it. So until all are made, a
    table without rows is in the place of each of those.
    """
    named = {table.name for table in rows}
    made = [view for view in views if named >= set(view.tables)]
    behind = set[str]().union(*(view.tables for view in made))
    yield "create schema lake"
    for table, sql in rows.items():
        empty = f'create table lake."{table.name}" as {no_rows(table)}'
        yield empty if table.name in behind else _view_of_rows(table.name, sql)
    yield from (view.sql for view in made)
    for table, sql in rows.items():
        if table.name in behind:
            yield f'drop table lake."{table.name}"'
            yield _view_of_rows(table.name, sql)
    for view in (one for one in made if one.name in made_once):
        yield f'drop view "{view.name}"'
        yield view.as_table
    if more_views:
        yield more_views


def _view_of_rows(name: str, rows: str) -> str:
    return f'create view lake."{name}" as {rows}'


def _patiently(connection: duckdb.DuckDBPyConnection, ask: Callable[[], _T]) -> _T:
    """Ask again if a file was replaced while it was read, and name a damaged file.

    DuckDB opens a file several times in a query. It may find the footer of one version and the rows of the
    next, and then it mostly raises an error. If all columns that it reads lie at the same places in both, it
    gives rows of the next version, and no more than the older one had. What is derived from them is made
    again, since fingerprints of inputs are taken before their rows are read.
    """
    for _ in range(_TRIES - 1):
        try:
            return ask()
        except (duckdb.Error, UnicodeDecodeError) as error:
            if type(error) not in _ERRORS_OF_FILES:
                raise
    with damaged_files_named(connection):
        return ask()


@contextmanager
def damaged_files_named(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Find the damaged file behind an error of DuckDB, which does not always name it.

    Args:
        connection: to the lake, of `connect`.

    Raises:
        DamagedPartitionError: there was an error, and a file is damaged. Without one, the error is raised.
        UnreadableFileError: the same, and the system cannot read a file.
    """
    try:
        yield
    except (duckdb.Error, UnicodeDecodeError) as error:
        root = connection.execute("select getvariable('lake_root')").fetchall()[0][0]
        every_file = Lake(Path(root)).files() if root else []
        # Only by the part within the lake: its folder may be a link, and DuckDB knows where that leads.
        named = [file for file in every_file if "/".join(file.parts[-4:]) in str(error)]
        for fault in faulty_files(named or (every_file if type(error) in _NAMELESS else [])):
            raise fault from error
        raise
