"""Queries that an interrogation may ask of the lake: one SELECT that reads views and nothing else.

Two checks ensure this. The query's syntax tree holds only what is known to read, and to give the same rows
again. The database opens no file outside the lake, installs nothing, and allows no change of a setting.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Timer
from typing import Any

import duckdb

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.empty_database import empty_database
from holocron_assets.lake.views.public_views import all_behind

# A statement with side effects may stand in place of a query: in DuckDB 2, a CTE may insert
_QUERIES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE"})
_TABLES = frozenset({"BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY", "EXPRESSION_LIST", "PIVOT", "TABLE_FUNCTION"})
_TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series"})
_SCHEMAS = frozenset({"", "main", "lake"})
# With one argument it counts until today; DuckDB's list has one entry for it and the form with two
_ALSO_UNSTEADY = frozenset({"age"})
_VIEW_NAME = re.compile(r"(?!(?:duckdb|sqlite|pragma|pg)_)[a-z_][a-z0-9_]*", re.IGNORECASE)
MOST_ROWS = 10_000
"""Most rows that a query may give about an item."""

# Errors by the query or its values; the machine, or a file that was just replaced, causes the others
_PERMANENT = (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError, duckdb.PermissionException)
_CLOCK_WORDS = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})


class QueryError(ValueError):
    """A query is not allowed, or gave no rows in time.

    Attributes:
        is_transient: whether the same query may be answered later.
    """

    def __init__(self, reason: str, *, is_transient: bool = False) -> None:
        """Say why."""
        super().__init__(reason)
        self.is_transient = is_transient


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The result of a query: column names, and values by row; no names where there are no rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


AskSql = Callable[[str, Mapping[str, Any], float], QueryRows]
"""Asks a query, with the values that it may name, and the seconds that it may take."""


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that is allowed.

    Attributes:
        parameters: names of the values that it names.
        is_ordered: whether it says in which order its rows come.
    """

    parameters: frozenset[str]
    is_ordered: bool


@cache
def check_query(sql: str) -> CheckedQuery:
    """Refuse a query that does more than read the lake's views, or that may give other rows the next time.

    Raises:
        QueryError: it is not one SELECT, reads a file, or calls a function that depends on time, chance or
            settings, or a table function that is not known to be harmless.
    """
    tree = syntax_tree(sql)
    for node in _nodes(tree):
        if problem := _problem(node):
            raise QueryError(f"query {_shown(sql)}: {problem}")
    modifiers = tree["node"]["modifiers"]
    return CheckedQuery(
        parameters=frozenset(node["identifier"] for node in _nodes(tree) if node.get("class") == "PARAMETER"),
        is_ordered=any(modifier["type"] == "ORDER_MODIFIER" for modifier in modifiers),
    )


@cache
def relations_named(sql: str) -> frozenset[tuple[str, str]]:
    """Schema and name of each relation that a query reads, without those that it defines itself.

    Raises:
        QueryError: it is not one SELECT.
    """
    return frozenset(_relations(syntax_tree(sql), frozenset()))


def _relations(tree: Any, defined: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Relations that a part of a syntax tree reads, where some names are common table expressions."""
    if isinstance(tree, dict):
        if tree.get("type") == "BASE_TABLE" and "table_name" in tree:
            schema, name = tree["schema_name"].lower(), tree["table_name"].lower()
            if schema or name not in defined:
                yield schema, name
        if tree.get("type") == "RECURSIVE_CTE_NODE":
            defined |= {tree["cte_name"].lower()}
        for each in (tree.get("cte_map") or {}).get("map", ()):
            yield from _relations(each["value"], defined)  # it does not see itself, nor those after it
            defined |= {each["key"].lower()}
        tree = [part for name, part in tree.items() if name != "cte_map"]
    if isinstance(tree, list):
        for part in tree:
            yield from _relations(part, defined)


def remembering(ask_sql: AskSql | None) -> AskSql | None:
    """A function that asks each query once: an item may be cut again after the lake was closed."""
    if ask_sql is None:
        return None
    known: dict[str, QueryRows] = {}

    def ask(sql: str, values: Mapping[str, Any], seconds: float) -> QueryRows:
        if sql not in known:
            known[sql] = ask_sql(sql, values, seconds)
        return known[sql]

    return ask


def relations_to_open(lake: Lake, named: Iterable[tuple[str, str]]) -> Collection[str] | None:
    """Relations that queries read, as `connect` takes them; None, which opens all, if the lake lacks one.

    Args:
        lake: the lake of the relations.
        named: schema and name of each.
    """
    names = {name if schema in {"", "main"} else f"{schema}.{name}" for schema, name in named}
    return None if all_behind(lake, names).unknown else names


@contextmanager
def locked_database(
    lake: Lake, named: Iterable[tuple[str, str]] | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The lake's views, in a database that opens no file but the lake's and keeps its settings.

    It could still write into the lake: only checked queries may be asked of it.

    Args:
        lake: what to read.
        named: schema and name of the relations that will be read, which is quicker; all by default.
    """
    relations = None if named is None else relations_to_open(lake, named)
    with connect(lake, relations=relations, kind="locked") as connection:
        yield connection


def ask_query(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any], seconds: float
) -> QueryRows:
    """Ask a query about one item.

    Args:
        connection: the connection of `locked_database`.
        sql: the query.
        values: the values that it may name.
        seconds: how long it may take.

    Raises:
        QueryError: it is not allowed, fails, takes longer, or gives more than `MOST_ROWS` rows.
    """
    checked = check_query(sql)
    if unknown := checked.parameters - values.keys():
        raise QueryError(
            f"query {_shown(sql)}: no value is called {sorted(unknown)}; there are {sorted(values)}"
        )
    try:
        with interrupted_after(connection, seconds):
            named = {name: values[name] for name in checked.parameters}
            asked = _ties_ordered(connection, sql, named) if checked.is_ordered else _bare(sql)
            # Rows are counted before they are fetched: a query should give few, and a lake has millions.
            found = query(connection, f"from ({asked}\n) limit {MOST_ROWS + 1}", named)
    except duckdb.InterruptException as error:
        raise QueryError(f"query {_shown(sql)}: took longer than {seconds:g} s", is_transient=True) from error
    except duckdb.Error as error:
        is_transient = not isinstance(error, _PERMANENT)
        raise QueryError(f"query {_shown(sql)}: {error}", is_transient=is_transient) from error
    if len(found) > MOST_ROWS:
        raise QueryError(
            f"query {_shown(sql)}: gave more than {MOST_ROWS:,} rows; add a condition, or order and limit"
        )
    rows = [tuple(row.values()) for row in found]
    if not checked.is_ordered:
        rows.sort(key=repr)
    return QueryRows(tuple(found[0]) if found else (), tuple(rows))


