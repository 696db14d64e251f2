"""The folder of an export: its files and a manifest. It is there whole or not at all."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from hashlib import file_digest
from pathlib import Path
from time import time
from typing import Any

from holocron_assets.errors import HolocronError
from holocron_assets.lake.files.durable import make_folder, sync_folder, trouble_named
from holocron_assets.lake.files.manifests import MANIFEST, read_mark, write_mark
from holocron_assets.lake.place.unfinished import aside_of, asides_of

_MARK = "holocron export"
_RENAMED = ".old.tmp"
_ABANDONED_AFTER = timedelta(days=1)


class ExportError(HolocronError, ValueError):
    """An export that cannot be written; the message says why and what to do."""


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """Give the path of an empty folder, which becomes `target` if the block ends without an error.

    Raises:
        ExportError: `target` exists, and is no export or holds other files too. It is not changed.
        OSError: it cannot be written. The error names the whole path, and says what to do.
    """
    target = target.absolute()
    _refuse_foreign(target)
    make_folder(target.parent)
    _remove_abandoned(target)
    aside = aside_of(target)
    try:
        with trouble_named(target):
            aside.mkdir()
            yield aside
            _sync(aside)
            _refuse_foreign(target)  # another file may have been put there meanwhile
            _put_in_place(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_manifest(folder: Path, about: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> None:
    """Write the manifest of an export, which describes its files, with their sizes and SHA-256.

    Args:
        folder: where the files are.
        about: values about the export.
        files: values about each file; `file` is its name.
    """
    described = [{**one, **_state(folder / one["file"])} for one in files]
    write_mark(folder, _MARK, {**about, "files": described})


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of an export; None if the folder is no export."""
    return read_mark(folder, _MARK)


def _refuse_foreign(target: Path) -> None:
    """Raise ExportError unless a path is free, or is an empty folder or an unchanged export."""
    if not target.exists() and not target.is_symlink():
        return
    if target.is_symlink() or not target.is_dir():
        raise ExportError(f"{target} is no folder; name another, or one that is not there yet")
    found = {path.name for path in target.iterdir()}
    manifest = read_manifest(target)
    if found and manifest is None:
        raise ExportError(f"{target} holds other files than an export; name another folder, or empty it")
    known = {MANIFEST, *(one["file"] for one in (manifest or {}).get("files", ()))}
    if added := sorted(found - known):
        raise ExportError(
            f"{target} holds files that its export did not write, such as {added[0]}; move it away"
        )


def _state(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:
        return {"bytes": file.stat().st_size, "sha256": file_digest(opened, "sha256").hexdigest()}


def _sync(folder: Path) -> None:
    for file in folder.iterdir():
        sync_folder(file)  # a file is synced like a folder
    sync_folder(folder)


def _put_in_place(aside: Path, target: Path) -> None:
    """Rename a folder to `target`. An old one is renamed first: no folder can replace one with files."""
    before = aside.with_suffix(_RENAMED)
    if target.exists():
        target.replace(before)
    try:
        aside.replace(target)
    except OSError:
        if before.exists():
            before.replace(target)
        raise
    shutil.rmtree(before, ignore_errors=True)
    sync_folder(target.parent)


def _remove_abandoned(target: Path) -> None:
    """Remove folders that killed exports left; an export that was renamed before is put back."""
    for leftover in asides_of(target, _RENAMED):
        if not target.exists():
            leftover.replace(target)
    for leftover in [*asides_of(target), *asides_of(target, _RENAMED)]:
        with suppress(FileNotFoundError):
            if time() - leftover.stat().st_mtime > _ABANDONED_AFTER.total_seconds():
                shutil.rmtree(leftover, ignore_errors=True)
