"""The packed part of a journal: its older lines, in `journal.jsonl.zst` next to it.

Unpacked, its first line says which bytes of the journal's own file were taken into it last. Then come all
lines as they were appended. It is one frame with a checksum, so that every cut or change is noticed.
`packing.py` writes it.
"""

import os
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from holocron_assets.lake.files.damage import damaged_file

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ENDING = ".zst"
_HEAD = b"taken %d %08x\n"
_CHUNK_BYTES = 1 << 20
_OPTIONS: Mapping[int, int] = {
    zstd.CompressionParameter.compression_level: 9,  # real journals shrink to an eighth; level 19 gains 5%
    zstd.CompressionParameter.checksum_flag: 1,
}


class Taken(NamedTuple):
    """The first bytes of a journal's own file that its packed part holds.

    Attributes:
        length: number of bytes.
        crc: their CRC-32.
    """

    length: int
    crc: int

    def skip_in(self, file: IO[bytes]) -> int:
        """Go to the first line of a journal's own file that was not taken, and return its place.

        A file that was taken is removed. It is still there only after a crash; otherwise this is a newer
        file.
        """
        file.seek(0)
        is_same = self == taken_of(file, self.length)
        return file.seek(self.length if is_same else 0)


NOTHING_TAKEN = Taken(0, 0)


def mark_as_packed(file: IO[bytes]) -> None:
    """Mark a journal's own file as packed, for processes that have it open when it is removed.

    The mark is the sticky bit of the file's mode, which means nothing else for files. Only the file's owner
    may set it.
    """
    with suppress(OSError):
        os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode) | stat.S_ISVTX)


def was_packed(journal: Path, file: IO[bytes]) -> bool:
    """Whether a journal's own file, which is gone, was packed; otherwise somebody removed it.

    Args:
        journal: where it was.
        file: the file. Without a mark, it is the one that was packed last if it has the same length.
    """
    status = os.fstat(file.fileno())
    if status.st_mode & stat.S_ISVTX:
        return True
    with packed_lines(journal) as (taken, _):
        return taken.length == status.st_size


def packed_part(journal: Path) -> Path:
    """The path of a journal's packed part, which may not exist."""
    return journal.with_name(journal.name + ENDING)


def taken_of(file: IO[bytes], length: int) -> Taken:
    """The mark of the bytes of a file from its current position, up to `length` bytes."""
    crc, left = 0, length
    while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
        crc, left = zlib.crc32(chunk, crc), left - len(chunk)
    return Taken(length - left, crc)


@contextmanager
def packed_lines(journal: Path) -> Iterator[tuple[Taken, Iterator[bytes]]]:
    """The bytes taken last into a journal's packed part, and its lines; nothing if it has no packed part.

    Raises:
        DamagedPartitionError: it cannot be read. Some of its lines may have been given before.
    """
    path = packed_part(journal)
    try:
        opened = path.open("rb")
    except FileNotFoundError:
        yield NOTHING_TAKEN, iter(())
        return
    with opened, zstd.ZstdFile(opened) as unpacked:
        lines = _readable(path, unpacked)
        yield _taken_from(path, next(lines, b"")), lines


def read_through(path: Path) -> None:
    """Read a packed part to its end.

    Raises:
        DamagedPartitionError: it cannot be read.
        FileNotFoundError: it is gone.
    """
    path.stat()
    with packed_lines(path.with_suffix("")) as (_, lines):
        for _line in lines:
            pass


def write_packed(path: Path, taken: Taken, *parts: Iterator[bytes]) -> None:
    """Write a packed part to `path`: a first line with the taken bytes, and the lines of all parts."""
    with zstd.ZstdFile(path, "wb", options=_OPTIONS) as packed:
        packed.write(_HEAD % taken)
        for part in parts:
            for line in part:
                packed.write(line if line.endswith(b"\n") else line + b"\n")  # torn by a crash


def _readable(path: Path, unpacked: zstd.ZstdFile) -> Iterator[bytes]:
    try:
        yield from unpacked
    except (zstd.ZstdError, EOFError) as error:
        raise damaged_file(path, error) from error


def _taken_from(path: Path, head: bytes) -> Taken:
    words = head.split()
    try:
        taken = Taken(int(words[1]), int(words[2], 16))
    except (IndexError, ValueError):
        taken = NOTHING_TAKEN
    if head != _HEAD % taken:
        raise damaged_file(path, ValueError("it does not begin as packed journals do"))
    return taken
