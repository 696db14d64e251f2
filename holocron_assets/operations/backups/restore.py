"""Restores a backup into empty places. Existing files are never overwritten."""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from holocron_assets.lake.files.damage import FileFault
from holocron_assets.lake.files.durable import make_folder, replacing, sync_folder
from holocron_assets.lake.files.verifying import faulty_files, files_of_all_tables
from holocron_assets.lake.place.presence import marker_of
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.operations.backups.begun import Begun
from holocron_assets.operations.backups.copying import Copier
from holocron_assets.operations.backups.dagster_copy import restore_database, tables_of_database
from holocron_assets.operations.backups.places import (
    DAGSTER,
    DAGSTER_FOLDERS,
    DAGSTER_SETTINGS,
    DATABASE_DUMP,
    LAKE,
    QUARANTINE,
    SETTINGS,
    BackupError,
    Places,
    finished_backups,
    read_manifest,
)
from holocron_assets.operations.backups.rotation import alone_by

_ASIDE = ".restoring"
_DATABASE = "the database of HOLOCRON_POSTGRES_URL"
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


class Restored(NamedTuple):
    """The result of a restore.

    Attributes:
        manifest: the backup's manifest.
        kept: existing settings that differ from the backup's, each with the backup's file.
        unwritten: settings that could not be restored, each with the backup's file and why.
        faulty: files of the lake whose checksum is wrong, or that cannot be read.
    """

    manifest: Mapping[str, Any]
    kept: Mapping[Path, Path]
    unwritten: Mapping[Path, tuple[Path, str]]
    faulty: list[FileFault]


def restore_backup(places: Places, backup: Path) -> Restored:
    """Restore a backup, and check every file of its lake against the checksums.

    The lake comes last, in one step: without it, nothing starts. Settings may belong to another user: if one
    cannot be written, the rest is restored all the same. After a crash, the same call goes on: what was
    restored stays.

    Args:
        places: where to. Lake, quarantine and Dagster's history must not exist yet; settings may.
        backup: its folder. It is only read.

    Raises:
        BackupError: it is no finished backup, one of its places is not empty, or another process restores to
            them. Nothing was changed.
    """
    manifest = _manifest_of(backup)
    _refuse_another_storage(places, manifest)
    if mirror := mirror_of(places.lake.root):
        raise BackupError(f"machines share this lake: restore {mirror.url} instead, as its store provides")
    root = places.lake.root
    make_folder(root)
    with alone_by(root / ".restore-lock", f"another restore to {root} is under way: wait until it ends"):
        return _restored(places, backup, manifest)


def _restored(places: Places, backup: Path, manifest: Mapping[str, Any]) -> Restored:
    begun = Begun(places.lake.root, backup)
    _refuse_taken(places, begun)
    _refuse_another_lake(places.lake.root / "lake", manifest)
    left = [(target, source) for target, source in _moved(places, backup) if not _is_taken(target)]
    _refuse_fixed(target for target, _ in left)
    with _emptied_aside(target for target, _ in _moved(places, backup)):
        for target, source in left:
            _copy(source, _aside(target))
        os.sync()
        kept, unwritten = _restore_settings(places, backup)
        if places.postgres_url and not tables_of_database(places.postgres_url):
            begun.note(_DATABASE)
            restore_database(places.postgres_url, backup / DATABASE_DUMP)
        for target, _ in left:
            begun.note(str(target))
            _aside(target).replace(target)
            sync_folder(target.parent)
        begun.end()
    # Whatever the tables: those of interrogations are known only with the settings that were put back.
    return Restored(manifest, kept, unwritten, list(faulty_files(files_of_all_tables(places.lake))))


def _manifest_of(backup: Path) -> dict[str, Any]:
    manifest = read_manifest(backup)
    if manifest:
        return manifest
    if backups := finished_backups(backup):
        raise BackupError(f"{backup} holds {len(backups)} backups; name one, the newest is {backups[-1]}")
    raise BackupError(f"{backup} is no backup, or was not finished")


def _refuse_another_storage(places: Places, manifest: Mapping[str, Any]) -> None:
    """Raise BackupError where the backup holds Dagster's history in another kind of storage."""
    is_postgres = manifest.get("dagster_in") == "postgresql"
    if is_postgres and not places.postgres_url:
        raise BackupError(
            "the backup holds Dagster's history of a PostgreSQL: name an empty database by "
            "HOLOCRON_POSTGRES_URL"
        )
    if places.postgres_url and not is_postgres:
        raise BackupError("the backup holds Dagster's history in SQLite: unset HOLOCRON_POSTGRES_URL")


