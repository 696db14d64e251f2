"""Files and folders that are still there after the power went, whole, and are never half of two."""

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from time import time

_ABANDONED_AFTER = timedelta(hours=1)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that a file synced inside cannot vanish with its folder."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def open_in_folder(path: Path, flags: int) -> int:
    """Open a file for writing as `os.open` does, and make its folder where there is none.

    Returns:
        The file descriptor.
    """
    while True:
        make_folder(path.parent)
        with suppress(FileNotFoundError):  # the folder was empty, and tidied away in between
            return os.open(path, flags, 0o666)


def sync_folder(folder: Path) -> None:
    """Write to disk which files a folder holds; a new or renamed file is only then sure to be found again."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Keep others that hold a folder waiting: those who replace a file in it, or remove one.

    The operating system lets go of it when the process dies.
    """
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give the path of an empty file to write to, which becomes `target` in one step if the block ends well.

    A crash at any moment leaves the old file or the new one. What a killed process left aside is removed once
    it is an hour old.
    """
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    # There from the start, so that the folder is not empty and cannot be tidied away meanwhile.
    os.close(open_in_folder(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    try:
        _remove_abandoned(target)
        yield aside
        with aside.open("rb+") as written:
            os.fsync(written.fileno())
        with holding(target.parent):
            aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(target.parent)


def _remove_abandoned(target: Path) -> None:
    for leftover in target.parent.glob(f".{target.name}.*.tmp"):
        with suppress(FileNotFoundError):  # another writer may have ended, or tidied up, in between
            if time() - leftover.stat().st_mtime > _ABANDONED_AFTER.total_seconds():
                leftover.unlink()
