"""Footers: facts about a file, stored in the file. Each is read again only if its file changes.

A process keeps the footers of a table's files in one file of the state folder, for the processes after it: to
open 14,000 files takes seconds, and to read that one takes a twentieth of a second.
"""

import json
import os
import random
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from sys import intern
from time import time_ns
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from holocron_assets.lake.files.damage import damage_named
from holocron_assets.lake.files.kept import keep
from holocron_assets.lake.files.sealing import SEAL, UNSEALED
from holocron_assets.settings import state_folder

FOOTER_KEY = b"holocron"
"""Key in a Parquet file's metadata of the footer, or of a pack's table of contents, as JSON."""

_OF = "of"
"""Key in a file's metadata of the place that it was written for. Older files and packs lack it."""

_CHECKSUM = "crc32"

MOST_FOOTERS = 229_376
"""Footers that a process keeps in memory: those of 14,000 partitions of sixteen tables, about 175 MB."""

_MANY = 64
"""Files of a table that a process opens before it looks for the kept footers, and for which it keeps some."""

_SHARE = 16
"""Footers are kept anew when one in so many was read from its file: the next process has few left to read."""

_MOST_FILES = 256
"""Tables whose footers are kept, of all lakes of this user."""

_FORMAT = 1
_SURE_AFTER_NS = 2_000_000_000
"""Age of a file from which its mark tells it from every later one: the clock has ticked since."""


@dataclass(frozen=True, slots=True)
class Footer:
    """Facts about a partition, stored in its file.

    Attributes:
        rows: number of rows.
        content_id: hash of the rows, without provenance columns.
        code_version: version of the code that made it.
        inputs: content ids (or other fingerprints) of what it was made from, by name.
    """

    rows: int
    content_id: str
    code_version: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)

    def is_of(self, code_version: str, inputs: Mapping[str, str]) -> bool:
        """Whether this version of the code made the partition, from these inputs."""
        return (self.code_version, dict(self.inputs)) == (code_version, dict(inputs))

    def to_json(self) -> dict[str, Any]:
        """The stored values: all but the number of rows, which Parquet itself stores."""
        return {
            "content_id": self.content_id,
            "code_version": self.code_version,
            "inputs": dict(self.inputs),
        }

    @classmethod
    def from_json(cls, rows: int, stored: Mapping[str, Any]) -> "Footer":
        """The footer for a number of rows, from the stored values."""
        return cls(
            rows,
            stored.get("content_id", ""),
            intern(stored.get("code_version", "")),  # thousands of files have the same version
            stored.get("inputs", {}),
        )


class FileState(NamedTuple):
    """The state of a file, which changes whenever the file is replaced."""

    mtime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "FileState":
        """The state of the file with this status."""
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)


def file_footer(file: Path, status: os.stat_result) -> Footer:
    """The footer of a file.

    Args:
        file: its path.
        status: its state. The file is read only if its state has changed since the last reading.

    Raises:
        FileNotFoundError: there is no such file any more.
        DamagedPartitionError: the file cannot be read.
    """
    state = FileState.of(status)
    table = _of_folder(str(file.parent.parent))
    return table.known(file.parent.name, state) or table.read(file, state)


def known_footer(folder: Path, partition: str, state: FileState) -> Footer | None:
    """The footer of a partition's file in a table's folder; None if no process has read it in this state."""
    return _of_folder(str(folder)).known(partition, state)


def keep_footers() -> None:
    """Keep the footers that this process read, where these are many, for the next processes."""
    for table in list(_TABLES.values()):
        table.keep()


def stored_footer(file: Path, metadata: pq.FileMetaData) -> Footer:
    """The footer that a file's metadata hold.

    Raises:
        ValueError: the file belongs to another table or partition.
    """
    return Footer.from_json(metadata.num_rows, stored_values(file, metadata))


def footer_json(footer: Footer, file: Path) -> str:
    """The text for a file's metadata: its footer, and the table and partition that it belongs to."""
    return sealed_json(footer.to_json(), file)


def sealed_json(values: Mapping[str, Any], file: Path) -> str:
    """Values for a file's metadata, as JSON: with its place, a checksum of them, and room for the file's."""
    stored = {**values, _OF: place_of(file)}
    return json.dumps({**stored, _CHECKSUM: _checksum(stored), SEAL: UNSEALED})


