"""The table of an interrogation's answers in one partition: it shows all answers so far.

A file that lacks answers says so in its footer, so that the dispatcher finds it unfinished. Until
the partition is complete, an item without a new answer keeps the rows of its old answer.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from holocron_assets.lake.declaration.keys import table_hash
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.footers import Footer
from holocron_assets.lake.files.parquet import MissingPartitionError, read_footer, read_table, write_partition
from holocron_assets.lake.place.paths import Lake

UNANSWERED = "unanswered"
"""The input that the footer of an unfinished file names: the number of items without an outcome."""

_RUN = "run_id"
"""The column that only says which run wrote the answer."""

RowsByItem = Mapping[str, Sequence[Row]]


def write_answers(  # noqa: PLR0913 - two name the file, the rest is its content and its footer
    lake: Lake,
    table: Table,
    partition: str,
    answers: RowsByItem,
    *,
    items: Sequence[str],
    unanswered: int,
    code_version: str,
    inputs: Mapping[str, str],
) -> Footer | None:
    """Write the answers of a partition, unless its file holds them already.

    Args:
        lake: where.
        table: the interrogation's table.
        partition: the partition's name.
        answers: the rows of each item that has an answer; one may have none.
        items: ids of all wanted items, in order.
        unanswered: how many of these have no outcome yet.
        code_version: version of the code that made the rows.
        inputs: fingerprints of what they were made from.

    Returns:
        The new file's footer; None if no file was replaced.
    """
    standing = _standing(lake, table, partition)
    if unanswered:
        answers = {**_by_item(standing), **answers}
        inputs = {**inputs, UNANSWERED: str(unanswered)}
    rows = [row for item in items for row in answers.get(item, ())]
    if _says(table.to_arrow(rows, partition)) == _says(standing):
        footer = read_footer(lake, table, partition)
        # Without a new answer, an unfinished file would say nothing new.
        if unanswered or (footer and footer.is_of(code_version, inputs)):
            return None
    return write_partition(lake, table, partition, rows, code_version=code_version, inputs=inputs)


def items_with_rows(lake: Lake, table: Table, partition: str) -> frozenset[str]:
    """Ids of the items that a partition's table has rows of."""
    return frozenset(_standing(lake, table, partition)["item_id"].to_pylist())


def _standing(lake: Lake, table: Table, partition: str) -> pa.Table:
    try:
        return read_table(lake, table, partition)
    except MissingPartitionError:
        return table.arrow_schema.empty_table()


def _by_item(rows: pa.Table) -> RowsByItem:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows.to_pylist():
        found[row["item_id"]].append(row)
    return found


def _says(rows: pa.Table) -> str:
    return table_hash(rows.drop_columns(_RUN))
