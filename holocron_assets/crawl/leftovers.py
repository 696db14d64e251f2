"""What kills left beside finished batches: journals whose rows are in the lake, and records of requests."""

from collections.abc import Iterator
from contextlib import suppress

from filelock import Timeout

from holocron_assets.crawl.http.log import store_left
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILES, HTTP_ATTEMPTS, PAGES


def batches_with_leftovers(lake: Lake) -> list[str]:
    """Finished batches of pages and of files that have a journal, sorted. Nobody opens these again."""
    return sorted({batch for table in (PAGES, FILES) for batch in _left(lake, table)})


def clear_leftovers(lake: Lake) -> int:
    """Remove journals that became partitions, and store the requests of finished batches.

    Returns:
        The number of batches that had any. One that a process is busy with is left for later.
    """
    cleared = 0
    for batch in batches_with_leftovers(lake):
        with suppress(Timeout), lake.lock(f"batch-{batch}", timeout=0):
            store_left(lake, batch)
            for table in (PAGES, FILES):
                if lake.has(table, batch):
                    Journal(lake.journal(table, batch)).remove()
            cleared += 1
    return cleared


def _left(lake: Lake, table: Table) -> Iterator[str]:
    finished = set(lake.partitions(table))
    journals = (*lake.journals(table), *lake.journals(HTTP_ATTEMPTS))
    return (journal.parent.name for journal in journals if journal.parent.name in finished)
