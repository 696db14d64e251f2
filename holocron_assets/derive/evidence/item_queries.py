"""Queries about many items at once: a query that names values of an item becomes a join with all items.

In the query's syntax tree, each `$name` becomes a column of a relation of items, and the query is joined with
that relation laterally. Each item gets the rows that the query gives when it is asked about that item alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from holocron_assets.derive.evidence.queries import (
    MOST_ROWS,
    AskSql,
    QueryError,
    QueryRows,
    ask_query,
    check_query,
    interrupted_after,
    order_ties,
    sql_of_tree,
    syntax_tree,
)
from holocron_assets.lake.views.database import query

ITEMS = "holocron_items"
"""The relation of items: column `holocron_item` and a column for each value that a query may name."""

_TIMES_LONGER = 6
"""The most time for all items together, as a multiple of the time for one."""

_MOST_ROWS_AT_ONCE = 200_000
"""The most rows of all items to hold in memory; a query that gives more is asked item by item."""

_DIRECTIONS = {"ORDER_DEFAULT": "", "ASCENDING": "asc", "DESCENDING": "desc"}
_NULLS = {"ORDER_DEFAULT": "", "NULLS FIRST": "nulls first", "NULLS LAST": "nulls last"}
"""How a syntax tree calls what SQL says of an order."""

_Values = tuple[tuple[str, Any], ...]


class NotAtOnceError(ValueError):
    """A query cannot be asked about many items at once."""


@dataclass(frozen=True)
class ItemQuery:
    """A query that can be asked about all rows of `ITEMS` at once.

    Attributes:
        sql: the query, which names columns of `ITEMS` from outside.
        order: SQL of the columns by which an item's rows are ordered; empty if the query does not say it.
        only_for_order: columns of `sql` that are there to order by, and are no columns of the query.
    """

    sql: str
    order: str = ""
    only_for_order: tuple[str, ...] = ()

    @property
    def joined(self) -> str:
        """SQL of `holocron_item`, `holocron_row` (its place among the item's) and the query's columns."""
        return self._joined(f"* exclude ({', '.join(self.only_for_order)})" if self.only_for_order else "*")

    @property
    def as_json(self) -> str:
        """SQL of `holocron_item`, `holocron_row` and `row_json`: the query's columns as JSON."""
        return self._joined("to_json(answer)::varchar as row_json")

    def _joined(self, columns: str) -> str:
        # A join does not keep the order of its rows, so the place of a row states the order once more.
        order = f"order by {self.order}" if self.order else ""
        return (
            f"select {ITEMS}.holocron_item, answers.* from {ITEMS}, lateral ("  # noqa: S608 - it was checked
            f"select row_number() over ({order}) as holocron_row, {columns} from ({self.sql}\n) as answer "
            f"limit {MOST_ROWS + 1}) as answers"
        )


def item_query(connection: duckdb.DuckDBPyConnection, sql: str) -> ItemQuery:
    """Rewrite a query so that it is asked about all items at once. Equal rows are ordered by their columns.

    Args:
        connection: to a database with `ITEMS` and all that the query reads.
        sql: a query that was checked.

    Raises:
        NotAtOnceError: it cannot be asked at once, or would choose other rows.
    """
    tree = _with_columns(syntax_tree(sql))
    orders = [one["orders"] for one in tree["node"]["modifiers"] if one["type"] == "ORDER_MODIFIER"]
    if not orders:
        if {one["type"] for one in tree["node"]["modifiers"]} - {"DISTINCT_MODIFIER"}:
            raise NotAtOnceError("which rows it takes depends on where they lie")
        return ItemQuery(_sql_of(tree))
    columns = _columns(connection, ItemQuery(_sql_of(tree)))
    keys, only_for_order = _order_keys(tree["node"], orders[0], columns)
    order_ties(tree, len(columns))
    return ItemQuery(_sql_of(tree), ", ".join((*keys, *map(_identifier, columns))), only_for_order)


@contextmanager
def asking_at_once(
    connection: duckdb.DuckDBPyConnection, items: Sequence[Mapping[str, Any]]
) -> Iterator[AskSql]:
    """A function that asks queries about some items: each query once, about all of them.

    A query that cannot be asked at once, fails or takes long is asked item by item, and errors name the item.

    Args:
        connection: that of `locked_database`.
        items: the values that each item's queries may name.
    """
    known: dict[str, dict[_Values, QueryRows] | None] = {}
    connection.register(ITEMS, _relation(items))

    def ask(sql: str, values: Mapping[str, Any], seconds: float) -> QueryRows:
        check_query(sql)
        if sql not in known:
            known[sql] = _ask_all(connection, sql, items, seconds) if len(items) > 1 else None
        found = known[sql]
        answer = found.get(_named(values)) if found is not None else None
        return ask_query(connection, sql, values, seconds) if answer is None else answer

    try:
        yield ask
    finally:
        connection.unregister(ITEMS)


def _ask_all(
    connection: duckdb.DuckDBPyConnection, sql: str, items: Sequence[Mapping[str, Any]], seconds: float
) -> dict[_Values, QueryRows] | None:
    """The rows of each item that has no more than allowed; None if the query is to be asked item by item."""
    try:
        with interrupted_after(connection, seconds * _TIMES_LONGER):
            asked = item_query(connection, sql)
            limited = f"from ({asked.joined}) limit {_MOST_ROWS_AT_ONCE + 1}"
            rows = query(connection, f"from ({limited}) order by holocron_item, holocron_row")
            names = _names(connection, sql, items[0])
    except (NotAtOnceError, QueryError, duckdb.Error):
        return None
    if len(rows) > _MOST_ROWS_AT_ONCE:
        return None
    found: dict[int, list[tuple[Any, ...]]] = {number: [] for number in range(len(items))}
    for row in rows:
        found[row["holocron_item"]].append(tuple(row.values())[2:])
    return {
        _named(items[number]): _rows(names, own, is_ordered=bool(asked.order))
        for number, own in found.items()
        if len(own) <= MOST_ROWS
    }


def _rows(names: tuple[str, ...], rows: list[tuple[Any, ...]], *, is_ordered: bool) -> QueryRows:
    if not is_ordered:
        rows.sort(key=repr)
    return QueryRows(names if rows else (), tuple(rows))


def _names(connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a query's columns: a column may be named after the value that it holds."""
    named = {name: values[name] for name in check_query(sql).parameters}
    found = connection.execute(f"from ({sql.rstrip().removesuffix(';')}\n) limit 0", named)
    return tuple(column[0] for column in found.description or ())


def _named(values: Mapping[str, Any]) -> _Values:
    return tuple(sorted(values.items()))


def _relation(items: Sequence[Mapping[str, Any]]) -> pa.Table:
    names = sorted({name for values in items for name in values})
    columns = {name: [values.get(name) for values in items] for name in names}
    return pa.table({"holocron_item": pa.array(range(len(items)), pa.int64()), **columns})


def _columns(connection: duckdb.DuckDBPyConnection, asked: ItemQuery) -> list[str]:
    """The names of a query's columns, as those see them who read from it."""
    return [name for name, *_ in connection.execute(f"describe {asked.joined}").fetchall()][2:]


def _order_keys(
    node: dict[str, Any], orders: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """SQL of the columns that a query is ordered by, and those that it is given for that.

    Args:
        node: the query's syntax tree. What it is ordered by and does not give becomes a column of it.
        orders: what it is ordered by.
        columns: names of its columns.
    """
    keys, added = list[str](), list[str]()
    for number, order in enumerate(orders):
        named = _columns_of(order["expression"], node, columns)
        if named is None:
            if "select_list" not in node:
                raise NotAtOnceError("it is ordered by what it does not give")
            named = [f"holocron_order_{number}"]
            added += named
            node["select_list"].append({**order["expression"], "alias": named[0]})
        direction = f"{_DIRECTIONS[order['type']]} {_NULLS[order['null_order']]}"
        keys += [f"{_identifier(name)} {direction}" for name in named]
    return keys, tuple(added)


def _columns_of(
    expression: Mapping[str, Any], node: Mapping[str, Any], columns: Sequence[str]
) -> list[str] | None:
    """The columns that are meant by what a query is ordered by; None if it is none of its columns."""
    match expression:
        case {"class": "STAR"}:
            return list(columns)
        case {"class": "CONSTANT", "literal": {"kind": "INTEGER", "text": text}}:
            return [columns[int(text) - 1]]
        case {"class": "COLUMN_REF", "column_names": [name]}:
            found = [column for column in columns if column.lower() == name.lower()]
            return found or None
    given = [one for one in node.get("select_list", ()) if _meaning(one) == _meaning(expression)]
    named = [one["alias"] or one.get("column_names", [""])[-1] for one in given]
    return [name for name in named if name in columns][:1] or None


def _meaning(expression: Any) -> Any:
    """An expression without its alias, and without the places in the text."""
    if isinstance(expression, list):
        return [_meaning(part) for part in expression]
    if not isinstance(expression, dict):
        return expression
    left_out = ("alias", "query_location", "query_location_length")
    return {name: _meaning(part) for name, part in expression.items() if name not in left_out}


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _with_columns(tree: Any) -> Any:
    """A syntax tree in which the values that it names are columns of the items."""
    if isinstance(tree, list):
        return [_with_columns(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("class") == "PARAMETER":
        names = [ITEMS, tree["identifier"]]
        return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": tree["alias"], "column_names": names}
    return {name: _with_columns(part) for name, part in tree.items()}


def _sql_of(tree: Mapping[str, Any]) -> str:
    try:
        return sql_of_tree(tree)
    except duckdb.Error as error:
        raise NotAtOnceError(str(error)) from error
