"""Writing one pack: the rows of many partitions, one after the other, each checked against its footer."""

import os
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from holocron_assets.lake.declaration.keys import table_hash
from holocron_assets.lake.declaration.schema import SchemaError, Table
from holocron_assets.lake.files.damage import PACK_FOLDER, DamagedPartitionError, damage_named
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.files.footers import FOOTER_KEY, Footer, sealed_json, stored_footer
from holocron_assets.lake.files.sealing import seal
from holocron_assets.lake.packs.packs import FileMark, Packed, read_packed
from holocron_assets.lake.place.paths import Lake

PACK_BYTES = 256_000_000
"""Bytes of partitions' own files after which a pack takes no more."""

PACK_PARTITIONS = 1_000
"""The most partitions in a pack."""

_GROUP_ROWS = 10_000
_GROUP_BYTES = 32_000_000
"""Rows and bytes in memory after which a row group takes no more partitions. A row group is read whole."""


Problem = DamagedPartitionError | SchemaError
"""Why a partition cannot be packed."""


class _NothingToPackError(Exception):
    """None of the partitions is fit for a pack."""


@dataclass(frozen=True)
class _Partition:
    """A partition's rows, with their footer and mark."""

    name: str
    rows: pa.Table
    footer: Footer
    mark: FileMark


def write_pack(
    lake: Lake, table: Table, partitions: Sequence[str]
) -> tuple[list[str], list[Problem], list[str]]:
    """Write the next pack of a table, with as many of the first partitions as it takes.

    Args:
        lake: the lake.
        table: which table.
        partitions: the partitions to pack, in their order in the pack.

    Returns:
        The packed partitions; the problems of those that cannot be packed; and those that did not fit any
        more. A partition that was removed meanwhile is in none of these.

    Raises:
        DamagedPartitionError: the new pack does not hold the rows that it should. It is not put in its place.
    """
    problems: list[Problem] = []
    left = deque(partitions)
    try:
        with replacing(_next_name(lake.folder(table) / PACK_FOLDER)) as aside:
            with _PackWriter(table, aside) as pack:
                while left and not pack.is_full:
                    try:
                        if partition := _read(lake, table, left.popleft()):
                            pack.add(partition)
                    except (DamagedPartitionError, SchemaError) as error:
                        problems.append(error)
            _verify(table, aside, pack.packed)
    except _NothingToPackError:
        return [], problems, list(left)
    return list(pack.packed), problems, list(left)


def lacks_columns(table: Table, path: Path, mark: FileMark) -> bool:
    """Whether a file of a partition, or a pack, lacks a column that was declared later. It is not packed.

    Args:
        table: the table.
        path: the file. It is opened once for each process and state of the file, and only where the table has
            such columns. One that cannot be opened counts as lacking none, so that `write_pack` names it.
        mark: of the file.
    """
    added = tuple(table.added_columns)
    return bool(added) and _lacks(path, mark, added)


@lru_cache(maxsize=65_536)
def _lacks(path: Path, mark: FileMark, added: tuple[str, ...]) -> bool:  # noqa: ARG001 - tells versions apart
    try:
        return not set(added) <= set(pq.read_schema(path).names)
    except (OSError, pa.ArrowException):
        return False


