"""Files of one table's rows: Parquet, JSON lines and CSV. The same rows give the same bytes."""

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from holocron_assets.exports.contents import columns_of, contents, rows_sql

_PIECE = 100_000
"""Number of rows in memory at once, and in a row group of Parquet."""

_TIME = "TIMESTAMP WITH TIME ZONE"


class Selection(NamedTuple):
    """Rows of a table of the knowledge, in the order of an export.

    Attributes:
        columns: names of their columns, with their types in SQL.
        rows: SQL of the rows, in no order.
        order: SQL of the order of `rows`, which are called `row` in it: by key, then by all columns.
    """

    columns: Mapping[str, str]
    rows: str
    order: str

    def ordered(self, selected: str = "row.*") -> str:
        """SQL of the values selected from each `row`, in order."""
        return f"select {selected} from ({self.rows}) as row order by {self.order}"  # noqa: S608 - our own names


def select_rows(connection: duckdb.DuckDBPyConnection, name: str, *, everything: bool) -> Selection:
    """The rows of a table.

    Args:
        connection: from `contents.reading`.
        name: the table of the knowledge.
        everything: whether rows that do not count are included.
    """
    columns = columns_of(connection, name)
    key = ", ".join(f'row."{part}"' for part in contents()[name].key)
    rows = rows_sql(name, list(columns), everything=everything)
    return Selection(columns, rows, f"{key}, hash(row)")


def write_parquet(connection: duckdb.DuckDBPyConnection, selection: Selection, path: Path) -> int:
    """Write rows as Parquet: zstd, row groups of 100,000 rows.

    Args:
        connection: from `contents.reading`.
        selection: which rows.
        path: where to write.

    Returns:
        The number of rows.
    """
    reader = connection.sql(selection.ordered()).to_arrow_reader(_PIECE)
    written = 0
    with pq.ParquetWriter(path, reader.schema, compression="zstd", version="2.6") as writer:
        for piece in _pieces(reader):
            writer.write_table(piece, row_group_size=_PIECE)
            written += piece.num_rows
    return written


def write_json_lines(connection: duckdb.DuckDBPyConnection, selection: Selection, path: Path) -> int:
    """Write rows as JSON lines, with an object for each; otherwise like `write_parquet`."""
    packed = ", ".join(
        f'"{name}" := {_with_iso_time(name, kind)}' for name, kind in selection.columns.items()
    )
    lines = selection.ordered(f"to_json(struct_pack({packed}))::varchar as line")
    written = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for batch in connection.sql(lines).to_arrow_reader(_PIECE):
            file.writelines(f"{line}\n" for line in batch.column("line").to_pylist())
            written += batch.num_rows
    return written


def write_csv(connection: duckdb.DuckDBPyConnection, selection: Selection, path: Path) -> int:
    """Write rows as CSV by RFC 4180, with lists and structs as JSON; otherwise like `write_parquet`."""
    texts = ", ".join(f'{_as_text(name, kind)} as "{name}"' for name, kind in selection.columns.items())
    written = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(selection.columns)
        for batch in connection.sql(selection.ordered(texts)).to_arrow_reader(_PIECE):
            writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            written += batch.num_rows
    return written


WRITERS: Mapping[str, Callable[[duckdb.DuckDBPyConnection, Selection, Path], int]] = {
    "parquet": write_parquet,
    "jsonl": write_json_lines,
    "csv": write_csv,
}
"""The function that writes a table, by the ending of its file."""


def _pieces(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The rows in pieces of equal size, except the last: sizes of DuckDB's pieces depend on its threads."""
    held = reader.schema.empty_table()
    for batch in reader:
        held = pa.concat_tables([held, pa.Table.from_batches([batch])])
        while held.num_rows >= _PIECE:
            yield held.slice(0, _PIECE).combine_chunks()
            held = held.slice(_PIECE)
    if held.num_rows:
        yield held.combine_chunks()


def _with_iso_time(name: str, kind: str) -> str:
    """SQL of a value; a time is written by ISO 8601."""
    if kind == _TIME:
        return f"strftime(row.\"{name}\" at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')"
    return f'row."{name}"'


def _as_text(name: str, kind: str) -> str:
    if kind.endswith("]") or kind.startswith("STRUCT"):
        return f'to_json(row."{name}")::varchar'
    return f"{_with_iso_time(name, kind)}::varchar"
