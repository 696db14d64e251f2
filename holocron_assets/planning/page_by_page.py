"""Reads a batch page by page, so that a page that cannot be read costs its own rows and no others.

Reading a page's text may raise, end the process inside a parser, or never end. A note names the page that is
being read. It outlives the process and costs microseconds. It is not synced, since a page can end its
process, but not the machine. The next process that does the step counts the death. A page that ended its
process four times, or raised, is given up: it has a row in table `unread_pages`, until the code of its step
changes or a person requeues it.
"""

import faulthandler
import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple, Self

from holocron_assets.decisions.log import standing
from holocron_assets.lake.attempts import MAX_ATTEMPTS
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.durable import open_in_folder
from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.freshness import Derivation, RowInput, RowsOf
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import UNREAD_PAGES
from holocron_assets.lake.tracebacks import keep_tracebacks, traceback_of
from holocron_assets.telemetry.logs import logger

LONGEST_SECONDS = 60.0
"""A page that takes longer ends the process. The longest page of a large wiki takes a second."""

_ARMED_FOR_SECONDS = 5.0  # setting the alarm starts a thread, so it is set once for many pages
_NOTE_LENGTH = 24
_NO_PAGE = ""
_HANG_MARK = b"Timeout"  # the start of faulthandler's message at the end of the time
_LONGEST_ERROR = 500
_LOG = logger(__name__)


def unread_input(table: Table) -> RowInput:
    """A further dependency of a step's partitions: pages given up and not requeued."""
    return RowInput(UNREAD_PAGES, partial(_standing_unread, table))


class PageByPage:
    """One step's reading of one batch; a context manager.

    If it ends with an exception, as after Ctrl+C or SIGTERM, no page is to blame.

    Attributes:
        given_up: rows of table `unread_pages`, by title key: the standing ones, and new ones.
    """

    def __init__(self, lake: Lake, derivation: Derivation, batch: str, run_id: str) -> None:
        """Prepare to read a batch for the step of a derivation; the run's id is written into rows."""
        self.given_up: dict[int, Row] = {}
        self._lake, self._derivation, self._batch, self._run_id = lake, derivation, batch, run_id
        self._note = _Note(lake.partition_folder(derivation.table, batch) / "reading")
        self._journal = Journal(lake.journal(derivation.table, batch))
        self._stored: Sequence[Row] = ()
        self._deaths: Counter[int] = Counter()
        self._hangs: Counter[int] = Counter()
        self._tracebacks: dict[int, str] = {}

    def __enter__(self) -> Self:
        """Go on after the last reading: count the page that ended it, and read which pages were given up."""
        version = self._derivation.code_version
        self._note.open()
        if death := self._note.last_death():
            self._note_death(death)
        self._note.clear()
        records = [record for record in self._journal.records() if record["code_version"] == version]
        self._deaths = Counter(record["died"] for record in records)
        self._hangs = Counter(record["died"] for record in records if record["hung"])
        # A journal of an earlier version has none.
        self._tracebacks = {record["died"]: text for record in records if (text := record.get("traceback"))}
        self._stored = _stored(self._lake, self._derivation.table, self._batch)
        standing_rows = _not_requeued(self._lake, self._stored)
        self.given_up = {row["title_key"]: row for row in standing_rows if row["code_version"] == version}
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the note: this end is no page's fault."""
        self._journal.close()
        self._note.close()

    def rows(
        self,
        pages: Iterable[Row],
        read: Callable[[Row], Iterable[Row]],
        unread: Callable[[Row], Sequence[Row]] = lambda _: (),
    ) -> list[Row]:
        """The rows that a step makes from some pages.

        Args:
            pages: rows with source, batch, title and title key.
            read: returns a page's rows. If it raises, the page is given up, and `unread` returns its rows.
            unread: returns the rows of a page that cannot be read.
        """
        found: list[Row] = []
        for page in pages:
            rows = None if self._is_given_up(page) else self._read(page, read)
            found += unread(page) if rows is None else rows
        self._note.clear()
        return found

    def keep_given_up(self) -> bool:
        """Store the pages that were given up; return whether they changed."""
        rows = sorted(self.given_up.values(), key=lambda row: str(row["title"]))
        if rows == sorted(self._stored, key=lambda row: str(row["title"])):
            return False
        scope, step = _scope(self._batch, self._derivation.table), self._derivation.table.name
        found = {str(key): text for key, text in self._tracebacks.items() if key in self.given_up}
        keep_tracebacks(self._lake, scope, step, found)
        write_partition(self._lake, UNREAD_PAGES, scope, rows)
        return True

    def conclude(self) -> None:
        """Forget the deaths: the step's partition is written."""
        self._journal.remove()

    def _note_death(self, death: "_Death") -> None:
        version, text = self._derivation.code_version, death.traceback
        record = {"died": death.key, "hung": death.hung, "code_version": version, "traceback": text}
        self._journal.append(record)

    def _is_given_up(self, page: Row) -> bool:
        key = page["title_key"]
        if key not in self.given_up and (deaths := self._deaths[key]) >= MAX_ATTEMPTS:
            hangs = self._hangs[key]
            ways = f"; {hangs} of them after {LONGEST_SECONDS:g} s" if hangs else ""
            self._give_up(page, f"the process ended while reading it, in {deaths} attempts{ways}", deaths)
        return key in self.given_up

    def _read(self, page: Row, read: Callable[[Row], Iterable[Row]]) -> list[Row] | None:
        if deaths := self._deaths[page["title_key"]]:
            self._warn_of(page, deaths)
        self._note.begin(page["title_key"])
        try:
            return list(read(page))
        except OSError:
            raise  # a fault of the machine: no page's text causes it
        except MemoryError:
            # The page or the machine may be to blame: it counts as one death.
            self._note_death(_Death(page["title_key"], hung=False))
            raise
        except Exception as error:  # noqa: BLE001 - any error of one page must not lose the others
            reason = f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]
            self._tracebacks[page["title_key"]] = traceback_of(error)
            self._give_up(page, reason, self._deaths[page["title_key"]] + 1)
            return None

    def _warn_of(self, page: Row, deaths: int) -> None:
        """Name a page that may end this process, too: then nothing more can be said."""
        _LOG.warning(
            "a process ended while it read this page, which is read again",
            page=page["title"],
            batch=self._batch,
            step=self._derivation.table.name,
            attempts=f"{deaths} of {MAX_ATTEMPTS}",
            advice="if this process ends, too, start the command again: after the last attempt the page is "
            "given up, and all others are read",
        )

    def _give_up(self, page: Row, error: str, attempts: int) -> None:
        step = self._derivation.table.name
        _LOG.warning("gave a page up", page=page["title"], step=step, attempts=attempts, error=error)
        self.given_up[page["title_key"]] = {
            **{name: page[name] for name in ("source", "batch", "title", "title_key")},
            "scope": _scope(self._batch, self._derivation.table),
            "step": step,
            "attempts": attempts,
            "error": f"{page['title']}: {error}",
            "code_version": self._derivation.code_version,
            "died_at": utc_now(),
            "run_id": self._run_id,
        }