class _PackWriter:
    """A pack that is being written. A context manager, which ends the pack with its table of contents."""

    def __init__(self, table: Table, path: Path) -> None:
        self._table, self._path = table, path
        self._group_rows = min(_GROUP_ROWS, 10 * table.row_group_rows)
        self._file = pq.ParquetWriter(path, table.arrow_schema, compression="zstd", write_page_checksum=True)
        self._waiting: list[_Partition] = []
        self._waiting_rows = self._waiting_bytes = 0  # running totals: quick for many small ones
        self._groups = 0
        self._bytes = 0
        self.packed: dict[str, Packed] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._write_group()
        lines = {name: packed.to_json() for name, packed in self.packed.items()}
        contents = sealed_json({"partitions": lines}, self._path)
        self._file.add_key_value_metadata({FOOTER_KEY.decode(): contents})
        self._file.close()
        seal(self._path)

    @property
    def is_full(self) -> bool:
        return len(self.packed) + len(self._waiting) >= PACK_PARTITIONS or self._bytes >= PACK_BYTES

    def add(self, partition: _Partition) -> None:
        self._waiting.append(partition)
        self._bytes += partition.mark.size
        self._waiting_rows += partition.rows.num_rows
        self._waiting_bytes += partition.rows.nbytes
        if self._waiting_rows >= self._group_rows or self._waiting_bytes >= _GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        first = 0
        for one in self._waiting:
            self.packed[one.name] = Packed(self._path, self._groups, first, one.footer, one.mark)
            first += one.footer.rows
        if first:
            group = pa.concat_tables(one.rows for one in self._waiting)
            self._file.write_table(group, row_group_size=first)
            self._groups += 1
        self._waiting = []
        self._waiting_rows = self._waiting_bytes = 0


def _read(lake: Lake, table: Table, name: str) -> _Partition | None:
    """A partition from its own file, or else from its pack.

    Returns:
        The partition; None if neither holds it any more, or if it lacks a column that was declared later, so
        that it will be made anew.

    Raises:
        DamagedPartitionError: it cannot be read.
        SchemaError: it does not fit the table's declaration or its own footer.
    """
    path = lake.file(table, name)
    try:
        with path.open("rb") as file, damage_named(path):
            # The mark of the opened file: another file may have its name by now.
            mark = FileMark.of(os.fstat(file.fileno()))
            with pq.ParquetFile(file, page_checksum_verification=True) as opened:
                footer, rows = stored_footer(path, opened.metadata), opened.read()
    except FileNotFoundError:
        packed = lake.packs(table).newest.get(name)
        if packed is None:
            return None
        footer, mark, rows = packed.footer, packed.mark, read_packed(packed, None)
    if not set(table.added_columns) <= set(rows.column_names):
        return None
    table.check(rows.slice(0, 0), name)  # only columns and types: the content id checks the rows
    rows = rows.select(table.arrow_schema.names).cast(table.arrow_schema)
    names = set(pc.unique(rows.column(table.partition_column)).to_pylist())
    if _content_id(table, rows) != footer.content_id or not names <= {name}:
        raise SchemaError(
            f"table {table.name}, partition {name!r}: the rows are not those that it was written with. "
            "Restore it from a backup, or move it away, and it is made again."
        )
    return _Partition(name, rows, footer, mark)


def _verify(table: Table, path: Path, packed: dict[str, Packed]) -> None:
    """Read back every partition of a new pack.

    Raises:
        _NothingToPackError: the pack is empty.
        DamagedPartitionError: a partition differs from the one that was written.
    """
    if not packed:
        raise _NothingToPackError
    with pq.ParquetFile(path, page_checksum_verification=True) as opened:
        number, group = -1, None
        for name, one in packed.items():
            if one.footer.rows and one.row_group != number:
                number, group = one.row_group, opened.read_row_group(one.row_group)
            rows = group.slice(one.first_row, one.footer.rows) if group else table.arrow_schema.empty_table()
            if rows.num_rows != one.footer.rows or _content_id(table, rows) != one.footer.content_id:
                raise DamagedPartitionError(
                    path,
                    f"partition {name!r} was read back from its pack with other rows; check the disk",
                )


def _content_id(table: Table, rows: pa.Table) -> str:
    return table_hash(rows.select(table.content_columns))


def _next_name(folder: Path) -> Path:
    """A number after the newest, and a random part, so that no reader takes one pack for another."""
    numbers: Iterable[str] = (path.name.partition("-")[0] for path in folder.glob("[0-9]*.parquet"))
    return folder / f"{max(map(int, numbers), default=0) + 1:08d}-{uuid.uuid4().hex[:8]}.parquet"
