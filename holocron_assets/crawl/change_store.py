"""The tables of changes: what was told and not fetched yet, and how far a wiki's list was read."""

from collections.abc import Sequence
from typing import Any

from filelock import FileLock

from holocron_assets.crawl.answered import last_answers, titles_in_flight
from holocron_assets.crawl.change_rows import merged, unsettled
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.parquet import Footer, read_partition, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import CHANGE_LOOKS, PAGE_CHANGES


def add_changes(lake: Lake, source_name: str, rows: Sequence[Row]) -> Footer:
    """Merge rows into a source's partition of table `page_changes`."""
    with _changing(lake, source_name):
        known = _known_changes(lake, source_name)
        return write_partition(lake, PAGE_CHANGES, source_name, merged(known, rows))


def drop_settled(lake: Lake, source: Source) -> int:
    """Drop the changes that nothing has to be fetched for any more; give the number of those that stay."""
    with _changing(lake, source.name):
        rows = _known_changes(lake, source.name)
        if not rows:
            return 0
        # What is in flight is looked at first: a batch that ends in between has answered by then.
        in_flight = titles_in_flight(lake, source.name)
        answers = last_answers(lake, source, [row["title_key"] for row in rows])
        left = unsettled(rows, answers, in_flight, unknown_are_wanted=source.seeds.all_pages)
        if len(left) < len(rows):
            write_partition(lake, PAGE_CHANGES, source.name, left)
    return len(left)


def last_look(lake: Lake, source_name: str) -> dict[str, Any] | None:
    """A source's row of table `change_looks`; None if nobody looked yet."""
    if not lake.has(CHANGE_LOOKS, source_name):
        return None
    return read_partition(lake, CHANGE_LOOKS, source_name)[0]


def _known_changes(lake: Lake, source_name: str) -> list[dict[str, Any]]:
    return read_partition(lake, PAGE_CHANGES, source_name) if lake.has(PAGE_CHANGES, source_name) else []


def _changing(lake: Lake, source_name: str) -> FileLock:
    return FileLock(lake.locks / f"changes-{source_name}.lock")
