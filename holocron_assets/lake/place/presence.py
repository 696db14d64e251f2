"""Whether a folder is still the one it was: a disk that was unmounted leaves an empty folder behind.

An empty lake means that all is to be fetched again, and an empty folder of locks that nobody holds any. So
both carry a marker with a name of their own, and a process that has seen it goes on only where it is.
"""

import os
from pathlib import Path
from typing import NamedTuple

from holocron_assets.errors import TransientError

MARKER = ".holocron"
"""The file that tells one folder from another at the same place."""


class FolderGoneError(TransientError):
    """A folder that was there is gone, or another is in its place. Work goes on once it is back."""


class _Seen(NamedTuple):
    name: str
    inode: int
    mtime_ns: int


_KNOWN: dict[Path, _Seen] = {}
"""The folders with a marker that this process has worked in."""


def refuse_another(folder: Path) -> None:
    """Raise FolderGoneError if `folder` is not the one that this process saw at that place before.

    A folder without a marker that was never seen with one is new. Costs one look at a file's state.
    """
    known = _KNOWN.get(folder)
    try:
        status = os.stat(f"{folder}/{MARKER}")  # noqa: PTH116 - a third of the time, and asked for each path
    except (FileNotFoundError, NotADirectoryError):
        if known is None:
            return
        raise _gone(folder, "is gone") from None
    if known is None or known[1:] != (status.st_ino, status.st_mtime_ns):
        seen = _Seen(_name_in(folder), status.st_ino, status.st_mtime_ns)
        if known is not None and known.name != seen.name:
            raise _gone(folder, "was replaced by another")
        _KNOWN[folder] = seen  # seen for the first time, or put back from a copy


def marker_of(folder: Path) -> str | None:
    """The name of the folder at a place, whichever it is; None if it has none."""
    try:
        return _name_in(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _name_in(folder: Path) -> str:
    return (folder / MARKER).read_text(encoding="utf-8")


def _gone(folder: Path, what: str) -> FolderGoneError:
    return FolderGoneError(
        f"{folder} {what}, while Holocron works in it. Nothing is written until it is as it was: mount its "
        "disk again, or put it back. To begin anew instead, end every Holocron process first."
    )
