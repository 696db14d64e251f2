"""Reading and writing the review queue, one source at a time."""

from collections.abc import Sequence

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer, write_partition
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import DECISIONS, PAGE_TYPES, REVIEW_ITEMS
from holocron_assets.review.queue import MADE_FROM, review_rows

REVIEW_VERSION = code_version(__name__)


def stale_review(lake: Lake, sources: Sequence[str]) -> list[str]:
    """The sources whose review queue would come out different today.

    A source without a typed page has no queue.
    """
    typed = {source_of(name) for name in lake.partitions(PAGE_TYPES)}
    made_from = _inputs(lake)
    return [
        name
        for name in sources
        if name in typed and _is_stale(read_footer(lake, REVIEW_ITEMS, name), made_from)
    ]


def store_review(lake: Lake, source: str) -> tuple[Footer, Sequence[Row]]:
    """Write table `review_items` for one source.

    Args:
        lake: where everything is.
        source: the source; it names the partition.

    Returns:
        The new file's footer, and its rows.
    """
    made_from = _inputs(lake)  # taken before the rows are read: rows that come meanwhile make the queue stale
    rows = review_rows(lake, source)
    footer = write_partition(lake, REVIEW_ITEMS, source, rows, code_version=REVIEW_VERSION, inputs=made_from)
    return footer, rows


def _is_stale(footer: Footer | None, made_from: dict[str, str]) -> bool:
    return footer is None or not footer.is_of(REVIEW_VERSION, made_from)


def _inputs(lake: Lake) -> dict[str, str]:
    """A mark of each table that the queue is made from: cheaper than the footers of all partitions."""
    return {table.name: lake.mark([table]) for table in (*MADE_FROM, DECISIONS)}
