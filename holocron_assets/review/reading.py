"""Reads the few rows that one item is about, from only the files that hold them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.rows import rows_of
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES
from holocron_assets.lake.views.database import MEMORY, query
from holocron_assets.lake.views.spilling import spilling_database

# An entity whose page was retyped has a row in each type: the row that is not suppressed counts.
_WHERE_IT_STANDS = """
    valid_to is null and entity_id in (select unnest($ids))
    qualify row_number() over (partition by entity_id order by state = 'suppressed', valid_from desc) = 1
"""


class Reader:
    """Finds rows of the lake's tables in given partitions."""

    def __init__(self, lake: Lake, connection: duckdb.DuckDBPyConnection) -> None:
        """Read a lake through an empty database."""
        self.lake = lake
        self._connection = connection

    def find(
        self,
        table: Table,
        condition: str,
        values: Mapping[str, Any],
        *,
        within: Iterable[str] | None = None,
        columns: str = "*",
    ) -> list[dict[str, Any]]:
        """The rows of a table for which a condition holds.

        Args:
            table: which table.
            condition: trusted SQL after `where`; foreign text goes into `values` only.
            values: values of the condition's parameters.
            within: only those of these partitions that exist; all by default.
            columns: trusted SQL after `select`.
        """
        partitions = None if within is None else [name for name in within if self.lake.has(table, name)]
        if partitions == []:
            return []
        sql = f"select {columns} from ({rows_of(self.lake, table, partitions)}) where {condition}"  # noqa: S608 - SQL of our own
        return query(self._connection, sql, values)

    def page_row(self, table: Table, partition: str, title_key: int) -> Row | None:
        """The row of one page in a partition of a table, a batch or a source; None if there is none."""
        condition = "title_key = $key and status = 'ok'" if table.name == "pages" else "title_key = $key"
        found = self.find(table, condition, {"key": title_key}, within=[partition])
        return found[0] if found else None

    def answers(
        self, name: str, condition: str, values: Mapping[str, Any], *, within: Iterable[str]
    ) -> list[dict[str, Any]]:
        """The rows of an interrogation's table for which a condition holds; none if there is no such table.

        Args:
            name: the table's name.
            condition: as for `find`.
            values: likewise.
            within: likewise.
        """
        table = self.lake.derived_table(name)
        return self.find(table, condition, values, within=within) if table else []

    def entities(self, ids: Sequence[str], within: Iterable[str] | None = None) -> dict[str, Row]:
        """The current rows of some entities, by id, in the order of `ids`.

        Args:
            ids: their ids.
            within: their types, if they are known; all by default.
        """
        found = self.find(ENTITIES, _WHERE_IT_STANDS, {"ids": list(ids)}, within=within)
        rows = {row["entity_id"]: row for row in found}
        return {name: rows[name] for name in ids if name in rows}


@contextmanager
def reading(lake: Lake) -> Iterator[Reader]:
    """Open the lake for reading some rows."""
    with spilling_database(lake, memory=MEMORY) as connection:
        yield Reader(lake, connection)
