"""Notes: short texts that processes leave for each other. A reader notices a text that is not whole."""

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Protocol


class Note(Protocol):
    """A text under a name."""

    def read(self) -> str | None:
        """The note's text; None if there is no note."""
        ...

    def write(self, text: str) -> None:
        """Replace the note's text."""
        ...

    def remove(self) -> None:
        """Remove the note, if it is there."""
        ...

    def mark(self) -> Hashable | None:
        """A mark of this version of the note; None if there is no note. Quick."""
        ...


class FileNote:
    """A note in a file."""

    def __init__(self, path: Path) -> None:
        """Name the file."""
        self._path = path

    def read(self) -> str | None:
        """The note's text; None if there is no note."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, text: str) -> None:
        """Replace the note's text."""
        self._path.write_text(text, encoding="utf-8")

    def remove(self) -> None:
        """Remove the note, if it is there."""
        self._path.unlink(missing_ok=True)

    def mark(self) -> tuple[int, int] | None:
        """A mark of this version of the note."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - asked before each request, and twice as fast
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns
