"""Footers: what a file of the lake says of itself. Each is read once, as long as its file stays as it is."""

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
"""Where a Parquet file's metadata hold the footer, or a pack's table of contents, as JSON."""

_OF = "of"
"""Key in a file's footer of the place that it was written for. Older files do not say it."""

_CHECKSUM = "crc32"

MOST_FOOTERS = 229_376
"""Footers remembered by a process: those of 14,000 partitions of sixteen tables, about 175 MB."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What a partition's file says of itself.

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
        """What is stored of it: all but the number of rows, which Parquet itself knows."""
        return {
            "content_id": self.content_id,
            "code_version": self.code_version,
            "inputs": dict(self.inputs),
        }

    @classmethod
    def from_json(cls, rows: int, stored: Mapping[str, Any]) -> "Footer":
        """The footer of so many rows, from what was stored."""
        return cls(
            rows,
            stored.get("content_id", ""),
            intern(stored.get("code_version", "")),  # thousands of files share one
            stored.get("inputs", {}),
        )


def file_footer(file: Path, status: os.stat_result) -> Footer:
    """The footer of a file.

    Args:
        file: its path.
        status: its state: the file is read only if it has another one than when it was read last.

    Raises:
        FileNotFoundError: there is no such file any more.
        DamagedPartitionError: the file cannot be read.
    """
    return _read(str(file), status.st_mtime_ns, status.st_size, status.st_ino)


def stored_footer(file: Path, metadata: pq.FileMetaData) -> Footer:
    """The footer that a file's metadata hold.

    Raises:
        ValueError: it is the file of another table or partition, that came to lie here.
    """
    stored = unsealed((metadata.metadata or {}).get(FOOTER_KEY, b"{}"))
    if (of := stored.get(_OF, place_of(file))) != place_of(file):
        raise ValueError(f"it is the file of {of}")
    return Footer.from_json(metadata.num_rows, stored)


def footer_json(footer: Footer, file: Path) -> str:
    """What a file's metadata are to hold: its footer, and whose file it is."""
    return sealed_json({**footer.to_json(), _OF: place_of(file)})


def sealed_json(stored: Mapping[str, Any]) -> str:
    """What is to be stored in a file's metadata, as JSON: with its own checksum, and room for the file's."""
    return json.dumps({**stored, _CHECKSUM: _checksum(stored), SEAL: UNSEALED})


def unsealed(text: bytes) -> dict[str, Any]:
    """What was stored in a file's metadata.

    Raises:
        ValueError: it is not what was stored. Older files have no checksum.
    """
    stored: dict[str, Any] = json.loads(text)
    stored.pop(SEAL, None)
    checksum = stored.pop(_CHECKSUM, None)
    if checksum is not None and checksum != _checksum(stored):
        raise ValueError("what it says of itself has another checksum than when it was written")
    return stored


def _checksum(stored: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(stored).encode())


def place_of(file: Path) -> str:
    """Folder of the table and name of the partition that a file is of."""
    return "/".join(file.parts[-3:-1])


@lru_cache(maxsize=MOST_FOOTERS)
def _read(file: str, *_state: int) -> Footer:
    with damage_named(Path(file)):
        return stored_footer(Path(file), pq.read_metadata(file))
