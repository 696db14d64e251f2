"""The content hash: two lakes with the same knowledge have the same hash, however they were built."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from holocron_assets.exports.contents import columns_of, contents, reading, row_hash, rows_sql
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import query

VERSION = 1
"""Raised whenever the same knowledge would get another hash."""

_PARTS = 4
_DIGITS = 16


class TableHash(NamedTuple):
    """The hash of one table of the knowledge.

    Attributes:
        rows: number of rows that count.
        sha256: the hash, in hexadecimal.
    """

    rows: int
    sha256: str


class KnowledgeHash(NamedTuple):
    """The hash of all knowledge.

    Attributes:
        sha256: the hash, in hexadecimal.
        tables: the hash of each table, by name.
    """

    sha256: str
    tables: dict[str, TableHash]


def hash_lake(lake: Lake) -> KnowledgeHash:
    """The content hash of a lake's knowledge.

    Raises:
        DamagedPartitionError: a file of the lake cannot be read.
    """
    with reading(lake) as connection:
        return hash_knowledge(connection)


def hash_knowledge(connection: duckdb.DuckDBPyConnection) -> KnowledgeHash:
    """The content hash of the knowledge in a connection from `contents.reading`."""
    tables = {name: _table_hash(connection, name) for name, content in contents().items() if content.hashed}
    lines = [f"{name} {table.sha256}" for name, table in sorted(tables.items())]
    return KnowledgeHash(_sha256([f"holocron {VERSION}", *lines]), tables)


def differing(one: KnowledgeHash, other: KnowledgeHash) -> list[str]:
    """Names of the tables that differ, sorted."""
    names = one.tables.keys() | other.tables.keys()
    return sorted(name for name in names if one.tables.get(name) != other.tables.get(name))


def _table_hash(connection: duckdb.DuckDBPyConnection, name: str) -> TableHash:
    """The hash of a table: its rows are hashed one by one, and the quarters of their hashes are added up.

    A sum does not depend on the order of rows, and it counts a repeated row, unlike XOR. DuckDB adds up
    64-bit numbers in 128 bits, so fewer than 2^63 rows cause no overflow.
    """
    columns = columns_of(connection, name)
    sums = ", ".join(
        f"coalesce(sum(('0x' || hash[{start + 1}:{start + _DIGITS}])::ubigint), 0)::varchar as part{start}"
        for start in range(0, _PARTS * _DIGITS, _DIGITS)
    )
    hashes = f"select {row_hash(list(columns))} as hash from ({rows_sql(name, list(columns))})"  # noqa: S608 - our own names
    (found,) = query(connection, f"select count(*) as rows, {sums} from ({hashes})")  # noqa: S608 - as above
    rows = found.pop("rows")
    described = [f"{column} {kind}" for column, kind in sorted(columns.items())]
    return TableHash(rows, _sha256([name, *described, str(rows), *found.values()]))


def _sha256(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
