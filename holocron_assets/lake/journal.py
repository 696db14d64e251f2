"""Journals: records that survive a kill between two lines of a long piece of work.

A line is a CRC-32 in hexadecimal, a space and a JSON object. Each append is flushed and synced, so a record
that was appended is there after a crash. A line that a crash tore has a wrong checksum and counts as never
written: the work that it stood for is done again.
"""

import json
import os
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_CHECKSUM_LENGTH = 8


class Journal:
    """An append-only file of records; a context manager.

    Attributes:
        path: the file; made on the first append.
    """

    def __init__(self, path: Path) -> None:
        """Open the journal at `path` without reading it."""
        self.path = path
        self._file: Any = None

    def __enter__(self) -> Self:
        """Return the journal itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def append(self, record: dict[str, Any]) -> None:
        """Add one record and return when it is on disk. Datetimes are written in ISO 8601."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
            self._end_torn_line()
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=datetime.isoformat)
        body = text.encode("utf-8", "surrogatepass")
        self._file.write(b"%08x " % zlib.crc32(body) + body + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def records(self) -> Iterator[dict[str, Any]]:
        """Every whole record, in order; lines that a crash or a disk damaged are left out."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for line in file:
                record = _parse(line)
                if record is not None:
                    yield record

    def close(self) -> None:
        """Close the file if it is open."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _end_torn_line(self) -> None:
        """Start on a fresh line, so that a torn one does not swallow the next record."""
        size = self.path.stat().st_size
        if not size:
            return
        with self.path.open("rb") as file:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                self._file.write(b"\n")


def _parse(line: bytes) -> dict[str, Any] | None:
    checksum, body = line[:_CHECKSUM_LENGTH], line[_CHECKSUM_LENGTH + 1 :].rstrip(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    record: dict[str, Any] = json.loads(body.decode("utf-8", "surrogatepass"))
    return record
