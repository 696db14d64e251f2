"""The interrogations and spaces of the configured folders, as some process has read and checked them.

Reading and checking takes a second, most of it for queries of an empty database. The same files give the same
interrogations to the same code, so a reading is kept in the state folder, and the next process loads it. A
reading that is missing or damaged is made again.
"""

import os
import pickle
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holocron_assets.lake.declaration.code_stamp import code_stamp, files_below
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.kept import keep
from holocron_assets.settings import interrogations_folder, spaces_folder, state_folder

if TYPE_CHECKING:
    from holocron_assets.derive.interrogations.interrogation import Interrogation

_PACKAGE = "holocron_assets"
_LIBRARIES = ("duckdb", "jinja2", "pyarrow", "pydantic", "pydantic_core")
"""Libraries that check interrogations, or whose objects are kept."""
_TABLES, _INTERROGATIONS = "tables", "interrogations"
_MOST_FILES = 16
"""Files that are kept, the newest: two for each folder and version of the code."""
_stamps: dict[tuple[Path, ...], tuple[tuple[str, int, int], ...]] = {}
"""The files of some folders when `follow_files` last saw them."""


class Reading(NamedTuple):
    """The result of reading some folders.

    Attributes:
        good: the interrogations that can be used, in the order of their names.
        broken: why each of the others cannot, by the name of its file without the ending; or by a folder that
            cannot be read.
    """

    good: "tuple[Interrogation, ...]"
    broken: Mapping[str, str]


def configured_folders() -> tuple[Path, Path]:
    """The folders that interrogations and spaces are read from."""
    return interrogations_folder(), spaces_folder()


def load_interrogations() -> "tuple[Interrogation, ...]":
    """The interrogations and spaces of the configured folders that can be used, read once by each process.

    If another process has read the same files, its result is used.
    """
    return _loaded(*configured_folders()).good


def broken_interrogations() -> Mapping[str, str]:
    """Why the others of those folders cannot be used, by name (see `Reading`)."""
    return _loaded(*configured_folders()).broken


def derived_tables() -> tuple[Table, ...]:
    """The tables of the interrogations that can be used, read once by each process."""
    return _tables(*configured_folders())


def follow_files() -> None:
    """Forget what this process has read if a file of the configured folders has changed since.

    For servers, which answer for weeks. All else reads once, so that a run keeps one list to its end.
    """
    folders = configured_folders()
    if _stamps.get(folders) != (stamp := _stamp(folders)):
        _stamps[folders] = stamp
        _loaded.cache_clear()
        _tables.cache_clear()


def left_out() -> Mapping[str, str]:
    """Why interrogations of those folders cannot be used, by name; empty if all can. For people."""
    is_whole = Memory(*configured_folders()).tables() is not None  # nothing else is kept
    return {} if is_whole else broken_interrogations()


class Memory:
    """The kept interrogations of some folders, for their files as they are now."""

    def __init__(self, *folders: Path) -> None:
        """Take a mark of the folders' files and of the code: what is read later is kept under this mark.

        Args:
            folders: of interrogations, and of spaces.
        """
        self._folder = state_folder() / "interrogations"
        try:
            self._mark = _mark(folders)
        except OSError:  # the folder cannot be read: the reading of it raises the error
            self._mark = None

    def tables(self) -> tuple[Table, ...] | None:
        """The tables of the answers; None if this code has not read the folder yet."""
        tables: tuple[Table, ...] | None = self._kept(_TABLES)
        return tables

    def interrogations(self) -> "tuple[Interrogation, ...] | None":
        """The interrogations; None if this code has not read the folder yet."""
        interrogations: tuple[Interrogation, ...] | None = self._kept(_INTERROGATIONS)
        return interrogations

    def keep(self, interrogations: "tuple[Interrogation, ...]") -> None:
        """Keep the interrogations that were read. If the folder cannot be written to, keep nothing.

        Functions of other packages are loaded each time: whether that works does not depend on their own
        file alone.
        """
        functions = [one.function for one in interrogations if one.function is not None]
        if self._mark is None or any(not name.startswith(f"{_PACKAGE}.") for name in functions):
            return
        kept = {_INTERROGATIONS: interrogations, _TABLES: tuple(one.table for one in interrogations)}
        for name, value in kept.items():
            keep(self._file(name), pickle.dumps(value), most=_MOST_FILES)

    def _kept(self, name: str) -> Any:
        try:
            if self._mark is None or not _is_own(self._folder):
                return None
            return pickle.loads(self._file(name).read_bytes())  # noqa: S301 - nobody else can write there
        except Exception:  # noqa: BLE001 - it is not there, is damaged, or cannot be read by today's libraries
            return None

    def _file(self, name: str) -> Path:
        return self._folder / f"{self._mark}.{name}"


def _mark(folders: Sequence[Path]) -> str | None:
    """A hash of all that a reading depends on; None if the code changed after this process loaded it.

    Raises:
        OSError: a folder cannot be read.
    """
    if (code := code_stamp()) is None:
        return None
    texts = [
        f"{entry.path} {Path(entry.path).read_bytes().hex()}"
        for folder in folders
        for entry in files_below(folder)
    ]
    asked = f"HOLOCRON_MODEL={os.environ.get('HOLOCRON_MODEL', '')}"
    return content_hash("\n".join([code, *sorted(texts), *_library_versions(), asked]))


def _is_own(folder: Path) -> bool:
    """Whether only this user can write into a folder: what is loaded from there can run any code."""
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _stamp(folders: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of change of each file that can be read."""
    found: list[tuple[str, int, int]] = []
    for folder in folders:
        with suppress(OSError):  # the other folders count
            for entry in files_below(folder):
                with suppress(OSError):  # a link that leads nowhere, as editors make them
                    status = entry.stat()
                    found.append((entry.path, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))


@cache
def _library_versions() -> tuple[str, ...]:
    return tuple(f"{name} {version(name)}" for name in _LIBRARIES)


@cache
def _loaded(*folders: Path) -> Reading:
    memory = Memory(*folders)
    known = memory.interrogations()
    if known is not None:
        return Reading(known, {})
    # The code that checks interrogations takes half a second to import; a known folder does not need it.
    from holocron_assets.derive.interrogations.files import read_each  # noqa: PLC0415

    reading = read_each(*folders)
    if not reading.broken:
        memory.keep(reading.good)
    return reading


@cache
def _tables(*folders: Path) -> tuple[Table, ...]:
    known = Memory(*folders).tables()
    return tuple(one.table for one in _loaded(*folders).good) if known is None else known