def _bare(sql: str) -> str:
    return sql.rstrip().removesuffix(";")


def _ties_ordered(connection: duckdb.DuckDBPyConnection, sql: str, named: Mapping[str, Any]) -> str:
    columns = connection.execute(f"describe from ({_bare(sql)}\n)", dict(named)).fetchall()
    return _with_ties_ordered(sql, len(columns))


@cache
def _with_ties_ordered(sql: str, columns: int) -> str:
    tree = syntax_tree(sql)
    order_ties(tree, columns)
    return sql_of_tree(tree)


def order_ties(tree: Mapping[str, Any], columns: int) -> None:
    """Let rows that an ordered query ranks alike come in the order of their columns, in its syntax tree.

    Args:
        tree: the tree, which is changed.
        columns: how many columns the query gives.
    """
    for modifier in tree["node"]["modifiers"]:
        if modifier["type"] == "ORDER_MODIFIER":
            modifier["orders"] += [_by_place(place) for place in range(1, columns + 1)]


def _by_place(place: int) -> dict[str, Any]:
    literal = {"kind": "INTEGER", "text": str(place)}
    constant = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "literal": literal}
    return {"type": "ORDER_DEFAULT", "null_order": "ORDER_DEFAULT", "expression": constant}


def sql_of_tree(tree: Mapping[str, Any]) -> str:
    """The SQL of a syntax tree.

    Raises:
        duckdb.Error: DuckDB cannot write it.
    """
    statement = json.dumps({"error": False, "statements": [tree]})
    with empty_database() as connection:
        [[sql]] = connection.execute("select json_deserialize_sql($1)", [statement]).fetchall()
    return str(sql)


@contextmanager
def interrupted_after(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt a connection's query if it takes longer than some seconds."""
    alarm = Timer(seconds, connection.interrupt)
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
        alarm.join()  # an alarm that goes off now would stop the next query


def syntax_tree(sql: str) -> dict[str, Any]:
    """The syntax tree of a query, by DuckDB's parser.

    Raises:
        QueryError: it is not one SELECT.
    """
    with empty_database() as connection:
        [[answer]] = connection.execute("select json_serialize_sql($1)", [sql]).fetchall()
    tree = json.loads(answer)
    if tree["error"]:
        raise QueryError(f"query {_shown(sql)}: {tree['error_message']}")
    if len(tree["statements"]) != 1:
        raise QueryError(f"query {_shown(sql)}: {len(tree['statements'])} statements instead of one SELECT")
    statement: dict[str, Any] = tree["statements"][0]
    return statement


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = tuple(tree.values())
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        for part in tree:
            yield from _nodes(part)


def _problem(node: Mapping[str, Any]) -> str | None:
    if node.get("sample") is not None:
        return "a sample may hold other rows the next time"
    if "cte_map" in node:
        return None if node["type"] in _QUERIES else "only SELECT is allowed"
    if "sample" in node and "alias" in node:
        return _table_problem(node)
    if node.get("class") == "FUNCTION" and node["function_name"].lower() in _unsteady_functions():
        return f"function {node['function_name']} may give another value the next time"
    if node.get("class") == "COLUMN_REF" and node["column_names"][-1].lower() in _CLOCK_WORDS:
        return f"{node['column_names'][-1]} gives another value the next time"
    return None


def _table_problem(node: Mapping[str, Any]) -> str | None:
    if node["type"] not in _TABLES:
        return "only views of the lake can be read"
    if node["type"] == "TABLE_FUNCTION" and node["function"].get("function_name") not in _TABLE_FUNCTIONS:
        return f"of table functions, only {', '.join(sorted(_TABLE_FUNCTIONS))} are allowed"
    if node["type"] == "BASE_TABLE" and not (
        _VIEW_NAME.fullmatch(node["table_name"])
        and node["schema_name"] in _SCHEMAS
        and not node["catalog_name"]
    ):
        return f"{node['table_name']!r} is no view of the lake"
    return None


@cache
def _unsteady_functions() -> frozenset[str]:
    """Functions that depend on time, chance or settings, by DuckDB's own list."""
    with empty_database() as connection:
        found = connection.execute(
            "select distinct function_name from duckdb_functions() where stability <> 'CONSISTENT'"
        ).fetchall()
    return frozenset(name for (name,) in found) | _ALSO_UNSTEADY


def _shown(sql: str) -> str:
    return repr(" ".join(sql.split())[:100])
