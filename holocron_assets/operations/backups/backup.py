"""Makes a backup while Holocron works: a new folder that is complete or absent."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from holocron_assets.lake.files.durable import make_folder, sync_folder, trouble_named
from holocron_assets.lake.place.presence import marker_of
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.operations.backups.copying import Copier, copy_folder
from holocron_assets.operations.backups.dagster_copy import copy_home, dump_database
from holocron_assets.operations.backups.lake_copy import copy_lake
from holocron_assets.operations.backups.places import (
    DAGSTER,
    DAGSTER_FOLDERS,
    DATABASE_DUMP,
    LAKE,
    QUARANTINE,
    SETTINGS,
    BackupError,
    Places,
    write_manifest,
)
from holocron_assets.operations.backups.rotation import NAME, alone_in, backups_of, remove_older, unfinished


class Backup(NamedTuple):
    """A backup that was made.

    Attributes:
        folder: where it is.
        files: how many files it holds.
        bytes: how many bytes they have.
        linked: how many of them are linked to an earlier backup, and take no room of their own.
        removed: older backups that were removed.
    """

    folder: Path
    files: int
    bytes: int
    linked: int
    removed: Sequence[Path] = ()


def make_backup(
    places: Places, into: Path, *, now: datetime, version: str, keep: int | None = None
) -> Backup:
    """Copy the lake, Dagster's history and the settings into a new folder, while runs may go on.

    Args:
        places: what is copied.
        into: the folder of backups. Files that are the same in its newest backup of this lake are linked.
        now: the time that names the backup, to the second.
        version: of Holocron, to be known at a restore.
        keep: how many backups of this lake the folder keeps, with this one; all if None. Older ones are
            removed before this one is made: they may be what fills the disk.

    Raises:
        BackupError: it cannot be made. Its part is removed, and the newest earlier backups are kept.
    """
    if mirror := mirror_of(places.lake.root):
        raise BackupError(f"machines share this lake: back up {mirror.url} instead, as its store provides")
    if not (places.lake.root / "lake").is_dir():
        raise BackupError(f"{places.lake.root} has no lake that could be backed up")
    _refuse_within(places, into)
    name = marker_of(places.lake.root / "lake")
    make_folder(into)
    with alone_in(into):
        target = _free_name(into, now)
        removed = []
        with suppress(OSError):  # a backup that cannot be removed is reported after the new one is made
            removed += remove_older(into, name, now=now, keep=keep) if keep else []
        made = _make(places, target, {"at": now.isoformat(), "version": version, "lake": name})
        try:
            removed += remove_older(into, name, now=now, keep=keep, spared=[target]) if keep else []
        except OSError as error:
            raise BackupError(f"{target} was made, but an older one cannot be removed: {error}") from error
    return made._replace(removed=removed)


def _refuse_within(places: Places, into: Path) -> None:
    """Raise BackupError if backups would lie in what they copy."""
    root, home = places.lake.root, places.dagster_home
    copied = [root / "lake", root / QUARANTINE, *(home / name for name in DAGSTER_FOLDERS)]
    there = Path(os.path.realpath(into))  # unlike `resolve`, it raises nothing for links in a circle
    for folder in (*copied, *places.settings.values()):
        if there.is_relative_to(os.path.realpath(folder)):
            raise BackupError(
                f"{into} is in {folder}, which is backed up: each backup would hold all earlier ones. "
                "Name a folder elsewhere"
            )


def _free_name(into: Path, now: datetime) -> Path:
    """The folder of a backup, by its second; the next second if another one was begun in the same."""
    names = (into / (now + timedelta(seconds=later)).strftime(NAME) for later in count())
    return next(name for name in names if not name.exists())


def _make(places: Places, target: Path, about: Mapping[str, Any]) -> Backup:
    own = backups_of(target.parent, about["lake"])
    # One with a later name was made while the clock was ahead: what came since is not in it.
    earlier = max(own, key=lambda backup: (backup.name < target.name, backup.name), default=None)
    with _finished_or_removed(target) as folder:
        copiers = _copy_all(places, folder, earlier)
        files, size = sum(copier.files for copier in copiers), sum(copier.bytes for copier in copiers)
        storage = "postgresql" if places.postgres_url else "sqlite"
        write_manifest(folder, {**about, "dagster_in": storage, "files": files, "bytes": size})
    return Backup(target, files, size, sum(copier.linked for copier in copiers))


def _copy_all(places: Places, folder: Path, earlier: Path | None) -> list[Copier]:
    """Copy everything; the lake first, so that Dagster's history covers at least all that is in it."""

    def copier(start: Path, name: str) -> Copier:
        return Copier(start, folder / name, earlier / name if earlier else None)

    root = places.lake.root
    lake, home = copier(root / "lake", LAKE), copier(places.dagster_home, DAGSTER)
    copy_lake(places.lake.layers, lake)
    copiers = [lake, home]
    copy_home(places.dagster_home, home)
    if places.postgres_url:
        dump_database(places.postgres_url, folder / DATABASE_DUMP)
    for name, path in {QUARANTINE: root / QUARANTINE}.items() | _settings(places).items():
        if path.exists():  # under its own name here, whatever it is called there: two may be called the same
            copiers.append(copier(path, name))
        if path.is_dir():
            copy_folder(copiers[-1], path, journals=True)
        elif path.is_file():
            copiers[-1].copy(path)
    return copiers


def _settings(places: Places) -> dict[str, Path]:
    return {f"{SETTINGS}/{name}": path for name, path in places.settings.items()}


@contextmanager
def _finished_or_removed(target: Path) -> Iterator[Path]:
    """Give a folder to fill; it becomes `target` once it is filled and on disk."""
    aside = unfinished(target)
    try:
        with trouble_named(target):  # the error names no file
            aside.mkdir()
            yield aside
        os.sync()  # with thousands of small files, one at a time takes minutes
        aside.replace(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
