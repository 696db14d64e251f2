"""The knowledge: rows and columns of public views, without how and when they were made."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files

import duckdb
from pydantic import Field

from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.public_views import public_views

_FILE = files(__package__).joinpath("contents.yaml")
_STANDING = "create view standing_entities as from entities where state not in ('suppressed', 'merged')"


class Content(FrozenModel):
    """One table of the knowledge, as `contents.yaml` declares it.

    Attributes:
        of: the public view that is read; by default the view with the content's name.
        key: columns that identify a row; rows are exported in their order.
        rows: SQL condition of the rows that are read.
        stands: SQL condition of the rows that count, among these.
        left_out: columns that are no knowledge, and why.
        hashed: whether it is part of the content hash.
        exported: whether it is exported unless other tables are named.
    """

    of: str | None = None
    key: tuple[str, ...]
    rows: str = "true"
    stands: str = "true"
    left_out: dict[str, str] = Field(default_factory=dict)
    hashed: bool = True
    exported: bool = True


class _File(FrozenModel):
    everywhere_left_out: dict[str, str]
    contents: dict[str, Content]


@cache
def _file() -> _File:
    return _File.model_validate(load_yaml(_FILE.read_text(encoding="utf-8")))


def contents() -> dict[str, Content]:
    """Every table of the knowledge, by its name."""
    return _file().contents


def view_of(name: str) -> str:
    """The public view from which a table of the knowledge is read."""
    return contents()[name].of or name


def tables_read(lake: Lake) -> list[Table]:
    """The lake's tables from which the knowledge is read."""
    read = {view.name: view.tables for view in public_views(lake)}
    names = {table for name in contents() for table in read[view_of(name)]}
    return [table for table in lake.tables if table.name in names]


@contextmanager
def reading(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to the lake in which the SQL of this module can be run."""
    with connect(lake, tables=tables_read(lake), more_views=_STANDING) as connection:
        yield connection


def columns_of(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    """Names of the columns that belong to the knowledge, with their types in SQL, in the view's order."""
    left_out = {**_file().everywhere_left_out, **contents()[name].left_out}
    described = query(connection, f'describe "{view_of(name)}"')
    return {row["column_name"]: row["column_type"] for row in described if row["column_name"] not in left_out}


def rows_sql(name: str, columns: Sequence[str], *, everything: bool = False) -> str:
    """SQL of a table's rows that count, in no order.

    Args:
        name: the table of the knowledge.
        columns: which columns.
        everything: whether rows that do not count are included.
    """
    content = contents()[name]
    stands = "true" if everything else content.stands
    return (
        f"select {quoted(columns)} "  # noqa: S608 - our own names and conditions
        f'from "{view_of(name)}" where ({content.rows}) and ({stands})'
    )


def row_hash(columns: Sequence[str]) -> str:
    """SQL of a row's SHA-256 in hexadecimal, made of its columns as JSON in the order of their names."""
    packed = ", ".join(f'"{name}" := "{name}"' for name in sorted(columns))
    return f"sha256(to_json(struct_pack({packed}))::varchar)"


def quoted(columns: Sequence[str]) -> str:
    """Names of columns as SQL."""
    return ", ".join(f'"{name}"' for name in columns)
