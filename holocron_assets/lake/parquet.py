"""Parquet files that are whole or absent: written aside, checked, synced and renamed into place."""

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from holocron_assets.lake.durable import make_folder, sync_folder
from holocron_assets.lake.keys import table_hash
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row, Table

_FOOTER_KEY = b"holocron"
_ABANDONED_AFTER = timedelta(hours=1)


class MissingPartitionError(LookupError):
    """A partition's file is not in the lake."""


class DamagedPartitionError(RuntimeError):
    """A partition's file is there but cannot be read."""


@dataclass(frozen=True)
class Footer:
    """What a partition's file says of itself.

    Attributes:
        rows: number of rows.
        content_id: hash of the rows, without provenance columns.
        code_version: version of the code that made it.
        inputs: content ids (or other fingerprints) of what it was made from, by name.
    """

    rows: int
    content_id: str
    code_version: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)


def write_partition(  # noqa: PLR0913 - two name the file, the rest is what it says of itself
    lake: Lake,
    table: Table,
    partition: str,
    rows: Sequence[Row],
    *,
    code_version: str = "",
    inputs: Mapping[str, str] | None = None,
) -> Footer:
    """Replace one partition's file, atomically.

    Args:
        lake: where.
        table: the declaration that the rows must fit.
        partition: the partition's name.
        rows: all rows of the partition.
        code_version: version of the code that made them.
        inputs: fingerprints of what they were made from.

    Returns:
        The new file's footer.

    Raises:
        SchemaError: the rows do not fit; the file is as it was.
    """
    footer, arrow = sealed(
        table, table.to_arrow(rows, partition), code_version=code_version, inputs=dict(inputs or {})
    )
    with replacing(lake.file(table, partition)) as aside:
        write_file(table, arrow, aside)
    return footer


def sealed(
    table: Table, arrow: pa.Table, *, code_version: str, inputs: Mapping[str, str]
) -> tuple[Footer, pa.Table]:
    """The footer of rows, and the rows with it, ready to be written.

    Args:
        table: the declaration that the rows fit.
        arrow: all rows of a partition.
        code_version: version of the code that made them.
        inputs: fingerprints of what they were made from.
    """
    content_id = table_hash(arrow.select(table.content_columns))
    footer = Footer(arrow.num_rows, content_id, code_version, inputs)
    stored = {"content_id": content_id, "code_version": code_version, "inputs": dict(inputs)}
    return footer, arrow.replace_schema_metadata({_FOOTER_KEY: json.dumps(stored).encode()})


def write_file(table: Table, arrow: pa.Table, path: Path) -> None:
    """Write sealed rows as every file of the lake is written, but neither synced nor in its place yet."""
    pq.write_table(
        arrow, path, compression="zstd", row_group_size=table.row_group_rows, write_page_checksum=True
    )


def read_footer(lake: Lake, table: Table, partition: str) -> Footer | None:
    """The footer of one partition's file, or None if the file is not there.

    Raises:
        DamagedPartitionError: the file cannot be read.
    """
    file = lake.file(table, partition)
    try:
        with _damage_named(file):
            metadata = pq.read_metadata(file)
            stored = json.loads((metadata.metadata or {}).get(_FOOTER_KEY, b"{}"))
    except FileNotFoundError:
        return None
    return Footer(
        rows=metadata.num_rows,
        content_id=stored.get("content_id", ""),
        code_version=stored.get("code_version", ""),
        inputs=stored.get("inputs", {}),
    )


def read_partition(
    lake: Lake, table: Table, partition: str, columns: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """All rows of one partition.

    Args:
        lake: where.
        table: which table.
        partition: the partition's name.
        columns: only these columns; all by default.

    Returns:
        One mapping a row, in file order.

    Raises:
        MissingPartitionError: there is no such file.
        DamagedPartitionError: the file cannot be read.
    """
    file = lake.file(table, partition)
    try:
        with _damage_named(file), pq.ParquetFile(file, page_checksum_verification=True) as opened:
            rows: list[dict[str, Any]] = opened.read(columns=list(columns) if columns else None).to_pylist()
    except FileNotFoundError as error:
        raise MissingPartitionError(f"table {table.name} has no partition {partition!r}: {file}") from error
    added = dict.fromkeys(name for name in table.added_columns if columns is None or name in columns)
    if rows and added.keys() - rows[0].keys():
        return [{**added, **row} for row in rows]
    return rows


def damaged_file(file: Path, error: Exception) -> DamagedPartitionError:
    """The error to raise for a partition's file that cannot be read: it names all three, and what to do."""
    *_, table, partition, _ = file.parts
    return DamagedPartitionError(
        f"table {table}, partition {partition!r}: {file} cannot be read ({error}). "
        "Restore it from a backup, or move it away and materialize the partition again."
    )


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a path to write to, which becomes `target` in one step if the block ends well.

    A crash at any moment leaves the old file or the new one. What a killed process left aside is removed once
    it is an hour old.
    """
    make_folder(target.parent)
    _remove_abandoned(target)
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield aside
        with aside.open("rb+") as written:
            os.fsync(written.fileno())
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(target.parent)


def _remove_abandoned(target: Path) -> None:
    for leftover in target.parent.glob(f".{target.name}.*.tmp"):
        with suppress(FileNotFoundError):  # another writer may have ended, or tidied up, in between
            if time() - leftover.stat().st_mtime > _ABANDONED_AFTER.total_seconds():
                leftover.unlink()


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    """Raise DamagedPartitionError for what reading a damaged file raises; other troubles stay themselves."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's own, such as too many open files: the file may be good
        raise damaged_file(file, error) from error
