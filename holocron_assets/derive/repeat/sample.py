"""A sample of an interrogation's items: the same pages always give the same sample."""

from collections.abc import Iterator
from contextlib import suppress
from heapq import nsmallest

from holocron_assets.derive.interrogations.derived_tables import ID_COLUMNS, ROW_TABLES
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item, wanted_items
from holocron_assets.derive.items.wanted import Superseded, wanted_rows
from holocron_assets.derive.results.settled import waiting_subjects
from holocron_assets.derive.results.superseded import superseded_pages
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.parquet import MissingPartitionError
from holocron_assets.lake.place.paths import Lake

_MOST_PARTITIONS = 1_000
_ENOUGH_PARTITIONS = 40
"""Partitions that a sample is drawn from, if they have enough items: 40 batches are 20,000 pages."""


def sample_items(lake: Lake, interrogation: Interrogation, count: int) -> list[Item]:
    """The items whose ids have the smallest hashes, in the partitions whose names have the smallest.

    Where few pages are wanted, more partitions are read, until there are enough items. The choice depends on
    the pages alone, so that all models and versions are asked about the same items.
    An item whose input may still get an answer says so in `waits_for`, and cannot be asked about yet.

    Args:
        lake: where items are made from.
        interrogation: the interrogation of the items.
        count: how many; all where there are fewer.
    """
    superseded = superseded_pages(lake)
    rows: list[tuple[str, str, int | str]] = []
    partitions = nsmallest(_MOST_PARTITIONS, lake.partitions(ROW_TABLES[interrogation.over]), key=_rank)
    for number, partition in enumerate(partitions):
        if number >= _ENOUGH_PARTITIONS and len(rows) >= count:
            break
        found = _row_ids(lake, interrogation, partition, superseded)
        rows += ((_rank(row_id), partition, row_id) for row_id in found)
    chosen = nsmallest(count, rows)
    items: list[Item] = []
    for partition in sorted({partition for _, partition, _ in chosen}):
        row_ids = [row_id for _, other, row_id in chosen if other == partition]
        narrowed = _narrowed(interrogation, row_ids)
        waits_for = waiting_subjects(lake, interrogation, partition, superseded)
        items += wanted_items(lake, narrowed, partition, superseded=superseded, waits_for=waits_for)
    # A page that is read in chunks has several
    return nsmallest(count, items, key=lambda item: (_rank(item.item_id), item.partition))


def _row_ids(
    lake: Lake, interrogation: Interrogation, partition: str, superseded: Superseded
) -> Iterator[int | str]:
    name = ID_COLUMNS[interrogation.over]
    # A batch that is under way has no types yet
    with suppress(MissingPartitionError):
        for row in wanted_rows(lake, interrogation, partition, superseded=superseded, columns=[name]):
            yield row[name]


def _narrowed(interrogation: Interrogation, row_ids: list[int | str]) -> Interrogation:
    """The interrogation for these pages or pairs only, with the same request about each."""
    values = ", ".join(f"'{row_id}'" if isinstance(row_id, str) else str(row_id) for row_id in row_ids)
    condition = f"{ID_COLUMNS[interrogation.over]} in ({values})"
    wants = interrogation.wants
    both = condition if wants.sql is None else f"({wants.sql}) and {condition}"
    return interrogation.model_copy(update={"wants": wants.model_copy(update={"sql": both})})


def _rank(name: int | str) -> str:
    return content_hash(str(name))
