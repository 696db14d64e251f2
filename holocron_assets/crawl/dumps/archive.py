"""A zip or tar file that holds exports of one wiki, read as the one export that they make together.

Nothing is unpacked to the disk under a name that a member has. The first export gives the head, and each the
pages that stand between its own head and its end.
"""

import bz2
import gzip
import io
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_MEMBERS = 10_000
"""Members of an archive, of any kind."""

LONGEST_NAME = 1_000
"""Characters of a member's path."""

_CHUNK_BYTES = 1 << 16
_LONGEST_HEAD_BYTES = 1 << 20
_TARS = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.zst")
# Wikimedia cuts an export into parts: enwiki-20240101-pages-articles1.xml-p1p41242.bz2
_EXPORT = re.compile(r"\.xml(?:-p\d+p\d+)?(?:\.gz|\.bz2|\.zst)?$", re.IGNORECASE)
_FIRST_PAGE = re.compile(rb"<(?:[\w.-]+:)?page[\s>]")
_END = re.compile(rb"\s*</(?:[\w.-]+:)?mediawiki\s*>\s*$")
_LONGEST_END_BYTES = 4096
_HAS_PASSWORD = 1  # bit of a zip member's flags
_WIKI = re.compile(rb"<(?:[\w.-]+:)?(?:base|dbname|sitename)>([^<]*)<")


class ArchiveError(ValueError):
    """An archive is refused. The message names the member, and says what to do."""


def is_archive(path: Path) -> bool:
    """Whether a file's name is that of a zip or tar file."""
    return path.name.lower().endswith((".zip", *_TARS))


def open_archive(path: Path) -> io.BufferedReader:
    """The one export that the exports of an archive make together, unpacked. It can be sought.

    Args:
        path: a zip file, or a tar file that may be packed as .gz, .bz2 or .zst.

    Returns:
        A stream. Its reads raise ArchiveError where the archive cannot be used: if it holds no export, more
        than `MOST_MEMBERS` members, a name longer than `LONGEST_NAME` or that leads out of the archive, a
        member with a password, or exports of different wikis.
    """
    return io.BufferedReader(_Joined(lambda: _joined(path)))


class _Joined(io.RawIOBase):
    """A stream over chunks. To go back, it makes them anew."""

    def __init__(self, chunks: Callable[[], Generator[bytes]]) -> None:
        self._make, self._chunks, self._rest, self._at = chunks, chunks(), b"", 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        while not self._rest:
            self._rest = next(self._chunks, b"")
            if not self._rest:
                return 0
        view = memoryview(buffer).cast("B")
        given, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(given)] = given
        self._at += len(given)
        return len(given)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        target = offset + (self._at if whence == io.SEEK_CUR else 0)
        if target < self._at:
            self._chunks.close()
            self._chunks, self._rest, self._at = self._make(), b"", 0
        while self._at < target and self.read(min(target - self._at, _CHUNK_BYTES)):
            pass
        return self._at

    def close(self) -> None:
        self._chunks.close()
        super().close()


def _joined(path: Path) -> Generator[bytes]:
    try:
        yield from _spliced(path)
    except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError) as error:
        raise ArchiveError(f"it cannot be unpacked: {error}") from error


def _spliced(path: Path) -> Iterator[bytes]:
    """The bytes of all exports, with the head of the first, and the end of the last."""
    first_head, end = None, b""
    for name, stream in _exports(path):
        head, held = _head_and_first(name, stream)
        if first_head is None:
            first_head = head
            yield head
        elif _wiki(head) != _wiki(first_head):
            raise ArchiveError(
                f"its member {name!r} is of another wiki than those before: import each wiki as a source of "
                "its own"
            )
        while chunk := stream.read(_CHUNK_BYTES):
            held += chunk
            yield held[:-_LONGEST_END_BYTES]
            held = held[-_LONGEST_END_BYTES:]
        found = _END.search(held)
        if found is None:
            raise ArchiveError(f"its member {name!r} does not end as an export does: it was cut off")
        end = found[0]
        yield held[: found.start()] + b"\n"
    if first_head is None:
        raise ArchiveError("it holds no export: no member's name ends in .xml, .xml.gz, .xml.bz2 or .xml.zst")
    yield end


def _head_and_first(name: str, stream: BinaryIO) -> tuple[bytes, bytes]:
    """The bytes of an export before its first page, and those after that are read with them."""
    read = b""
    while len(read) < _LONGEST_HEAD_BYTES and (chunk := stream.read(_CHUNK_BYTES)):
        read += chunk
        if found := _FIRST_PAGE.search(read):
            return read[: found.start()], read[found.start() :]
    raise ArchiveError(f"its member {name!r} is no MediaWiki XML export with pages: remove it")


def _wiki(head: bytes) -> list[bytes]:
    return _WIKI.findall(head)


def _exports(path: Path) -> Iterator[tuple[str, BinaryIO]]:
    """Name and unpacked bytes of each export, in the archive's order."""
    members = _of_zip(path) if path.suffix.lower() == ".zip" else _of_tar(path)
    for number, (name, opened) in enumerate(members, start=1):
        if number > MOST_MEMBERS:
            raise ArchiveError(f"it has more than {MOST_MEMBERS:,} members: split it")
        if len(name) > LONGEST_NAME or name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise ArchiveError(f"its member {name[:100]!r} has a name that no export needs: pack it anew")
        if opened is not None and _EXPORT.search(name) and not PurePosixPath(name).name.startswith("."):
            with closing(opened()) as packed:
                yield name, _unpacked(name, packed)


_Member = tuple[str, Callable[[], BinaryIO] | None]
"""A member's name, and how it is opened; None if it is no file."""


def _of_zip(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(path) as packed:
        for member in packed.infolist():
            if member.flag_bits & _HAS_PASSWORD:
                raise ArchiveError(f"its member {member.filename!r} has a password: unpack it")

            def opened(member: zipfile.ZipInfo = member) -> BinaryIO:
                return cast("BinaryIO", packed.open(member))

            yield member.filename, None if member.is_dir() else opened


def _of_tar(path: Path) -> Iterator[_Member]:
    with path.open("rb") as file, tarfile.open(fileobj=_unpacked(path.name, file), mode="r|") as packed:
        for member in packed:

            def opened(member: tarfile.TarInfo = member) -> BinaryIO:
                return cast("BinaryIO", packed.extractfile(member))

            yield member.name, opened if member.isreg() else None


def _unpacked(name: str, stream: BinaryIO) -> BinaryIO:
    match PurePosixPath(name).suffix.lower():
        case ".gz" | ".tgz":
            return cast("BinaryIO", gzip.open(stream, "rb"))
        case ".bz2":
            return cast("BinaryIO", bz2.open(stream, "rb"))
        case ".zst":
            return cast("BinaryIO", zstd.open(stream, "rb"))
    return stream
