"""The progress of a run that asks a model or fetches files, for a person who waits for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from holocron_assets.crawl.frontier.file_batches import file_manifest
from holocron_assets.derive.results.result_journals import StateJournal, journal_path
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES, FILES
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.telemetry.long_work import repeated

_SECONDS = 2.0


@contextmanager
def answers_counted(
    lake: Lake, what: WhatToAsk, report: Callable[[int], None], *, every: float = _SECONDS
) -> Iterator[None]:
    """While the block lasts, report how many items got an outcome since it began.

    It reads the journals that the run writes, and so needs nothing from the run itself.

    Args:
        lake: where the answers go.
        what: what the run asks; names its interrogations and partitions.
        report: called with the number from another thread, at most so often.
        every: seconds between two readings.
    """
    partitions = what.partitions or ()
    counted = _Outcomes([journal_path(lake, one, name) for one in what.asked() for name in partitions])
    before = counted.number()
    with repeated(lambda: report(counted.number() - before), every):
        yield


class FilesFetched(NamedTuple):
    """How far a batch of files is.

    Attributes:
        done: files with an outcome.
        wanted: all files of the batch.
        total_bytes: bytes of those that were fetched, and of those that are coming.
        bytes_per_second: the rate since the last report.
        stated_bytes: bytes of all files of the batch, as their sources state; None if one is not stated.
    """

    done: int
    wanted: int
    total_bytes: int
    bytes_per_second: float
    stated_bytes: int | None


@contextmanager
def files_counted(lake: Lake, batch: str, report: Callable[[FilesFetched], None]) -> Iterator[None]:
    """While the block lasts, report how far a batch of files is.

    Args:
        lake: where the run writes the batch's journal, and the bytes that are coming.
        batch: the batch.
        report: called from another thread, every few seconds.
    """
    sizes = [row["size_bytes"] for row in file_manifest(lake, batch)] if lake.has(FILE_BATCHES, batch) else []
    stated = None if None in sizes else sum(sizes)
    journal = Journal(lake.journal(FILES, batch))
    last, last_at = _bytes_of(lake, journal)[1], monotonic()

    def read() -> None:
        nonlocal last, last_at
        done, size = _bytes_of(lake, journal)
        now = monotonic()
        report(FilesFetched(done, len(sizes), size, max(size - last, 0) / max(now - last_at, 1e-3), stated))
        last, last_at = size, now

    with repeated(read, _SECONDS):
        yield


def _bytes_of(lake: Lake, journal: Journal) -> tuple[int, int]:
    """The files of a journal with an outcome, and the bytes that came for them or are coming."""
    rows = [row for record in journal.records() for row in record.get("rows", ())]
    coming = 0
    for part in lake.parts.glob("*"):
        with suppress(FileNotFoundError):  # it was finished meanwhile
            coming += part.stat().st_size
    return len(rows), coming + sum(row["size_bytes"] or 0 for row in rows)


class _Outcomes:
    """Counts items with an outcome; it reads only lines that are new since the last time."""

    def __init__(self, journals: Sequence[Path]) -> None:
        self._journals = journals
        self._known: dict[Path, tuple[list[FileMark], int]] = {}

    def number(self) -> int:
        for path in self._journals:
            marks = Journal(path).marks()
            if self._known.get(path, ([], 0))[0] != marks:
                states = StateJournal(path).states().values()
                self._known[path] = (marks, sum(state.status in ("ok", "dead") for state in states))
        return sum(number for _, number in self._known.values())