def stored_values(file: Path, metadata: pq.FileMetaData) -> dict[str, Any]:
    """The values that the metadata of a partition's file or of a pack hold; none if they were not found.

    Raises:
        ValueError: they are not those that were stored, or the file belongs elsewhere. Older files have no
            checksum, or do not say where they belong.
    """
    stored: dict[str, Any] = json.loads((metadata.metadata or {}).get(FOOTER_KEY, b"{}"))
    stored.pop(SEAL, None)
    checksum = stored.pop(_CHECKSUM, None)
    if checksum is not None and checksum != _checksum(stored):
        raise ValueError("its footer has another checksum than when it was written")
    if (of := stored.pop(_OF, place_of(file))) != place_of(file):
        raise ValueError(f"it is the file of {of}")
    return stored


def _checksum(stored: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(stored).encode())


def place_of(file: Path) -> str:
    """The folder of the table, and the partition's name or the folder of packs, that a file belongs to."""
    return "/".join(file.parts[-3:-1])


class _Known(NamedTuple):
    """A footer that was read.

    Attributes:
        state: the state of its file.
        footer: the footer.
        is_sure: whether the file was old enough when it was read; only such footers outlive the process.
    """

    state: FileState
    footer: Footer
    is_sure: bool


class _TableFooters:
    """The footers of the files of one table's folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.by_partition: dict[str, _Known] = {}
        self._opened, self._is_loaded = 0, False

    def known(self, partition: str, state: FileState) -> Footer | None:
        """The footer of a partition's file in this state, if it is known."""
        found = self.by_partition.get(partition)
        if found is None and not self._is_loaded and self._opened >= _MANY:
            self._load()
            found = self.by_partition.get(partition)
        return found.footer if found and found.state == state else None

    def read(self, file: Path, state: FileState) -> Footer:
        """Read a footer from its file, which has this state."""
        is_sure = time_ns() - state.mtime_ns > _SURE_AFTER_NS
        with damage_named(file):
            footer = stored_footer(file, pq.read_metadata(file))
        self.by_partition[file.parent.name] = _Known(state, footer, is_sure)
        _make_room()
        self._opened += 1
        return footer

    def keep(self) -> None:
        """Keep the footers of the partitions that there are, if enough of them were read from their files."""
        if self._opened < max(_MANY, len(self.by_partition) / _SHARE):
            return
        if not self._is_loaded:
            self._load()
        with suppress(OSError):
            there = set(os.listdir(self.folder))  # noqa: PTH208 - there may be 14,000
            sure = {name: one for name, one in self.by_partition.items() if one.is_sure and name in there}
            lines = [
                [name, *one.state, one.footer.rows, *one.footer.to_json().values()]
                for name, one in sure.items()
            ]
            text = json.dumps(lines).encode()
            keep(self._file, b"%08x" % zlib.crc32(text) + text, most=_MOST_FILES)
            self._opened = 0

    def _load(self) -> None:
        """Add the kept footers, unless their file is missing or damaged."""
        self._is_loaded = True
        with suppress(OSError, ValueError):
            content = self._file.read_bytes()
            if int(content[:8], 16) != zlib.crc32(content[8:]):
                return
            for name, mtime_ns, size, inode, rows, content_id, version, inputs in json.loads(content[8:]):
                state, footer = (
                    FileState(mtime_ns, size, inode),
                    Footer(rows, content_id, intern(version), inputs),
                )
                self.by_partition.setdefault(name, _Known(state, footer, is_sure=True))
        _make_room()

    @property
    def _file(self) -> Path:
        name = sha256(os.path.abspath(self.folder).encode()).hexdigest()[:32]  # noqa: PTH100 - of a text
        return state_folder() / "footers" / f"{name}.{_FORMAT}.json"


_TABLES: dict[str, _TableFooters] = {}
_SHARE_TO_FORGET = 16
"""Of a table, one in so many footers is forgotten at a time."""


def _of_folder(folder: str) -> _TableFooters:
    return _TABLES.get(folder) or _TABLES.setdefault(folder, _TableFooters(folder))


def _make_room() -> None:
    """Forget footers at random while there are too many. To count them takes a twentieth of opening a file.

    All are read in the same order again and again. If the oldest were forgotten, each would be gone just
    before it is read.
    """
    while sum(len(table.by_partition) for table in list(_TABLES.values())) > MOST_FOOTERS:
        known = random.choice(list(_TABLES.values())).by_partition  # noqa: S311 - nothing secret hangs on it
        names = list(known)
        for name in random.sample(names, k=-(-len(names) // _SHARE_TO_FORGET)):
            known.pop(name, None)
