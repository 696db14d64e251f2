"""Lost manifests of batches whose pages are there: made again from the pages."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.parquet import read_partition, read_table, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, PAGES, SEED_TITLES

_TOLD = (
    "position",
    "requested_title",
    "requested_key",
    "namespace",
    "depth",
    "discovered_from",
    "fetched_at",
)


def restore_manifests(lake: Lake, source: Source) -> list[str]:
    """Write a manifest for each batch of a source that has pages but no manifest, as after a damaged file.

    Without a manifest no table is made of the batch any more. Pages of the batch that were not read yet are
    not lost: they are pending again, and are cut into another batch.

    Returns:
        The batches.
    """
    cut = set(lake.partitions(BATCH_PAGES))
    lost = [
        batch
        for batch in lake.partitions(PAGES)
        if batch not in cut and batch.rpartition("-")[0] == source.name
    ]
    return [batch for batch in lost if _restore(lake, source, batch)]


def _restore(lake: Lake, source: Source, batch: str) -> bool:
    pages = read_partition(lake, PAGES, batch, _TOLD)
    if not pages:
        return False  # the batch has no pages, so there is nothing to restore
    ordinals = _ordinals(lake, source, [page["requested_key"] for page in pages])
    rows = [
        {
            "source": source.name,
            "batch": batch,
            "position": page["position"],
            "title": page["requested_title"],
            "title_key": page["requested_key"],
            "namespace": page["namespace"],
            "depth": page["depth"],
            "discovered_from": page["discovered_from"],
            "failures": 0,
            "reason": "new",
            "ordinal": ordinals.get(page["requested_key"]),
            "origin": source.origin,
            "cut_at": min(page["fetched_at"] for page in pages),
        }
        for page in pages
    ]
    write_partition(lake, BATCH_PAGES, batch, rows)
    return True


def _ordinals(lake: Lake, source: Source, keys: list[int]) -> Mapping[int, int]:
    """The positions of pages in their dump."""
    if source.kind != "mediawiki_dump" or not lake.has(SEED_TITLES, source.name):
        return {}
    seeds = read_table(lake, SEED_TITLES, source.name, ["title_key", "ordinal"])
    found = seeds.filter(pc.is_in(seeds.column("title_key"), pa.array(keys, pa.int64())))
    return dict(zip(*(found.column(name).to_pylist() for name in ("title_key", "ordinal")), strict=True))
