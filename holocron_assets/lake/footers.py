"""Footers: what a file of the lake says of itself. Each is read once, as long as its file stays as it is."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import Any

import pyarrow.parquet as pq

from holocron_assets.lake.damage import damage_named

FOOTER_KEY = b"holocron"
"""Where a Parquet file's metadata hold the footer, or a pack's table of contents, as JSON."""

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


def stored_footer(metadata: pq.FileMetaData) -> Footer:
    """The footer that a file's metadata hold."""
    return Footer.from_json(metadata.num_rows, json.loads((metadata.metadata or {}).get(FOOTER_KEY, b"{}")))


@lru_cache(maxsize=MOST_FOOTERS)
def _read(file: str, *_state: int) -> Footer:
    with damage_named(Path(file)):
        return stored_footer(pq.read_metadata(file))
