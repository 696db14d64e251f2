"""Removes older backups: only finished ones of the same lake, and never the newest.

A backup is marked as unfinished before its first file is removed: after a kill, no part seems complete.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from holocron_assets.lake.files.durable import sync_folder, trouble_named
from holocron_assets.operations.backups.places import BackupError, finished_backups, read_manifest

NAME = "%Y%m%dT%H%M%SZ"
"""The name of a backup: its time."""

_NAME = re.compile(r"\d{8}T\d{6}Z")
_UNFINISHED = re.compile(r"\.\d{8}T\d{6}Z\.unfinished")


def unfinished(backup: Path) -> Path:
    """The name of a backup while it is made, and while it is removed."""
    return backup.with_name(f".{backup.name}.unfinished")


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other backups out of a folder, and remove unfinished ones of killed processes.

    A network disk may have no locks. Then no other process is kept out, and what one has not finished stays:
    it may still be made.

    Raises:
        BackupError: another is being made there.
    """
    refusal = f"another backup is being made in {folder}; try again once it is made"
    with alone_by(folder / ".lock", refusal) as is_locked:
        if is_locked:
            for leftover in folder.iterdir():
                if _UNFINISHED.fullmatch(leftover.name):
                    shutil.rmtree(leftover, ignore_errors=True)
        yield


@contextmanager
def alone_by(file: Path, refusal: str) -> Iterator[bool]:
    """Keep other processes out by a lock file, which is there only meanwhile.

    Returns:
        Whether they are kept out: the disk may have no locks.

    Raises:
        BackupError: another process has the lock; with this message.
    """
    with trouble_named(file):  # NFS locks only what is open for writing
        opened = os.open(file, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        is_locked = _is_locked(opened, file, refusal)
        try:
            yield is_locked
        finally:
            file.unlink(missing_ok=True)
    finally:
        os.close(opened)


def _is_locked(opened: int, file: Path, refusal: str) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BackupError(refusal) from None
    except OSError:
        return False
    if not file.exists() or not os.path.samestat(file.stat(), os.fstat(opened)):
        raise BackupError(refusal)  # the process that had the lock has just removed this file
    return True


def backups_of(folder: Path, lake: str | None) -> list[Path]:
    """The finished backups of a lake in a folder, the oldest first.

    Args:
        folder: of backups; others may be in it, and other things.
        lake: the lake's own name; see `marker_of`.
    """
    return [
        backup
        for backup in finished_backups(folder)
        if _NAME.fullmatch(backup.name)
        and not backup.is_symlink()
        and (read_manifest(backup) or {}).get("lake") == lake
    ]


def newest_backup(folder: Path, lake: str | None, *, now: datetime) -> datetime | None:
    """When the newest finished backup of a lake began; None if there is none.

    Args:
        folder: of backups.
        lake: the lake's own name.
        now: the moment. A backup of later was made while the clock was ahead, and its age is not known.
    """
    manifests = map(read_manifest, reversed(backups_of(folder, lake)))
    begun = (datetime.fromisoformat(manifest["at"]) for manifest in manifests if manifest)
    return next((moment for moment in begun if moment <= now), None)


def remove_older(
    folder: Path, lake: str | None, *, now: datetime, keep: int, spared: Collection[Path] = ()
) -> list[Path]:
    """Remove all backups of a lake except the newest. The caller keeps others out of the folder.

    Backups of later than now go first: they were made while the clock was ahead, and others since.

    Args:
        folder: of backups.
        lake: the lake's own name. If the lake has none yet, nothing is removed.
        now: the moment.
        keep: how many are left, at least one.
        spared: backups that stay, whatever time their names say: the clock may have been set back.

    Returns:
        The removed backups, in the order of their removal.
    """
    others = [backup for backup in backups_of(folder, lake) if lake and backup not in spared]
    others.sort(key=lambda backup: (backup.name <= now.strftime(NAME), backup.name))
    removed = others[: max(0, len(others) - max(1, keep) + len(spared))]
    for backup in removed:
        backup.replace(unfinished(backup))
        sync_folder(folder)
        shutil.rmtree(unfinished(backup))
    return removed
