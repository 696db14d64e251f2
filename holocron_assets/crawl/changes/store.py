"""The tables of changes: what was reported and not fetched yet, and how far a wiki's list was read."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.crawl.changes.answered import settled_changes
from holocron_assets.crawl.changes.rows import merged
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import Footer, read_table, rows_there, write_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.lake.tables import CHANGE_LOOKS, PAGE_CHANGES


def add_changes(lake: Lake, source_name: str, rows: Sequence[Row]) -> Footer:
    """Merge rows into a source's partition of table `page_changes`; the others stay in Arrow."""
    with _changing(lake, source_name):
        known = _known_changes(lake, source_name)
        is_reported = _has_key(known, {row["title_key"] for row in rows})
        reported = PAGE_CHANGES.to_arrow(merged(known.filter(is_reported).to_pylist(), rows), source_name)
        every = pa.concat_tables([known.filter(pc.invert(is_reported)), reported])
        return write_table(lake, PAGE_CHANGES, source_name, every)


def drop_settled(lake: Lake, source: Source) -> int:
    """Drop the changes that need no fetch any more, and return the number of those that stay."""
    with _changing(lake, source.name):
        known = _known_changes(lake, source.name)
        settled = settled_changes(lake, source) if known.num_rows else []
        if settled:
            known = known.filter(pc.invert(_has_key(known, settled)))
            write_table(lake, PAGE_CHANGES, source.name, known)
    return int(known.num_rows)


def last_reading(lake: Lake, source_name: str) -> dict[str, Any] | None:
    """A source's row of table `change_looks`; None before the first reading."""
    return next(iter(rows_there(lake, CHANGE_LOOKS, source_name)), None)


def _known_changes(lake: Lake, source_name: str) -> pa.Table:
    if not lake.has(PAGE_CHANGES, source_name):
        return PAGE_CHANGES.arrow_schema.empty_table()
    return read_table(lake, PAGE_CHANGES, source_name).cast(PAGE_CHANGES.arrow_schema)


def _has_key(changes: pa.Table, keys: Iterable[int]) -> pa.ChunkedArray:
    return pc.is_in(changes.column("title_key"), pa.array(keys, pa.int64()))


def _changing(lake: Lake, source_name: str) -> Lock:
    return lake.lock(f"changes-{source_name}")
