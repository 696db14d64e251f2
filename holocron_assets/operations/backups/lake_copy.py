"""A copy of the lake while runs write to it, in which nothing is lost that was there when it began.

Every file is whole or absent and every journal is only appended to, so each of them can be copied at any
moment; what counts is which is copied first. What moves from one place to another is copied at the first
place first: it may then be in both, as after a crash, and never in none.

* Lines of journals move into partitions: journals come first.
* What a wiki told of its changes is dropped once the pages are fetched: it comes before the pages.
* Batches are cut before their pages are fetched, and pages are fetched before anything is derived from them:
  manifests come last, pages before them, and everything that follows from pages before those. So what is
  derived is of the pages that are there or of older ones, and is made again where they are newer.
"""

from collections.abc import Iterable
from pathlib import Path

from holocron_assets.lake.files.listing import JOURNAL_FILE
from holocron_assets.lake.journals.packed import ENDING
from holocron_assets.lake.place.presence import MARKER
from holocron_assets.lake.tables import BATCH_PAGES, PAGE_CHANGES, PAGES
from holocron_assets.operations.backups.copying import Copier, copy_folder

_FIRST = (PAGE_CHANGES.name,)
_LAST = (PAGES.name, BATCH_PAGES.name)


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
