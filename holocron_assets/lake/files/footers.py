"""Footers: facts about a file, stored in the file. Each is read again only if its file changes."""

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import Any

import pyarrow.parquet as pq

from holocron_assets.lake.files.damage import damage_named
from holocron_assets.lake.files.sealing import SEAL, UNSEALED

FOOTER_KEY = b"holocron"
"""Key in a Parquet file's metadata of the footer, or of a pack's table of contents, as JSON."""

_OF = "of"
"""Key in a file's footer of the place that it was written for. Older files lack it."""

_CHECKSUM = "crc32"

MOST_FOOTERS = 229_376
"""Footers that a process keeps in memory: those of 14,000 partitions of sixteen tables, about 175 MB."""


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


def file_footer(file: Path, status: os.stat_result) -> Footer:
    """The footer of a file.

    Args:
        file: its path.
        status: its state. The file is read only if its state has changed since the last reading.

    Raises:
        FileNotFoundError: there is no such file any more.
        DamagedPartitionError: the file cannot be read.
    """
    return _read(str(file), status.st_mtime_ns, status.st_size, status.st_ino)


def stored_footer(file: Path, metadata: pq.FileMetaData) -> Footer:
    """The footer that a file's metadata hold.

    Raises:
        ValueError: the file belongs to another table or partition.
    """
    stored = unsealed((metadata.metadata or {}).get(FOOTER_KEY, b"{}"))
    if (of := stored.get(_OF, place_of(file))) != place_of(file):
        raise ValueError(f"it is the file of {of}")
    return Footer.from_json(metadata.num_rows, stored)


def footer_json(footer: Footer, file: Path) -> str:
    """The text for a file's metadata: its footer, and the table and partition that it belongs to."""
    return sealed_json({**footer.to_json(), _OF: place_of(file)})


def sealed_json(stored: Mapping[str, Any]) -> str:
    """Values for a file's metadata, as JSON: with their own checksum, and room for that of the file."""
    return json.dumps({**stored, _CHECKSUM: _checksum(stored), SEAL: UNSEALED})


def unsealed(text: bytes) -> dict[str, Any]:
    """The values stored in a file's metadata.

    Raises:
        ValueError: they are not the values that were stored. Older files have no checksum.
    """
    stored: dict[str, Any] = json.loads(text)
    stored.pop(SEAL, None)
    checksum = stored.pop(_CHECKSUM, None)
    if checksum is not None and checksum != _checksum(stored):
        raise ValueError("its footer has another checksum than when it was written")
    return stored


def _checksum(stored: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(stored).encode())


def place_of(file: Path) -> str:
    """The table's folder and the partition's name that a file belongs to."""
    return "/".join(file.parts[-3:-1])


@lru_cache(maxsize=MOST_FOOTERS)
def _read(file: str, *_state: int) -> Footer:
    with damage_named(Path(file)):
        return stored_footer(Path(file), pq.read_metadata(file))
