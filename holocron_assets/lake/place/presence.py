"""Whether a folder is still the same: a disk that was unmounted leaves an empty folder behind.

An empty lake would mean that everything must be fetched again, and an empty folder of locks that no lock is
held. So both have a marker with a unique name. A process that has seen it goes on only if it is still there.
"""

import os
from pathlib import Path
from typing import NamedTuple

from holocron_assets.errors import TransientError

MARKER = ".holocron"
"""The file that distinguishes a folder from another one at the same place."""


class FolderGoneError(TransientError):
    """A folder is gone, or another folder is in its place. Work goes on when it is back."""


class _Seen(NamedTuple):
    name: str
    inode: int
    mtime_ns: int


_KNOWN: dict[Path, _Seen] = {}
"""The folders with a marker that this process has used."""


def refuse_another(folder: Path) -> None:
    """Raise FolderGoneError if `folder` is not the one that this process saw at that place before.

    A folder without a marker is new, unless this process has seen a marker there. This reads one file's
    state.
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
    """The name in the marker of a folder; None if it has no marker."""
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
