"""Removes bytes that no row names, a week after they were stored."""

from datetime import datetime, timedelta
from typing import NamedTuple

from holocron_assets.lake.files.parquet import read_table
from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILES

OLDEST_UNNAMED = timedelta(days=7)
"""For so long bytes may stay that no row names: the batch that fetched them may be unfinished."""

_NOTE = "files-collected"


class Collected(NamedTuple):
    """What was removed.

    Attributes:
        files: objects, and parts of files that nobody finished.
        freed_bytes: their bytes on this machine.
    """

    files: int
    freed_bytes: int


def collection_is_due(lake: Lake, now: datetime) -> bool:
    """Whether a week is over since unnamed bytes were removed, and there may be any."""
    if not lake.objects.is_dir() and not lake.parts.is_dir():
        return False
    last = lake.note(_NOTE).read()
    return not last or not timedelta(0) <= now - datetime.fromisoformat(last) < OLDEST_UNNAMED


def collect(lake: Lake, now: datetime) -> Collected:
    """Remove the bytes that no row of table `files`, and no journal of a batch under way, names.

    Nothing is removed while a damaged partition of table `files` is in quarantine: it named bytes, too.

    Raises:
        DamagedPartitionError: a partition of table `files` cannot be read. Then nothing is removed.
    """
    collected = Collected(0, 0)
    # Read before the quarantine: a partition that is set aside in between is there, or raises an error here.
    named = _named(lake)
    if not any(aside.may_be_of(FILES) for aside in all_set_aside(lake)):
        store = FileStore(lake)
        found = store.unnamed(named, OLDEST_UNNAMED)
        collected = Collected(len(found), store.remove_unnamed(named, OLDEST_UNNAMED))
    lake.note(_NOTE).write(now.isoformat())
    return collected


def _named(lake: Lake) -> set[str]:
    # Journals first: their rows move into partitions.
    journals = [Journal(path) for path in lake.journals(FILES)]
    rows = (row for journal in journals for record in journal.records() for row in record.get("rows", ()))
    named = {row.get("sha256") for row in rows}  # an artifact that was given up has none
    for batch in lake.partitions(FILES):
        named.update(read_table(lake, FILES, batch, ["sha256"]).column("sha256").to_pylist())
    return named - {None}
