"""DuckDB over the lake: one view a table in schema `lake`, and the public views built on them."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from holocron_assets.lake.parquet import replacing
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
    """
    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false; set timezone = 'UTC'")
    _create_views(connection, lake, more_views)
    return connection


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The rows that a query gives, as mappings by column name."""
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
    """
    with replacing(lake.database) as aside, duckdb.connect(aside) as connection:
        _create_views(connection, lake, more_views)
    return lake.database


def _create_views(connection: duckdb.DuckDBPyConnection, lake: Lake, more_views: str) -> None:
    connection.execute("create schema lake")
    for table in ALL_TABLES:
        connection.execute(f'create view lake."{table.name}" as {_select(connection, lake, table)}')
    connection.execute(PUBLIC_VIEWS)
    if more_views:
        connection.execute(more_views)


def _select(connection: duckdb.DuckDBPyConnection, lake: Lake, table: Table) -> str:
    """SQL that reads a table's files, or gives its columns without rows while it has no file."""
    folder = lake.folder(table).resolve()
    if any(folder.glob("*/data.parquet")):
        pattern = str(folder / "*" / "data.parquet").replace("'", "''")
        return f"select * from read_parquet('{pattern}', hive_partitioning = false)"  # noqa: S608 - own path, quoted
    connection.register("empty_table", table.arrow_schema.empty_table())
    described = connection.execute("describe empty_table").fetchall()
    connection.unregister("empty_table")
    columns = ", ".join(f'cast(null as {kind}) as "{name}"' for name, kind, *_ in described)
    return f"select {columns} where false"
