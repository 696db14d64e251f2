"""Files and folders that survive a power failure whole: each is the old version or the new one."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from time import time

from holocron_assets.lake.place.presence import refuse_another
from holocron_assets.lake.place.unfinished import aside_of, asides_of
from holocron_assets.lake.shared.places import mirror_of

_ABANDONED_AFTER = timedelta(hours=1)
_A_SECOND_NS = 10**9
_ADVICE = {
    errno.ENOSPC: "free some space on its disk",
    errno.EDQUOT: "have its quota raised, or free some space",
    errno.EROFS: "mount its disk so that it can be written to",
    errno.EACCES: "let this user read and write there",
    errno.EPERM: "let this user read and write there",
    errno.EMFILE: "let this process open more files (`ulimit -n`)",
    errno.ENFILE: "let the machine open more files (sysctl fs.file-max)",
    errno.EIO: "check its disk",
}

_REPLACED: ContextVar[set[Path] | None] = ContextVar("replaced_files", default=None)


@contextmanager
def replaced_files() -> Iterator[set[Path]]:
    """Record which files are replaced until the block ends, also by threads with the same context.

    A block within a block has a record of its own.
    """
    replaced: set[Path] = set()
    token = _REPLACED.set(replaced)
    try:
        yield replaced
    finally:
        _REPLACED.reset(token)


@contextmanager
def trouble_named(path: Path) -> Iterator[None]:
    """Let errors of the disk and the system name the file and say what to do, which not all do themselves."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0)
        if advice is None or advice in str(error):
            raise
        what = f"{os.strerror(error.errno or 0)}; {advice}, then start again what failed"
        # Without its cause: a failed run shows only the first cause, and that names no file.
        raise type(error)(error.errno, what, str(error.filename or path)) from None


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that a file synced inside cannot be lost with its folder.

    Raises:
        FolderGoneError: one of them had a marker that this process has seen, and is gone.
    """
    if folder.is_dir():
        return
    refuse_another(folder)  # an older path must not make a folder again that is gone
    make_folder(folder.parent)
    with trouble_named(folder):
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def open_in_folder(path: Path, flags: int) -> int:
    """Open a file for writing as `os.open` does, and make its folder if it is missing.

    Returns:
        The file descriptor.
    """
    while True:
        make_folder(path.parent)
        # The folder may have been empty, and removed in between.
        with trouble_named(path), suppress(FileNotFoundError):
            return os.open(path, flags, 0o666)


def sync_folder(folder: Path) -> None:
    """Write to disk which files a folder holds: without that a crash may lose a new or renamed file."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold a folder, so that others wait before they replace or remove a file in it.

    It is free again when the process dies. In a lake that machines share, it is held on all of them.
    """
    mirror = mirror_of(folder)
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        with mirror.holding(folder) if mirror else nullcontext():
            yield
    finally:
        os.close(opened)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give the path of an empty file, which replaces `target` in one step if the block ends without an error.

    A crash at any moment leaves the old file or the new one. What killed processes left is removed when it is
    an hour old: here if it was to become the same file, otherwise by a compaction of the lake.
    """
    aside = aside_of(target)
    # The file is there from the start, so that the folder is not empty and cannot be removed meanwhile.
    own = open_in_folder(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    with trouble_named(target):
        try:
            fcntl.flock(own, fcntl.LOCK_SH)  # shows that it is being written, even if clocks differ
            remove_abandoned(asides_of(target))
            yield aside
            with aside.open("rb+") as written:
                os.fsync(written.fileno())
            with holding(target.parent):
                _date_apart(aside, target)
                with published(aside, target):
                    aside.replace(target)
            if (replaced := _REPLACED.get()) is not None:
                replaced.add(target)
        finally:
            aside.unlink(missing_ok=True)
            os.close(own)
        sync_folder(target.parent)


def _date_apart(aside: Path, target: Path) -> None:
    """Give a new file another time than the one that it replaces.

    The clock of a file system ticks every few milliseconds. Two versions that are written within one tick and
    are of one size would have the same mark, and caches by mark would give what the older one held. So each
    version is later than the one before it, which may itself have been dated ahead of the clock.
    """
    with suppress(FileNotFoundError):
        before, now = target.stat().st_mtime_ns, aside.stat()
        if 0 <= before - now.st_mtime_ns < _A_SECOND_NS:
            os.utime(aside, ns=(now.st_atime_ns, before + 1))


def remove(*files: Path) -> None:
    """Remove files of the lake, in this order; a file that is already gone is no error."""
    mirror = mirror_of(files[0]) if files else None
    if mirror:
        mirror.remove(*files)
    for file in files:
        file.unlink(missing_ok=True)


def move(file: Path, target: Path) -> None:
    """Move a file of the data folder to a free place in it, which may be on another disk."""
    mirror = mirror_of(file)
    with mirror.moving(file, target) if mirror else nullcontext():
        try:
            file.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _move_across_disks(file, target)
    sync_folder(target.parent)
    sync_folder(file.parent)


def _move_across_disks(file: Path, target: Path) -> None:
    """Copy a file, and remove it once the copy is on disk. A crash leaves both or one."""
    aside = aside_of(target)
    try:
        with trouble_named(target):
            shutil.copy2(file, aside)
            with aside.open("rb+") as written:
                os.fsync(written.fileno())
            aside.replace(target)
            sync_folder(target.parent)
    finally:
        aside.unlink(missing_ok=True)
    file.unlink()


@contextmanager
def published(aside: Path, target: Path) -> Iterator[None]:
    """Give a complete file to the machines that share `target`; the block puts it there on this machine."""
    mirror = mirror_of(target)
    with mirror.publishing(aside, target) if mirror and mirror.is_mirrored(target) else nullcontext():
        yield


def remove_abandoned(leftovers: Iterable[Path]) -> None:
    """Remove those unfinished files that nobody has been writing for an hour."""
    for leftover in leftovers:
        # Another writer may have ended or removed it in between, or may still be writing.
        with suppress(FileNotFoundError, BlockingIOError), leftover.open("rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time() - os.fstat(left.fileno()).st_mtime > _ABANDONED_AFTER.total_seconds():
                leftover.unlink()
