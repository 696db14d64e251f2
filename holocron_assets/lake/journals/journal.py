"""Journals: records of long work that survive a kill.

A line is a CRC-32 in hexadecimal, a space and a JSON object. Each append is flushed and synced, so an
appended record is there after a crash. Threads that append at one time share a sync. A line that a crash
tore has a wrong checksum and does not count: its work is done again. Old lines may be in a packed part of the
journal; readers and writers need not know that (`packing.py`). In a lake that machines share, each writer has
files of its own (`shared/segments.py`), and an appended record is in the store.
"""

import fcntl
import json
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from io import FileIO
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Any, Self

from holocron_assets.lake.files.durable import open_in_folder, remove, sync_folder, trouble_named
from holocron_assets.lake.journals.packed import packed_lines, packed_part, was_packed
from holocron_assets.lake.journals.syncing import SyncedFile
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.lake.shared.segment_writer import SegmentWriter
from holocron_assets.lake.shared.segments import lines_of, noting_segments, segments_of

_CHECKSUM_LENGTH = 8
_APPENDING = os.O_CREAT | os.O_APPEND | os.O_RDWR


class Journal:
    """An append-only file of records. A context manager. Several threads and processes may append at once.

    Attributes:
        path: the file; the first append makes it.
    """

    def __init__(self, path: Path) -> None:
        """Open the journal at `path` without reading it."""
        self.path = path
        self._file: SyncedFile | None = None
        self._appending = Lock()
        self._mirror = mirror_of(path)
        self._shared = SegmentWriter(self._mirror, path) if self._mirror else None

    def __enter__(self) -> Self:
        """Return the journal itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def append(self, *records: dict[str, Any]) -> None:
        """Add records and return when they are on disk or in the store. Datetimes become ISO 8601.

        Raises:
            TypeError: a record holds a value that JSON cannot express. Nothing was written.
            OSError: the disk is full or failing. One record may be torn, and those after it be missing.
            StoreError: the store of a shared lake did not take the records, as far as is known.
            FolderGoneError: the file was removed since it was opened, or the lake is gone.
        """
        lines = b"".join(map(_line, records))
        with trouble_named(self.path):
            if self._shared:
                with self._appending:
                    self._shared.append(lines)
            elif lines:
                self._append(lines)

    def exists(self) -> bool:
        """Whether there are lines outside its packed part."""
        return self.path.exists() or bool(self._segments())

    def remove(self) -> None:
        """Remove everything except its packed part. A process that has it open must not append any more."""
        self.close()
        remove(*(part for part in (self.path, *self._segments()) if part.exists()))

    def records(self) -> Iterator[dict[str, Any]]:
        """Every whole record, in order; lines that a crash or a disk damaged are left out.

        Raises:
            DamagedPartitionError: the packed part cannot be read. Some records may have been given before.
        """
        for line in self.lines():
            record = record_of(line)
            if record is not None:
                yield record

    def lines(self) -> Iterator[bytes]:
        """Every line as it is stored, whole or not: for a quick search in many records.

        Raises:
            DamagedPartitionError: the packed part cannot be read. Some lines may have been given before.
        """
        with ExitStack() as opened:
            # Opened first: lines that are packed meanwhile are in both files, and are skipped in one of them.
            own = None
            with suppress(FileNotFoundError):
                own = opened.enter_context(self.path.open("rb"))
            segments = self._segments()
            taken, packed = opened.enter_context(packed_lines(self.path))
            begun: set[bytes] = set()
            yield from noting_segments(packed, begun) if segments else packed
            if own:
                taken.skip_in(own)
                yield from own
            for segment in segments:
                yield from lines_of(segment, begun)

    def marks(self) -> list[FileMark]:
        """The marks of the files that hold its records. They change when records are appended or packed."""
        found = []
        for path in (self.path, packed_part(self.path), *self._segments()):
            with suppress(FileNotFoundError):
                found.append(FileMark.of(path.stat()))
        return found

    def close(self) -> None:
        """Close the file if it is open."""
        if self._shared:
            self._shared.close()
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _segments(self) -> list[Path]:
        """The present files of single writers."""
        if self._mirror:
            self._mirror.bring_up_to_date(self.path.parent)
        return segments_of(self.path)

    def _append(self, line: bytes) -> None:
        try:
            with self._appending, self._held() as file:
                _refuse_removed(file.opened, self.path)
                written = file.write(self._before(file.opened) + line)
                _refuse_removed(file.opened, self.path)
            # A process that packs the file from here on syncs the line itself. Other threads may append.
            file.sync(written)
        except BaseException:
            with self._appending:
                self.close()  # the next append opens the file again, and starts on a new line
            raise

    @contextmanager
    def _held(self) -> Iterator[SyncedFile]:
        """The file, locked against other processes, so that no other process writes a line meanwhile."""
        while True:
            file = self._open()
            with alone(file.opened):
                if not self._was_packed(file.opened):
                    yield file
                    return
            self.close()  # the next line begins another file

    def _before(self, file: FileIO) -> bytes:
        """The bytes to write before the next line."""
        size = os.fstat(file.fileno()).st_size
        if size:  # another process may have died while writing
            return b"" if os.pread(file.fileno(), 1, size - 1) == b"\n" else b"\n"
        if packed_part(self.path).exists():
            # A unique first line, so that no file begins like one that was packed.
            return b"begun %s\n" % uuid.uuid4().hex.encode()
        return b""

    def _was_packed(self, file: FileIO) -> bool:
        """Whether the file was removed since it was opened because its lines are in the packed part."""
        return not os.fstat(file.fileno()).st_nlink and was_packed(self.path, file)

    def _open(self) -> SyncedFile:
        if self._file is None:
            is_new = not self.path.exists()
            # Unbuffered: a line is written in one piece, so that lines of several processes do not mix.
            opened = open(open_in_folder(self.path, _APPENDING), "ab", buffering=0)  # noqa: PTH123, SIM115 - a descriptor
            self._file = SyncedFile(opened)
            if is_new:
                sync_folder(self.path.parent)
        return self._file


def _refuse_removed(file: FileIO, path: Path) -> None:
    if not os.fstat(file.fileno()).st_nlink or not path.exists():
        raise FolderGoneError(f"{path} was removed while it was written to, or its disk is gone")


@contextmanager
def alone(file: IO[bytes]) -> Iterator[None]:
    """Keep other processes from appending to a journal's file or packing it, until the block ends."""
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=_as_json)
    body = text.encode("utf-8", "surrogatepass")
    return b"%08x " % zlib.crc32(body) + body + b"\n"


def _as_json(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a journal holds text, numbers, truth values and times, not {value!r:.100}")


def record_of(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if the line is damaged, or holds none."""
    checksum, body = line[:_CHECKSUM_LENGTH], line[_CHECKSUM_LENGTH + 1 :].rstrip(b"\n")
    if not body or checksum != b"%08x" % zlib.crc32(body):  # an empty body has eight zeros
        return None
    record: dict[str, Any] = json.loads(body.decode("utf-8", "surrogatepass"))
    return record
