"""The pages that items are about, read from the batches that hold them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from holocron_assets.derive.evidence.page_parts import PageParts
from holocron_assets.lake.parquet import MissingPartitionError, read_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import PAGE_SIGNALS, PAGES, SITES
from holocron_assets.lake.titles import Site

_PAGE_COLUMNS = ("source", "batch", "title", "title_key", "page_id", "revision_id", "status", "wikitext")
PAIRS_AT_A_TIME = 500
"""Pairs whose pages are held in memory together: some 20 MB of wikitext."""

_SIDES = ("first", "second")


def pages_of(lake: Lake, batch: str, titles: Iterable[str]) -> dict[str, PageParts]:
    """Some pages of a batch, by title.

    Raises:
        MissingPartitionError: the batch, its signals or its wiki's site is not in the lake.
    """
    wanted = frozenset(titles)
    signals = {
        row["title"]: row for row in read_partition(lake, PAGE_SIGNALS, batch) if row["title"] in wanted
    }
    [site_row] = read_partition(lake, SITES, batch.rpartition("-")[0])
    site = Site.from_row(site_row)
    found: dict[str, PageParts] = {}
    for page in read_partition(lake, PAGES, batch, _PAGE_COLUMNS):
        if page["status"] == "ok" and page["title"] in signals:
            found.setdefault(page["title"], PageParts(page, signals[page["title"]], site))
    return found


def pages_of_pairs(lake: Lake, pairs: Sequence[Row]) -> Iterator[tuple[Row, Mapping[str, PageParts]]]:
    """Each pair of entities with the pages of both, by 'first' and 'second', in the pairs' order.

    A page that the lake lacks is left out; see `missing_page`.
    """
    for start in range(0, len(pairs), PAIRS_AT_A_TIME):
        some = pairs[start : start + PAIRS_AT_A_TIME]
        titles = defaultdict(set)
        for pair in some:
            for side in _SIDES:
                titles[pair[f"{side}_batch"]].add(pair[f"{side}_title"])
        found = {batch: _pages_there(lake, batch, wanted) for batch, wanted in titles.items()}
        for pair in some:
            pages = {side: found[pair[f"{side}_batch"]].get(pair[f"{side}_title"]) for side in _SIDES}
            yield pair, {side: page for side, page in pages.items() if page}


def missing_page(pair: Row, pages: Collection[str]) -> str | None:
    """What to say of a pair one of whose pages is not where the pair says it is; None if both are there.

    Args:
        pair: the row of entity_pairs.
        pages: those of 'first' and 'second' that are there.
    """
    for side in _SIDES:
        if side not in pages:
            batch, title = pair[f"{side}_batch"], pair[f"{side}_title"]
            return f"batch {batch} holds no page {title!r} with signals; make the pairs again"
    return None


def _pages_there(lake: Lake, batch: str, titles: Iterable[str]) -> Mapping[str, PageParts]:
    try:
        return pages_of(lake, batch, titles)
    except MissingPartitionError:
        return {}