def _refuse_taken(places: Places, begun: Begun) -> None:
    """Raise BackupError where something would be overwritten that is not of this backup."""
    for target in (
        places.lake.root / "lake",
        places.lake.root / QUARANTINE,
        *(places.dagster_home / name for name in DAGSTER_FOLDERS),
    ):
        if _is_taken(target):
            begun.refuse_taken(str(target))
    if places.postgres_url and tables_of_database(places.postgres_url):
        begun.refuse_taken(_DATABASE)


def _refuse_another_lake(target: Path, manifest: Mapping[str, Any]) -> None:
    """Raise BackupError for a lake that began after a restore of this backup was cut off."""
    name = manifest.get("lake")  # of an old backup, or of a lake without a marker, it is not known
    if name and _is_taken(target) and marker_of(target) != name:
        raise BackupError(
            f"{target} is not the lake of this backup: it began after a restore that was cut off. Move it "
            "away, then restore again"
        )


def _refuse_fixed(targets: Iterable[Path]) -> None:
    """Raise BackupError for a place that no folder can be renamed to."""
    for target in targets:
        if target.is_symlink() or target.is_mount():
            raise BackupError(
                f"{target} is a link or a mount point, so no restored folder can take its place. Remove the "
                f"link, or unmount it, and restore again: then {target} is an ordinary folder, which you may "
                "move to the other disk. Or name a data folder on that disk by HOLOCRON_DATA"
            )


def _is_taken(target: Path) -> bool:
    return target.is_dir() and any(target.iterdir())


def _moved(places: Places, backup: Path) -> Iterator[tuple[Path, Path]]:
    """The target and the source of each folder of a backup; the lake is the last."""
    targets = {f"{DAGSTER}/{name}": places.dagster_home / name for name in DAGSTER_FOLDERS}
    targets |= {QUARANTINE: places.lake.root / QUARANTINE, LAKE: places.lake.root / "lake"}
    for name, target in targets.items():
        if (backup / name).is_dir():
            yield target, backup / name


def _aside(target: Path) -> Path:
    """The place of a folder until it is complete: on the disk of its target."""
    return target.parent / _ASIDE / target.name


@contextmanager
def _emptied_aside(targets: Iterable[Path]) -> Iterator[None]:
    """Remove unfinished folders: those of a killed restore now, and this one's at its end."""
    folders = {_aside(target).parent for target in targets}

    def empty() -> None:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    empty()
    try:
        yield
    finally:
        empty()


def _copy(start: Path, target: Path) -> None:
    """Copy all of a folder of a backup.

    Raises:
        OSError: the first file that cannot be copied, with what to do.
    """
    make_folder(target)
    copier = Copier(start, target)
    for file in sorted(path for path in start.rglob("*") if path.is_file()):
        copier.copy(file)


def _restore_settings(places: Places, backup: Path) -> tuple[dict[Path, Path], dict[Path, tuple[Path, str]]]:
    """Restore the settings that are missing.

    Returns:
        Existing ones that differ from the backup's; and those that this user may not write or read.
    """
    folders = {backup / SETTINGS / name: path for name, path in places.settings.items()}
    folders[backup / DAGSTER / DAGSTER_SETTINGS] = places.dagster_home / DAGSTER_SETTINGS
    kept, unwritten = {}, {}
    for start, there in folders.items():
        for source in sorted(start.rglob("*")) if start.is_dir() else [start]:
            if not source.is_file():
                continue
            target = there / source.relative_to(start)
            try:
                if not _is_put_back(source, target):
                    kept[target] = source
            except OSError as error:
                if error.errno not in _NOT_ALLOWED:
                    raise
                unwritten[target] = source, os.strerror(error.errno)
    return kept, unwritten


def _is_put_back(source: Path, target: Path) -> bool:
    """Write a file of settings where there is none; False if another one is there."""
    content = source.read_bytes()
    if target.exists():
        return target.read_bytes() == content
    with replacing(target) as aside:
        aside.write_bytes(content)
        shutil.copystat(source, aside)
    return True
