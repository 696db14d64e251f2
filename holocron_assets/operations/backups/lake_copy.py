"""A copy of the lake while runs write to it. Nothing is lost that was there when the copy began.

Every file is whole or absent, and every journal is only appended to, so each can be copied at any moment.
Only the order counts. When data moves, its old place is copied before its new one: it may be in both, as
after a crash, but never in none.

* Lines of journals move into partitions: journals come first.
* Changes that a wiki reported are dropped once the pages are fetched: they come before the pages.
* Batches are cut before their pages are fetched, and pages are fetched before anything is derived from them:
  manifests come last, pages before them, and everything derived from pages before those. So derived data
  is of the pages in the copy or of older ones, and is made again where the pages are newer.
* The bytes of a file are stored before a row names them: rows come first, bytes last.
"""

from collections.abc import Iterable
from pathlib import Path

from holocron_assets.lake.files.damage import OBJECTS
from holocron_assets.lake.files.listing import JOURNAL_FILE
from holocron_assets.lake.journals.packed import ENDING
from holocron_assets.lake.place.presence import MARKER
from holocron_assets.lake.tables import BATCH_PAGES, FILE_BATCHES, FILES, PAGE_CHANGES, PAGES
from holocron_assets.operations.backups.copying import Copier, copy_folder

_FIRST = (PAGE_CHANGES.name,)
_LAST = (PAGES.name, BATCH_PAGES.name, FILES.name, FILE_BATCHES.name, OBJECTS)


def copy_lake(layers: Path, copier: Copier) -> None:
    """Copy the folder of all tables."""
    parts = layers.glob(f"*/*/*/{JOURNAL_FILE}*")
    for journal in sorted({part.with_name(JOURNAL_FILE) for part in parts if _is_journal(part)}):
        copier.copy_journal(journal)
    for table in _in_order(layers.glob("*/[!.]*")):
        copy_folder(copier, table)
    if (layers / MARKER).exists():
        copier.copy(layers / MARKER)


def _is_journal(path: Path) -> bool:
    return path.name in (JOURNAL_FILE, f"{JOURNAL_FILE}{ENDING}")


def _in_order(folders: Iterable[Path]) -> list[Path]:
    def place(folder: Path) -> int:
        if folder.name in _FIRST:
            return -1
        return _LAST.index(folder.name) + 1 if folder.name in _LAST else 0

    return sorted(folders, key=lambda folder: (place(folder), folder))
