"""The progress of a run that asks a model, for a person who waits for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.results.result_journals import StateJournal, journal_path
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk

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
    names, partitions = set(what.interrogations or ()), what.partitions or ()
    asked = [one for one in load_interrogations() if one.name in names]
    counted = _Outcomes([journal_path(lake, one, partition) for one in asked for partition in partitions])
    ended, before = Event(), counted.number()

    def watch() -> None:
        while not ended.wait(every):
            report(counted.number() - before)

    watcher = Thread(target=watch, name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


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
