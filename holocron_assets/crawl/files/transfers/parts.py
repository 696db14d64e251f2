"""Files that are still coming: bytes on disk, and beside them what is needed to ask for the rest."""

import fcntl
import hashlib
import json
import os
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from holocron_assets.lake.files.durable import make_folder, trouble_named
from holocron_assets.lake.files.store import FileStore

HEAD_BYTES = 4096
"""Bytes of a file's start that say which type it has."""

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Side:
    """What is known of a file that is coming; it lies beside the part.

    Attributes:
        place: the address that the bytes came from, after redirects and without its query.
        validator: the strong ETag of these bytes (RFC 9110 section 8.8.3).
        length: bytes of the whole; None if the server did not say.
        boot: which start of the machine wrote the part. After another start its last bytes may never have
            reached the disk.
    """

    place: str
    validator: str
    length: int | None
    boot: str


class Part:
    """The bytes of one address that came so far, and their hashes. A context manager for one thread.

    One process has a part at a time. Another one that asks for the same address takes a part of its own,
    which it cannot resume.

    Attributes:
        path: where the bytes are.
        side: what is known of them; None if they cannot be resumed.
        size: how many there are.
        head: the first of them.
    """

    def __init__(self, store: FileStore, url: str) -> None:
        """Open the part of an address, and make it if there is none."""
        make_folder(store.parts)
        self._store = store
        name = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
        self.path, self._file = _opened(store.parts / f"{name}.part")
        self._side = self.path.with_suffix(".json")
        self._is_published = self._is_empty = self._has_side_file = False
        self.side: Side | None = None
        self._begin_hashes()

    def __enter__(self) -> Self:
        """Read what an earlier process left, and make its hashes again."""
        side = _read_side(self._side)
        held = os.fstat(self._file).st_size
        if held and side and side.boot == _boot() and held <= (side.length or held):
            self.side, self._has_side_file = side, True
            self._hash_what_is_there()
        else:
            self.start_over()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Keep what can be resumed, remove the rest."""
        if not self._is_published and (self.side is None or not self._side.exists()):
            self.path.unlink(missing_ok=True)
        os.close(self._file)

    def start_over(self, place: str = "", validator: str | None = None, length: int | None = None) -> None:
        """Forget all bytes; those that come now can be resumed if there is a strong validator.

        Args:
            place: where they come from.
            validator: their strong ETag; None without one.
            length: how many there are in all; None if that is not known.
        """
        if not self._is_empty:
            self._side.unlink(missing_ok=True)  # first: bytes without a side file are never resumed
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            self._begin_hashes()
        self._is_empty, self._has_side_file = True, False
        self.side = Side(place, validator, length, _boot()) if validator else None

    def write(self, data: bytes) -> None:
        """Add bytes."""
        self._is_empty = False
        with trouble_named(self.path):
            if self.side and not self.size and len(data) != self.side.length:
                self._write_side(self.side)
            _write(self._file, data)
        self._hash(data)

    def publish(self) -> Path:
        """Make the bytes an object of the store. After the call a crash cannot lose it."""
        with trouble_named(self.path):
            os.fsync(self._file)
        path = self._store.adopt(self.path, self.sha256)
        self._is_published = True
        if self._has_side_file:
            self._side.unlink(missing_ok=True)
        return path

    @property
    def sha1(self) -> str:
        """SHA-1 of the bytes so far, hexadecimal."""
        return self._sha1.hexdigest()

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes so far, hexadecimal."""
        return self._sha256.hexdigest()

    def _begin_hashes(self) -> None:
        self.size, self.head = 0, b""
        self._sha1, self._sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()

    def _hash(self, data: bytes) -> None:
        self._sha1.update(data)
        self._sha256.update(data)
        self.head += data[: HEAD_BYTES - len(self.head)]
        self.size += len(data)

    def _hash_what_is_there(self) -> None:
        os.lseek(self._file, 0, os.SEEK_SET)
        while data := os.read(self._file, _CHUNK_BYTES):
            self._hash(data)

    def _write_side(self, side: Side) -> None:
        aside = self._side.with_suffix(".tmp")
        self._has_side_file = True
        aside.write_text(json.dumps(asdict(side)), encoding="utf-8")
        aside.replace(self._side)


def _opened(path: Path) -> tuple[Path, int]:
    """Open a part and lock it; if another process has it, one with a name of its own."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            path = path.with_stem(f"{path.stem}-{uuid.uuid4().hex}")
            continue
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), path.stat()):
                return path, file
        os.close(file)  # its last owner made it an object, or removed it, before the lock was ours


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _read_side(path: Path) -> Side | None:
    try:
        return Side(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


@cache
def _boot() -> str:
    """A name of this start of the machine; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
