"""The pages that items are about, read from the batches that hold them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from holocron_assets.derive.evidence.page_parts import PageParts
from holocron_assets.derive.interrogations.derived_tables import Over
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import PAGE_SIGNALS, PAGES, SITES
from holocron_assets.lake.titles import Site

_PAGE_COLUMNS = ("source", "batch", "title", "title_key", "page_id", "revision_id", "status", "wikitext")
ROWS_AT_A_TIME = 500
"""How many rows' pages are held in memory together: some 20 MB of wikitext."""

_ROLES: Mapping[Over, Mapping[str, str]] = {
    "pairs": {"first": "first_", "second": "second_"},
    "entities": {"page": ""},
}
"""The roles of a row's pages, and the prefix of the columns that say where each page is."""


def pages_of(lake: Lake, batch: str, titles: Iterable[str]) -> dict[str, PageParts]:
    """Some pages of a batch, by title.

    Raises:
        MissingPartitionError: the batch, its signals or its wiki's site is not in the lake.
    """
    wanted = frozenset(titles)
    signals = {
        row["title"]: row for row in read_partition(lake, PAGE_SIGNALS, batch) if row["title"] in wanted
    }
    [site_row] = read_partition(lake, SITES, source_of(batch))
    site = Site.from_row(site_row)
    found: dict[str, PageParts] = {}
    for page in read_partition(lake, PAGES, batch, _PAGE_COLUMNS):
        if page["status"] == "ok" and page["title"] in signals:
            found.setdefault(page["title"], PageParts(page, signals[page["title"]], site))
    return found


def pages_of_rows(
    lake: Lake, over: Over, rows: Sequence[Row]
) -> Iterator[tuple[Row, Mapping[str, PageParts]]]:
    """Each entity with its page, by 'page', or each pair with those of both, by 'first' and 'second'.

    They come in the rows' order. A page that the lake lacks is left out; see `missing_page`.
    """
    roles = _ROLES[over]
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        some = rows[start : start + ROWS_AT_A_TIME]
        titles = defaultdict(set)
        for row in some:
            for prefix in roles.values():
                titles[row[f"{prefix}batch"]].add(row[f"{prefix}title"])
        found = {batch: _pages_there(lake, batch, wanted) for batch, wanted in titles.items()}
        for row in some:
            pages = {
                role: found[row[f"{prefix}batch"]].get(row[f"{prefix}title"])
                for role, prefix in roles.items()
            }
            yield row, {role: page for role, page in pages.items() if page}


def missing_page(over: Over, row: Row, pages: Collection[str]) -> str | None:
    """A message about an entity or pair that lacks one of its pages; None if all are there.

    Args:
        over: whether it is an entity or a pair.
        row: of entities or entity_pairs.
        pages: its pages that are there, by role.
    """
    for role, prefix in _ROLES[over].items():
        if role not in pages:
            batch, title = row[f"{prefix}batch"], row[f"{prefix}title"]
            return f"batch {batch} holds no page {title!r} with signals; make the {over} again"
    return None


def _pages_there(lake: Lake, batch: str, titles: Iterable[str]) -> Mapping[str, PageParts]:
    try:
        return pages_of(lake, batch, titles)
    except MissingPartitionError:
        return {}
