"""Parquet files that are whole or absent: written under another name, checked, synced and renamed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import table_hash
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.damage import DamagedPartitionError, damage_named, refuse_unknown_zones
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.files.footers import FOOTER_KEY, Footer, file_footer, footer_json, stored_footer
from holocron_assets.lake.files.sealing import seal
from holocron_assets.lake.packs.packs import read_packed
from holocron_assets.lake.place.paths import Lake
from holocron_assets.telemetry.logs import logger
from holocron_assets.telemetry.spans import span

__all__ = [
    "DamagedPartitionError",
    "Footer",
    "MissingPartitionError",
    "read_footer",
    "read_partition",
    "read_table",
    "replacing",
    "sealed",
    "write_file",
    "write_partition",
    "write_table",
]


_LOG = logger(__name__)


class MissingPartitionError(PermanentError, LookupError):
    """A partition is not in the lake."""


def write_partition(  # noqa: PLR0913 - two name the file, the others describe it
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
        lake: the lake.
        table: the declaration that the rows must fit.
        partition: the partition's name.
        rows: all rows of the partition.
        code_version: version of the code that made them.
        inputs: fingerprints of what they were made from.

    Returns:
        The new file's footer.

    Raises:
        SchemaError: the rows do not fit; the old file is kept.
    """
    arrow = table.to_arrow(rows, partition)
    return _write(lake, table, partition, arrow, code_version=code_version, inputs=inputs)


def write_table(  # noqa: PLR0913 - the same
    lake: Lake,
    table: Table,
    partition: str,
    arrow: pa.Table,
    *,
    code_version: str = "",
    inputs: Mapping[str, str] | None = None,
) -> Footer:
    """Like `write_partition`, for an Arrow table such as a query gives: columns may be in any order."""
    table.check(arrow, partition)
    fitting = arrow.select(table.arrow_schema.names).cast(table.arrow_schema)
    return _write(lake, table, partition, fitting, code_version=code_version, inputs=inputs)


def sealed(
    table: Table, arrow: pa.Table, file: Path, *, code_version: str, inputs: Mapping[str, str]
) -> tuple[Footer, pa.Table]:
    """The footer of rows, and the rows with it, ready to be written.

    Args:
        table: the declaration that the rows fit.
        arrow: all rows of a partition.
        file: the partition's file.
        code_version: version of the code that made them.
        inputs: fingerprints of what they were made from.
    """
    content_id = table_hash(arrow.select(table.content_columns))
    footer = Footer(arrow.num_rows, content_id, code_version, inputs)
    return footer, arrow.replace_schema_metadata({FOOTER_KEY: footer_json(footer, file).encode()})


def write_file(table: Table, arrow: pa.Table, path: Path) -> None:
    """Write sealed rows to a file of the lake, without syncing it or moving it to its place."""
    pq.write_table(
        arrow, path, compression="zstd", row_group_size=table.row_group_rows, write_page_checksum=True
    )
    seal(path)


def _write(  # noqa: PLR0913 - the same
    lake: Lake,
    table: Table,
    partition: str,
    arrow: pa.Table,
    *,
    code_version: str,
    inputs: Mapping[str, str] | None,
) -> Footer:
    """Write rows that fit."""
    file = lake.file(table, partition)
    named = {"holocron.table": table.name, "holocron.partition": partition, "holocron.rows": arrow.num_rows}
    with span("write", attributes=named):
        footer, rows = sealed(table, arrow, file, code_version=code_version, inputs=dict(inputs or {}))
        with replacing(file) as aside:
            write_file(table, rows, aside)
    _LOG.info("wrote a partition", table=table.name, partition=partition, rows=footer.rows)
    return footer


def read_footer(lake: Lake, table: Table, partition: str) -> Footer | None:
    """The footer of a partition; None if it is not in the lake.

    Raises:
        DamagedPartitionError: its file, or a pack, cannot be read.
    """
    file = lake.file(table, partition)
    try:
        return file_footer(file, file.stat())
    except FileNotFoundError:
        packed = lake.packs(table).newest.get(partition)
        return packed.footer if packed else None


def read_partition(
    lake: Lake, table: Table, partition: str, columns: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """All rows of one partition.

    Args:
        lake: the lake.
        table: which table.
        partition: the partition's name.
        columns: only these columns; all by default.

    Returns:
        One mapping a row, in file order.

    Raises:
        MissingPartitionError: the lake has no such partition.
        DamagedPartitionError: its file, or its pack, cannot be read.
    """
    rows: list[dict[str, Any]] = read_table(lake, table, partition, columns).to_pylist()
    added = dict.fromkeys(name for name in table.added_columns if columns is None or name in columns)
    if rows and added.keys() - rows[0].keys():
        return [{**added, **row} for row in rows]
    return rows


def rows_there(
    lake: Lake, table: Table, partition: str, columns: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """The rows of a partition, as `read_partition` gives them; none if the lake has no such partition."""
    try:
        return read_partition(lake, table, partition, columns)
    except MissingPartitionError:
        return []


def read_table(lake: Lake, table: Table, partition: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of one partition as an Arrow table; otherwise like `read_partition`."""
    file = lake.file(table, partition)
    try:
        with damage_named(file), pq.ParquetFile(file, page_checksum_verification=True) as opened:
            stored_footer(file, opened.metadata)
            refuse_unknown_zones(opened.schema_arrow)
            return opened.read(columns=list(columns) if columns else None)
    except FileNotFoundError as error:
        packed = lake.packs(table).newest.get(partition)
        if packed is None:
            raise MissingPartitionError(
                f"table {table.name} has no partition {partition!r}: {file}"
            ) from error
        return read_packed(packed, columns)
