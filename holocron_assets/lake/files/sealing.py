"""Seals: a checksum of a whole file in its own footer, so that every changed bit is noticed.

Parquet may have checksums of pages, but none of its metadata. So a footer is written with room for a checksum
of all bytes. The checksum is computed with zeros in its own place, and is put there last.
"""

import os
import zlib
from collections.abc import Iterator
from io import BufferedRandom, BufferedReader
from pathlib import Path

SEAL = "whole"
"""Key of the seal in a footer's JSON."""

UNSEALED = "0" * 8
"""The text in this place until the file is sealed."""

_MARK = f'"{SEAL}": "'.encode()
_CHUNK = 1 << 20
_ENDING = 8  # bytes that end every Parquet file: the length of its metadata, and `PAR1`


def seal(path: Path) -> None:
    """Write the checksum of a file into its footer."""
    with path.open("r+b") as file:
        place = _place(file)
        if place is None:
            raise ValueError(f"{path} has no place for a seal")
        checksum = _checksum(file, place)
        file.seek(place)
        file.write(checksum)


def is_as_sealed(path: Path) -> bool | None:
    """Whether no byte has changed since the file was sealed; None if it has no seal or it cannot be found."""
    with path.open("rb") as file:
        place = _place(file)
        if place is None:
            return None
        file.seek(place)
        stored = file.read(len(UNSEALED))
        return None if stored == UNSEALED.encode() else stored == _checksum(file, place)


def _place(file: BufferedReader | BufferedRandom) -> int | None:
    """Where the seal is: at the last mark, since the footer comes after the descriptions of columns."""
    size = file.seek(0, os.SEEK_END)
    if size < _ENDING:
        return None
    file.seek(size - _ENDING)
    start = size - _ENDING - int.from_bytes(file.read(4), "little")
    if start < 0:
        return None
    file.seek(start)
    found = file.read(size - start).rfind(_MARK)
    return None if found < 0 else start + found + len(_MARK)


def _checksum(file: BufferedReader | BufferedRandom, place: int) -> bytes:
    checksum = 0
    for chunk in _with_zeros(file, place):
        checksum = zlib.crc32(chunk, checksum)
    return b"%08x" % checksum


def _with_zeros(file: BufferedReader | BufferedRandom, place: int) -> Iterator[bytes]:
    """The bytes of a file as they were before it was sealed."""
    file.seek(0)
    left = place
    while left and (chunk := file.read(min(left, _CHUNK))):
        left -= len(chunk)
        yield chunk
    yield UNSEALED.encode()
    file.seek(place + len(UNSEALED))
    while chunk := file.read(_CHUNK):
        yield chunk