class _Death(NamedTuple):
    """How the last process ended: at which page, and whether that took too long."""

    key: int
    hung: bool
    traceback: str | None = None
    """Where it hung."""


class _Note:
    """The page that is being read, in a file that one process holds; and the alarm that ends a long reading.

    A second process at the same step has no note: it would take the living one's page for a dead one's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._is_ours = False
        self._alarm_due = 0.0

    def open(self) -> None:
        """Open the file, and lock it if no other process does."""
        self._file = open_in_folder(self._path, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._is_ours = True
        except BlockingIOError:
            self._is_ours = False

    def close(self) -> None:
        """Leave no note that could count as a death."""
        self.clear()
        if self._is_ours:
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def last_death(self) -> _Death | None:
        """The note's text, if a process died at a page."""
        if not self._is_ours:
            return None
        text = os.pread(self._file, 4096, 0)
        key = text[:_NOTE_LENGTH].decode("ascii", "replace").strip()
        if not key.removeprefix("-").isdecimal():  # no process died, or the machine did and left half a note
            return None
        dumped = text[_NOTE_LENGTH:]
        if _HANG_MARK not in dumped:
            return _Death(int(key), hung=False)
        return _Death(int(key), hung=True, traceback=dumped.decode("utf-8", "replace"))

    def begin(self, key: int) -> None:
        """Note that a page is being read from now on."""
        self._write(str(key))
        if monotonic() > self._alarm_due:
            self._alarm_due = monotonic() + _ARMED_FOR_SECONDS
            os.lseek(self._file, _NOTE_LENGTH, os.SEEK_SET)  # faulthandler writes there
            # It needs no interpreter: while a C function does not return, no Python code can run.
            longest = LONGEST_SECONDS + _ARMED_FOR_SECONDS
            faulthandler.dump_traceback_later(longest, exit=True, file=self._file)

    def clear(self) -> None:
        """Note that no page is being read."""
        if self._alarm_due:
            faulthandler.cancel_dump_traceback_later()
            self._alarm_due = 0.0
        if self._is_ours:
            os.ftruncate(self._file, _NOTE_LENGTH)
        self._write(_NO_PAGE)

    def _write(self, text: str) -> None:
        if self._is_ours:
            os.pwrite(self._file, f"{text:<{_NOTE_LENGTH}}".encode("ascii"), 0)


def _standing_unread(table: Table, lake: Lake) -> RowsOf:
    listing = lake.listing(UNREAD_PAGES)
    if not listing.own and not listing.packed:
        return _nothing
    names = set(listing.names)

    def of_batch(batch: str) -> Sequence[Row]:
        if _scope(batch, table) not in names:
            return ()
        return _not_requeued(lake, _stored(lake, table, batch))

    return of_batch


def _nothing(_batch: str) -> Sequence[Row]:
    return ()


def _stored(lake: Lake, table: Table, batch: str) -> Sequence[Row]:
    return rows_there(lake, UNREAD_PAGES, _scope(batch, table))


def _not_requeued(lake: Lake, rows: Sequence[Row]) -> Sequence[Row]:
    if not rows:
        return rows
    requeues = standing(lake).requeues
    return [
        row
        for row in rows
        if (requeue := requeues.get((row["source"], row["title_key"]))) is None
        or requeue["decided_at"] < row["died_at"]
    ]


def _scope(batch: str, table: Table) -> str:
    """The partition of table `unread_pages` for one step of a batch."""
    return f"{batch}-{table.name}"
