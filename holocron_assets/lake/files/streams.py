"""Partitions with more rows than memory holds: rows are written as they come, as safely as elsewhere."""

import glob
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from holocron_assets.lake.declaration.keys import TableHash
from holocron_assets.lake.declaration.schema import Row, SchemaError, Table
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.files.footers import FOOTER_KEY, Footer, footer_json
from holocron_assets.lake.files.sealing import seal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.spilling import spilling_database

_MEMORY = "128MB"
_PIECE_ROWS = 20_000


def write_stream(  # noqa: PLR0913 - two name the file, the others describe it
    lake: Lake,
    table: Table,
    partition: str,
    rows: Iterable[Row],
    *,
    code_version: str = "",
    inputs: Mapping[str, str] | None = None,
) -> Footer:
    """Replace one partition's file, atomically, without holding its rows in memory.

    The file is the same as `write_partition` would write of the same rows, except for its row groups.

    Args:
        lake: the lake.
        table: the declaration that the rows must fit.
        partition: the partition's name.
        rows: all rows of the partition; memory holds 20,000 at a time, which become a row group.
        code_version: version of the code that made them.
        inputs: fingerprints of what they were made from.

    Returns:
        The new file's footer.

    Raises:
        SchemaError: the rows do not fit, or a key repeats; the old file is kept.
    """
    file = lake.file(table, partition)
    with replacing(file) as aside:
        whole, count = TableHash(), 0
        whole.update(_content(table, table.arrow_schema.empty_table()))
        with pq.ParquetWriter(
            aside, table.arrow_schema, compression="zstd", write_page_checksum=True
        ) as writer:
            remaining = iter(rows)
            # No name holds the rows of a piece while those of the next one come.
            while arrow := table.to_arrow(list(islice(remaining, _PIECE_ROWS)), partition, first_row=count):
                whole.update(_content(table, arrow))
                count += arrow.num_rows
                writer.write_table(arrow)
            footer = Footer(count, whole.hexdigest(), code_version, dict(inputs or {}))
            writer.add_key_value_metadata({FOOTER_KEY: footer_json(footer, file).encode()})
        seal(aside)
        _refuse_repeated_keys(lake, table, partition, aside)
    return footer


def _content(table: Table, arrow: pa.Table) -> pa.Table:
    return arrow.select(table.content_columns)


def _refuse_repeated_keys(lake: Lake, table: Table, partition: str, file: Path) -> None:
    key = ", ".join(f'"{name}"' for name in table.key)
    repeated = f"select {key} from read_parquet($1) group by all having count(*) > 1 limit 3"  # noqa: S608 - our own columns
    with spilling_database(lake, memory=_MEMORY) as connection:
        found = connection.execute(repeated, [glob.escape(str(file))]).fetchall()
    if found:
        values = [dict(zip(table.key, row, strict=True)) for row in found]
        raise SchemaError(f"table {table.name}, partition {partition!r}: key {table.key} repeats: {values}")
