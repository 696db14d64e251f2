"""DuckDB over the lake: one view a table in schema `lake`, and the public views built on them."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from holocron_assets.lake.parquet import damaged_file, replacing
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Table
from holocron_assets.lake.tables import ALL_TABLES

PUBLIC_VIEWS = files("holocron_assets.lake").joinpath("views.sql").read_text(encoding="utf-8")


def connect(lake: Lake, *, more_views: str = "") -> duckdb.DuckDBPyConnection:
    """An in-memory database whose views read the lake as it is now.

    Args:
        lake: what to read.
        more_views: SQL run after the lake's own views, for views that need configuration.

    Returns:
        An open connection; the caller closes it.

    Raises:
        DamagedPartitionError: a file cannot be read.
    """
    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false; set timezone = 'UTC'")
    try:
        _create_views(connection, lake, more_views)
    except BaseException:
        connection.close()
        raise
    return connection


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The rows that a query gives, as mappings by column name.

    Raises:
        DamagedPartitionError: the query failed, and a file of the lake that was connected to is damaged.
    """
    with _damaged_files_named(connection):
        result = connection.execute(sql, dict(parameters or {}))
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def publish(lake: Lake, *, more_views: str = "") -> Path:
    """Write `holocron.duckdb`: the same views, for any DuckDB client.

    Args:
        lake: what the views read, by absolute path.
        more_views: as in `connect`.

    Returns:
        The database's path. It is replaced in one step, so a client that has it open keeps its own.

    Raises:
        DamagedPartitionError: a file cannot be read.
    """
    with replacing(lake.database) as aside:
        with duckdb.connect(aside) as connection:
            _create_views(connection, lake, more_views)
        # What a killed client left is of the old file, and DuckDB refuses to open another beside it.
        lake.database.with_name(f"{lake.database.name}.wal").unlink(missing_ok=True)
    return lake.database


def _create_views(connection: duckdb.DuckDBPyConnection, lake: Lake, more_views: str) -> None:
    connection.execute("set variable lake_root = $1", [str(lake.root.resolve())])
    with _damaged_files_named(connection):
        connection.execute("create schema lake")
        for table in ALL_TABLES:
            connection.execute(f'create view lake."{table.name}" as {rows_of(lake, table)}')
        connection.execute(PUBLIC_VIEWS)
        if more_views:
            connection.execute(more_views)


@contextmanager
def _damaged_files_named(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Look for the damaged file behind an error of DuckDB's, which names it only sometimes."""
    try:
        yield
    except duckdb.Error as error:
        root = connection.execute("select getvariable('lake_root')").fetchall()[0][0]
        every_file = Lake(Path(root)).files() if root else []
        named = [file for file in every_file if str(file) in str(error)]
        # DuckDB's Parquet reader raises a bare Error; errors in SQL have types of their own.
        for file in named or (every_file if type(error) is duckdb.Error else []):
            _refuse_damaged(connection, file)
        raise


def _refuse_damaged(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    try:
        connection.execute("select sum(hash(row)) from read_parquet($1) as row", [glob.escape(str(file))])
    except duckdb.Error as error:
        raise damaged_file(file, error) from error


def rows_of(lake: Lake, table: Table, partitions: Sequence[str] | None = None) -> str:
    """SQL that reads a table's rows, or gives its columns without rows where there is no file.

    Args:
        lake: where the files are.
        table: which table.
        partitions: only these, of which files are there; all by default, those that are written later too.
    """
    folder = lake.folder(table).resolve()
    if partitions is None:
        files = [f"{glob.escape(str(folder))}/*/data.parquet"] if any(folder.glob("*/data.parquet")) else []
    else:
        files = [glob.escape(str(folder / name / "data.parquet")) for name in partitions]
    if not files:
        return _no_rows(table)
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    if table.added_columns:
        # Every file's columns are looked at, which costs too much where there are thousands of files.
        found = f"from read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
        return f"{_no_rows(table)} union all by name {found}"
    return f"select * from read_parquet([{listed}], hive_partitioning = false)"  # noqa: S608 - own paths, quoted


@cache
def _no_rows(table: Table) -> str:
    with duckdb.connect() as connection:
        connection.register("empty_table", table.arrow_schema.empty_table())
        described = connection.execute("describe empty_table").fetchall()
    columns = ", ".join(f'cast(null as {kind}) as "{name}"' for name, kind, *_ in described)
    return f"select {columns} where false"
