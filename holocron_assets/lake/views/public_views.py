"""The views that people and programs rely on: SQL by subject in `sql/`, and the tables that each reads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.place.paths import Lake

_SUBJECTS = ("pages", "entities", "tags", "people", "files", "work")
"""Files in `sql/`, in the order in which they are run: a view may use those before it."""

_LIVE = "derived_"
"""Names of interrogations' tables that count. Rows of a shadow are in `lake.NAME` only."""

_CREATED = re.compile(r"^create view \"?(\w+)\"? as", re.MULTILINE)
_READ = re.compile(r"\b(?:from|join)\s+(lake\.)?\"?(\w+)\"?")


@dataclass(frozen=True)
class View:
    """A public view.

    Attributes:
        name: its name.
        sql: the statement that makes it.
        tables: names of the tables that it reads, itself or by other views, in the order of first use.
        views: names of the public views that it names itself.
    """

    name: str
    sql: str
    tables: tuple[str, ...]
    views: tuple[str, ...] = ()

    @property
    def as_table(self) -> str:
        """The statement that makes a table of its rows in its place."""
        return self.sql.replace("create view", "create table", 1)


def public_views(lake: Lake) -> list[View]:
    """Views over the lake's own tables and those of interrogations, each after the views that it reads."""
    own = _own_views()
    known = {view.name: view for view in own}
    live = [table for table in lake.derived_tables if table.name.startswith(_LIVE)]
    return [*own, *(_view(_derived_view(table), known) for table in live)]


@dataclass(frozen=True)
class Behind:
    """The tables and views that some relations depend on.

    Attributes:
        tables: names of tables.
        views: public views, each after those that it reads.
        unknown: names that are neither.
    """

    tables: frozenset[str]
    views: tuple[View, ...]
    unknown: frozenset[str]


def all_behind(lake: Lake, names: Iterable[str]) -> Behind:
    """The tables and views that a query needs that names some relations, and no others.

    Args:
        lake: the lake of the relations.
        names: names of public views, and of tables as `lake.NAME`.
    """
    views, wanted = public_views(lake), set(names)
    tables = {f"lake.{table.name}" for table in lake.tables}
    unknown = wanted - {view.name for view in views} - tables
    for view in reversed(views):  # what a view reads stands before it
        if view.name in wanted:
            wanted.update(view.views)
    needed = tuple(view for view in views if view.name in wanted)
    read = {name.removeprefix("lake.") for name in wanted & tables}
    return Behind(frozenset(read.union(*(view.tables for view in needed))), needed, frozenset(unknown))


def tables_behind(schema: str, name: str) -> tuple[str, ...]:
    """Names of the tables that a query reads through a relation; none if the relation is not the lake's.

    For the view of an interrogation, this is only its own table: which pages count is decided elsewhere.

    Args:
        schema: the relation's schema as in the query; may be empty.
        name: the relation's name.
    """
    if schema == "lake" or name.startswith(_LIVE):
        return (name,)
    return next((view.tables for view in _own_views() if view.name == name), ())


@cache
def _own_views() -> tuple[View, ...]:
    known: dict[str, View] = {}
    for statement in _statements():
        view = _view(statement, known)
        known[view.name] = view
    return tuple(known.values())


def _statements() -> Iterator[str]:
    folder = files(__package__).joinpath("sql")
    for subject in _SUBJECTS:
        text = folder.joinpath(f"{subject}.sql").read_text(encoding="utf-8")
        yield from (statement for statement in text.split(";\n") if statement.strip())


def _view(statement: str, known: Mapping[str, View]) -> View:
    created = _CREATED.search(statement)
    if created is None:
        raise ValueError(f"no view is made by: {statement.strip()}")
    views = dict.fromkeys(name for prefix, name in _READ.findall(statement) if not prefix and name in known)
    return View(created[1], statement, tuple(dict.fromkeys(_tables_read(statement, known))), tuple(views))


def _tables_read(statement: str, known: Mapping[str, View]) -> Iterable[str]:
    for prefix, name in _READ.findall(statement):
        if prefix:
            yield name
        elif name in known:
            yield from known[name].tables


def _derived_view(table: Table) -> str:
    """The view of an interrogation: its answers about current pages, or about pairs of entities."""
    if "title_key" not in table.arrow_schema.names:
        return f'create view "{table.name}" as from lake."{table.name}"'
    return (
        f'create view "{table.name}" as from lake."{table.name}" '
        "semi join current_answers using (batch, title_key)"
    )
