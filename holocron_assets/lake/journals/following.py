"""Following a journal: a value that is made from its records, and kept up to date while it grows."""

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from holocron_assets.lake.journals.journal import Journal, record_of
from holocron_assets.lake.journals.packed import packed_lines, packed_part
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.shared.segments import segments_of

_Value = TypeVar("_Value")
_State = tuple[FileMark | None, int]


class Followed(Generic[_Value]):
    """A value of a journal's records, each of which is read once as long as the journal only grows.

    All records are read again after it was packed or replaced, and in a lake that machines share. One thread
    may read it at a time.
    """

    def __init__(
        self, path: Path, begin: Callable[[], _Value], take: Callable[[_Value, dict[str, Any]], object]
    ) -> None:
        """Follow the journal at `path` without reading it.

        Args:
            path: the journal's path.
            begin: makes the value of no records.
            take: changes the value by one record.
        """
        self._path, self._begin, self._take = path, begin, take
        self._value = begin()
        self._marks: list[FileMark] = []
        self._state: _State | None = None
        self._end = 0

    def value(self) -> _Value:
        """The value of all records that are there now.

        Raises:
            DamagedPartitionError: the journal's packed part cannot be read.
        """
        marks = Journal(self._path).marks()
        if marks != self._marks:
            if segments_of(self._path):
                self._read_all()
            else:
                self._read_newer()
            self._marks = marks
        return self._value

    def _read_all(self) -> None:
        self._value, self._state = self._begin(), None
        for record in Journal(self._path).records():
            self._take(self._value, record)

    def _read_newer(self) -> None:
        with ExitStack() as opened:
            # Opened first: lines that are packed meanwhile are in both files, and are skipped in one of them.
            own: BinaryIO | None = None
            with suppress(FileNotFoundError):
                own = opened.enter_context(self._path.open("rb"))
            state, size = _state_of(self._path, own)
            if state != self._state or size < self._end:
                self._value, self._state = self._begin(), None
                taken, packed = opened.enter_context(packed_lines(self._path))
                for line in packed:
                    self._take_line(line)
                self._end = taken.skip_in(own) if own else 0
                self._state = state
            if own:
                own.seek(self._end)
                self._read_from(own)

    def _read_from(self, own: BinaryIO) -> None:
        for line in own:
            if not line.endswith(b"\n"):  # it is being written, or a crash tore it
                return
            self._take_line(line)
            self._end += len(line)

    def _take_line(self, line: bytes) -> None:
        record = record_of(line)
        if record is not None:
            self._take(self._value, record)


def _state_of(path: Path, own: BinaryIO | None) -> tuple[_State, int]:
    """What stays the same while a journal only grows, and the size of its own file."""
    packed = None
    with suppress(FileNotFoundError):
        packed = FileMark.of(packed_part(path).stat())
    if own is None:
        return (packed, 0), 0
    status = os.fstat(own.fileno())
    return (packed, status.st_ino), status.st_size
