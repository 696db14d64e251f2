"""The byte side of an XML export: opened, unpacked, checked, and parsed into elements one after another.

An export is a stranger's file: it may declare no entities and fetch nothing, and may end or break anywhere.
"""

import bz2
import gzip
import re
import zlib
from collections.abc import Generator
from io import BufferedReader
from pathlib import Path

from lxml import etree

_Stream = BufferedReader | gzip.GzipFile | bz2.BZ2File

_CHUNK_BYTES = 1 << 16
_TAIL_BYTES = 100
_LONGEST_PROLOG_BYTES = 1 << 20
_PROLOG = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_ROOT = re.compile(rb"<(?:[\w.-]+:)?mediawiki[\s/>]")
_UNREAD_SUFFIXES = {".7z", ".rar", ".xz", ".zip", ".zst"}
_ELEMENTS = tuple(f"{{*}}{name}" for name in ("siteinfo", "revision", "page"))


class DumpError(ValueError):
    """An XML export cannot be read, or not to its end. The message names the file and how far reading came.

    Attributes:
        path: the export.
        problem: what is wrong with it.
        pages_read: pages that were read before.
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


class _Source:
    """What the XML parser reads from: the head that was looked at, then the rest as it comes."""

    def __init__(self, head: bytes, stream: _Stream) -> None:
        self._head = head
        self._stream = stream
        self._tail = b""
        self.cut_off = False

    def read(self, size: int) -> bytes:
        chunk, self._head = self._head, b""
        # read1, because read would drop what it has when a packed file breaks in its middle
        chunk = chunk or self._stream.read1(max(size, _CHUNK_BYTES))
        self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        self.cut_off = not chunk and not self._tail.rstrip().endswith(b"mediawiki>")
        return chunk


def open_elements(path: Path) -> Generator[etree._Element]:
    """Each `siteinfo`, `revision` and `page` element of an export, when its end is read.

    Whoever takes an element frees it; otherwise all of them pile up.

    Raises:
        DumpError: the file is missing, no export, or (after everything before that) cut off or broken.
    """
    try:
        with _open(path) as stream:
            source = _Source(_checked_head(path, stream), stream)
            yield from _parsed(path, source)
    except EOFError as error:
        raise DumpError(path, "the packed file ends too soon: it was cut off; get it again") from error
    except (OSError, zlib.error) as error:
        raise DumpError(path, f"cannot be read: {_reason(error)}") from error


def _parsed(path: Path, source: _Source) -> Generator[etree._Element]:
    parser = etree.iterparse(
        source,
        events=("end",),
        tag=_ELEMENTS,
        encoding="utf-8",  # as every export is; another encoding could hide a DOCTYPE from the check
        huge_tree=True,  # pages of many megabytes are real
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for _, element in parser:
            yield element
    except etree.XMLSyntaxError as error:
        problem = (
            "the file ends too soon: it was cut off; get it again" if source.cut_off else "is not valid XML"
        )
        raise DumpError(path, f"{problem} ({error.msg})") from error


def _open(path: Path) -> _Stream:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".bz2":
            return bz2.open(path, "rb")
        case suffix if suffix in _UNREAD_SUFFIXES:
            raise DumpError(path, f"{suffix} files are not read: unpack it, or pack it as .gz or .bz2")
    return path.open("rb")


def _checked_head(path: Path, stream: _Stream) -> bytes:
    """The file's start, once it is known to be an export's: checked on bytes, before any XML is parsed."""
    head = b""
    while len(head) < _LONGEST_PROLOG_BYTES:
        chunk = stream.read1(_CHUNK_BYTES)
        head += chunk
        rest = _after_prolog(head)
        if _ROOT.match(rest):
            return head
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
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
