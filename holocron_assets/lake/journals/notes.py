"""Notes: short texts that processes leave for each other. Who reads one knows half a text from a whole."""

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Protocol


class Note(Protocol):
    """A text under a name."""

    def read(self) -> str | None:
        """What it says; None if there is none."""
        ...

    def write(self, text: str) -> None:
        """Let it say something else."""
        ...

    def remove(self) -> None:
        """Remove it, if it is there."""
        ...

    def mark(self) -> Hashable | None:
        """What tells this version of it from others; None if there is none. Quick."""
        ...


class FileNote:
    """A note in a file."""

    def __init__(self, path: Path) -> None:
        """Name the file."""
        self._path = path

    def read(self) -> str | None:
        """What it says; None if there is none."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, text: str) -> None:
        """Let it say something else."""
        self._path.write_text(text, encoding="utf-8")

    def remove(self) -> None:
        """Remove it, if it is there."""
        self._path.unlink(missing_ok=True)

    def mark(self) -> tuple[int, int] | None:
        """What tells this version of it from others."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - asked before each request, and twice as fast
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns
