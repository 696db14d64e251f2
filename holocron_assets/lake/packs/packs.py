"""Packs: immutable files that each hold many old partitions of a table, rows unchanged.

A partition is read from its own file, unless exactly that file was packed. In this case, or without an own
file, it is read from the newest pack that holds it. So packing needs only one step: putting a pack in its
place. A reader that lists own files first and then packs always sees each partition once.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from holocron_assets.lake.files.damage import (
    PACK_FOLDER,
    DamagedPartitionError,
    damage_named,
    refuse_unknown_zones,
)
from holocron_assets.lake.files.footers import Footer, stored_values

_TRIES = 5


class FileMark(NamedTuple):
    """A mark of one version of a partition's file, on this disk or on a copy of it."""

    mtime_ns: int
    size: int

    @classmethod
    def of(cls, status: os.stat_result) -> "FileMark":
        """The mark of a file with this state."""
        return cls(status.st_mtime_ns, status.st_size)


@dataclass(frozen=True, slots=True)
class Packed:
    """One partition in a pack.

    Attributes:
        pack: the pack's file.
        row_group: the row group that holds all its rows, perhaps with rows of other partitions.
        first_row: place of its first row in the row group.
        footer: the footer of its own file.
        mark: the mark of its own file.
    """

    pack: Path
    row_group: int
    first_row: int
    footer: Footer
    mark: FileMark

    def to_json(self) -> dict[str, Any]:
        """Its line in the pack's table of contents."""
        place = [self.row_group, self.first_row, self.footer.rows]
        return {"place": place, "mark": list(self.mark), "footer": self.footer.to_json()}

    @classmethod
    def from_json(cls, pack: Path, stored: Mapping[str, Any]) -> "Packed":
        """A partition in `pack`, from its line in the table of contents."""
        row_group, first_row, rows = stored["place"]
        footer = Footer.from_json(rows, stored["footer"])
        return cls(pack, row_group, first_row, footer, FileMark(*stored["mark"]))


class PackFile(NamedTuple):
    """A pack as it was found. Packs never change, but a restore may bring another one with the same name."""

    path: Path
    mark: FileMark


class Packs(NamedTuple):
    """The packs of a table.

    Attributes:
        contents: the partitions of each pack, by name; the oldest pack first.
        newest: every partition that is in a pack, as the newest such pack holds it.
    """

    contents: dict[PackFile, Mapping[str, Packed]]
    newest: Mapping[str, Packed]


def stored_contents(pack: Path, metadata: pq.FileMetaData) -> dict[str, Packed]:
    """The partitions of a pack, by name, as its metadata hold them.

    Raises:
        ValueError: it is the pack of another table, or no pack, or its table of contents was changed.
    """
    lines = stored_values(pack, metadata).get("partitions")
    if lines is None:
        raise ValueError("it has no table of contents")
    return {name: Packed.from_json(pack, line) for name, line in lines.items()}


def packs_of(folder: Path) -> Packs:
    """The packs of the table in `folder`, as they are now.

    Raises:
        DamagedPartitionError: a pack cannot be read.
    """
    for _ in range(_TRIES - 1):
        try:
            return _read(folder)
        except FileNotFoundError:
            continue  # the pack was removed since it was listed; its partitions are in another
    return _read(folder)


def held_by(pack: Path) -> Mapping[str, Packed]:
    """The partitions of a pack that no newer readable pack of its table holds.

    Raises:
        FileNotFoundError: there is no such pack any more.
        DamagedPartitionError: even its table of contents cannot be read.
    """
    files = _pack_files(pack.parent.parent)
    place = next((place for place, file in enumerate(files) if file.path == pack), None)
    if place is None:
        raise FileNotFoundError(pack)
    held = dict(_contents(files[place]))
    for younger in files[place + 1 :]:
        with suppress(DamagedPartitionError, FileNotFoundError):
            for name in _contents(younger):
                held.pop(name, None)
    return held


def read_packed(packed: Packed, columns: Sequence[str] | None) -> pa.Table:
    """The rows of one partition from its pack.

    Raises:
        FileNotFoundError: there is no such pack any more.
        DamagedPartitionError: the pack cannot be read.
    """
    with (
        damage_named(packed.pack),
        pq.ParquetFile(packed.pack, page_checksum_verification=True) as opened,
    ):
        refuse_unknown_zones(opened.schema_arrow)
        wanted = list(columns) if columns else None
        if not packed.footer.rows:  # it is in no row group
            return opened.schema_arrow.empty_table().select(wanted or opened.schema_arrow.names)
        group = opened.read_row_group(packed.row_group, columns=wanted)
    return group.slice(packed.first_row, packed.footer.rows)


def _pack_files(folder: Path) -> list[PackFile]:
    try:
        paths = sorted(path for path in (folder / PACK_FOLDER).iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []
    return [PackFile(path, FileMark.of(path.stat())) for path in paths]


_KNOWN: dict[Path, Packs] = {}
"""The packs that the newest listing of each folder named. What a process knew of earlier packs is freed."""


def _read(folder: Path) -> Packs:
    files, known = _pack_files(folder), _KNOWN.get(folder, Packs({}, {}))
    if files == list(known.contents):
        return known
    contents, newest = {}, dict[str, Packed]()
    for file in files:
        contents[file] = _contents(file)
        newest.update(contents[file])
    found = _KNOWN[folder] = Packs(contents, newest)
    return found


def _contents(pack: PackFile) -> Mapping[str, Packed]:
    known = _KNOWN.get(pack.path.parent.parent)
    if known and pack in known.contents:
        return known.contents[pack]
    with damage_named(pack.path):
        return stored_contents(pack.path, pq.read_metadata(pack.path))
