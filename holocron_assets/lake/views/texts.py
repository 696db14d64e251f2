"""Descriptions of the public views and their columns, taken from the tables' declarations if possible."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import duckdb
from pydantic import Field

from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.literals import quoted
from holocron_assets.lake.views.public_views import public_views

_FILE = files(__package__).joinpath("sql", "views.yaml")
_COLUMNS = """
    select
        view_name,
        list(struct_pack(name := column_name, type := data_type) order by column_index) as columns
    from duckdb_views() join duckdb_columns() on view_oid = table_oid
    where duckdb_views.schema_name = 'main' and not duckdb_views.internal
    group by view_name
    order by view_name
"""


class DeclaredText(FrozenModel):
    """A view's entry in `views.yaml`; see there."""

    about: str
    of: tuple[str, ...] = ()
    columns: dict[str, str] = Field(default_factory=dict)
    helper: bool = False


class ViewText(NamedTuple):
    """The description of a view.

    Attributes:
        name: the view's name.
        about: what one row is; may be empty.
        is_helper: whether only other views use it.
        columns: name, type in SQL and description of each column; a description may be empty.
    """

    name: str
    about: str
    is_helper: bool
    columns: Sequence[tuple[str, str, str]]


@cache
def declared_texts() -> Mapping[str, DeclaredText]:
    """The entries of `views.yaml`, by view."""
    raw = load_yaml(_FILE.read_text(encoding="utf-8"))
    return {name: DeclaredText.model_validate(text) for name, text in raw.items()}


def view_texts(lake: Lake, connection: duckdb.DuckDBPyConnection) -> list[ViewText]:
    """The descriptions of a database's public views, by name."""
    tables = {table.name: table for table in lake.tables}
    read = {view.name: view.tables for view in public_views(lake)}
    found = connection.execute(_COLUMNS).fetchall()
    return [_text(name, columns, tables, read.get(name, ())) for name, columns in found]


def comment_on_views(lake: Lake, connection: duckdb.DuckDBPyConnection) -> None:
    """Write the descriptions of views and columns into their database, as comments."""
    for view in view_texts(lake, connection):
        if view.about:
            connection.execute(f'comment on view "{view.name}" is {quoted(view.about)}')
        for name, _, text in view.columns:
            if text:
                connection.execute(f'comment on column "{view.name}"."{name}" is {quoted(text)}')


def _text(
    name: str, columns: Iterable[Mapping[str, str]], tables: Mapping[str, Table], read: Iterable[str]
) -> ViewText:
    declared = declared_texts().get(name)
    of = [name, *(declared.of if declared else ()), *read]
    known = {
        c.name: c.description for table in reversed(of) if table in tables for c in tables[table].columns
    }
    if declared:
        about, own, is_helper = declared.about, declared.columns, declared.helper
    else:
        about, own, is_helper = tables[name].description if name in tables else "", {}, False
    texts = {**known, **own}
    described = [(c["name"], c["type"], texts.get(c["name"], "")) for c in columns]
    return ViewText(name, about, is_helper, described)
