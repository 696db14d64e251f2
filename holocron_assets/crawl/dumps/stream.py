"""The byte side of an XML export: it is opened, unpacked, and checked before anything parses it.

An export comes from a stranger. So it may not declare entities or fetch anything, and it may break anywhere.
"""

import bz2
import gzip
import math
import re
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from io import BufferedReader
from pathlib import Path

from holocron_assets.errors import PermanentError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_Stream = BufferedReader | gzip.GzipFile | bz2.BZ2File | zstd.ZstdFile

_CHUNK_BYTES = 1 << 16
_ANY_RATIO_BYTES = 1 << 30
_LARGEST_RATIO = 250
"""Largest ratio of an export's length to that of its packed file; full histories, packed well, reach 100."""

_LONGEST_PROLOG_BYTES = 1 << 20
_PROLOG = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_ROOT = re.compile(rb"<(?:[\w.-]+:)?mediawiki[\s/>]")
_PACKINGS = frozenset({".gz", ".bz2", ".zst"})
_UNREAD_SUFFIXES = frozenset({".7z", ".rar", ".xz", ".zip"})


class DumpError(PermanentError, ValueError):
    """An XML export cannot be read, or not to its end. The message names the file and the last good page.

    Attributes:
        path: the export.
        problem: what is wrong with it.
        pages_read: number of pages that were read before.
        last_title: title of the last of them.
    """

    def __init__(self, path: Path, problem: str, pages_read: int = 0, last_title: str | None = None) -> None:
        """Name the file, the problem, and the last good page."""
        self.path = path
        self.problem = problem
        self.pages_read = pages_read
        self.last_title = last_title
        progress = f"; {pages_read} pages were read, the last is {last_title!r}" if pages_read else ""
        super().__init__(f"{path}: {problem}{progress}")


def is_packed(path: Path) -> bool:
    """Whether an export must be unpacked, and so cannot be read from its middle."""
    return path.suffix.lower() in _PACKINGS


def read_chunks(path: Path, start: int = 0) -> Generator[bytes]:
    """The bytes of an export, unpacked, in pieces of at most 64 KiB.

    Args:
        path: the export: plain, `.gz`, `.bz2` or `.zst`.
        start: the byte of the unpacked export to start at. A packed export is unpacked up to there.

    Raises:
        DumpError: the file is missing, no export, cut off or damaged. Bytes before the damage are given
            first.
    """
    with _troubles_named(path), _open(path) as stream:
        _check_head(path, stream)
        stream.seek(start)
        most = max(_ANY_RATIO_BYTES, path.stat().st_size * _LARGEST_RATIO) if is_packed(path) else math.inf
        # read1, because read would drop its bytes when a packed file breaks in its middle
        while chunk := stream.read1(_CHUNK_BYTES):
            yield chunk
            if stream.tell() > most:
                raise DumpError(
                    path,
                    f"unpacks to more than {_LARGEST_RATIO} times its size, as if made to fill the disk. If "
                    "you know what it is, unpack it and read that",
                )


def read_head(chunks: Generator[bytes], length: int) -> bytes:
    """The first `length` bytes of some chunks, or all if they are fewer. Ends the reading."""
    head = b""
    with closing(chunks):
        while len(head) < length and (chunk := next(chunks, b"")):
            head += chunk
    return head[:length]


def read_frames(path: Path, start: int) -> Generator[bytes]:
    """The bytes of the zstd frames of a file, unpacked, from the frame that starts at byte `start` on.

    Raises:
        DumpError: as `read_chunks` does.
    """
    with _troubles_named(path), path.open("rb") as packed:
        packed.seek(start)
        with zstd.open(packed, "rb") as stream:
            while chunk := stream.read1(_CHUNK_BYTES):
                yield chunk


@contextmanager
def _troubles_named(path: Path) -> Iterator[None]:
    """Turn the errors of reading or unpacking a file into DumpError."""
    try:
        yield
    except EOFError as error:
        raise DumpError(path, "the packed file ends too soon: it was cut off; get it again") from error
    except (OSError, zlib.error, zstd.ZstdError) as error:
        raise DumpError(path, f"cannot be read: {_reason(error)}") from error


def _open(path: Path) -> _Stream:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".bz2":
            return bz2.open(path, "rb")
        case ".zst":
            return zstd.open(path, "rb")
        case suffix if suffix in _UNREAD_SUFFIXES:
            raise DumpError(path, f"{suffix} files are not read: unpack it, or pack it as .gz, .bz2 or .zst")
    return path.open("rb")


def _check_head(path: Path, stream: _Stream) -> None:
    """Make sure by its first bytes that a file is an export, before any XML is parsed.

    Raises:
        DumpError: the file is no export, or declares a DOCTYPE.
    """
    head = b""
    while len(head) < _LONGEST_PROLOG_BYTES:
        chunk = stream.read1(_CHUNK_BYTES)
        head += chunk
        rest = _after_prolog(head)
        if _ROOT.match(rest):
            return
        if not chunk or b">" in rest:
            break
    raise DumpError(path, _why_no_export(head))


def _after_prolog(head: bytes) -> bytes:
    prolog = _PROLOG.match(head)
    return head[prolog.end() :] if prolog else head


def _why_no_export(head: bytes) -> str:
    if not head.strip():
        return "is empty: a MediaWiki XML export was expected"
    start = _after_prolog(head)[:60]
    if start[:9].upper() == b"<!DOCTYPE":
        return "declares a DOCTYPE, which no MediaWiki export does and which can hold entity bombs: refused"
    return f"is no MediaWiki XML export: it starts with {start.decode(errors='replace')!r}"


def _reason(error: Exception) -> str:
    if "too much memory" in str(error):
        return f"{error}. It was packed with a long window: unpack it with `zstd -d --long=31`"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
