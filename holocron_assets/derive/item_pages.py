"""The pages that items are about, read from the batches that hold them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from holocron_assets.derive.page_parts import PageParts
from holocron_assets.lake.parquet import read_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import PAGE_SIGNALS, PAGES, SITES
from holocron_assets.lake.titles import Site

_PAGE_COLUMNS = ("source", "batch", "title", "title_key", "page_id", "revision_id", "status", "wikitext")
_PAIRS_AT_A_TIME = 500
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

    Raises:
        MissingPartitionError: a batch is not in the lake.
        LookupError: a batch does not hold the page that the pair says it does.
    """
    for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
        some = pairs[start : start + _PAIRS_AT_A_TIME]
        titles = defaultdict(set)
        for pair in some:
            for side in _SIDES:
                titles[pair[f"{side}_batch"]].add(pair[f"{side}_title"])
        found = {batch: pages_of(lake, batch, wanted) for batch, wanted in titles.items()}
        for pair in some:
            yield pair, {side: _page_of(pair, side, found) for side in _SIDES}


def _page_of(pair: Row, side: str, found: Mapping[str, Mapping[str, PageParts]]) -> PageParts:
    batch, title = pair[f"{side}_batch"], pair[f"{side}_title"]
    page = found[batch].get(title)
    if page is None:
        raise LookupError(
            f"pair {pair['pair_id']}: batch {batch} holds no page {title!r}; make the pairs again"
        )
    return page
