"""An export as bytes and as XML: it is opened, unpacked, checked, and parsed to pages with their first bytes.

An export comes from a stranger. So it may not declare entities or fetch anything, and it may break anywhere.
The parser is expat, because it gives the exact byte and does not build a tree in memory.
"""

import bz2
import gzip
import lzma
import math
import re
import sys
import zlib
from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from holocron_assets.crawl.dumps.archive import ArchiveError, is_archive, open_archive
from holocron_assets.crawl.dumps.pages import OVERLONG, Elements, number, number_of, text_of, time_of
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
_ROOT_TAG = re.compile(rb"<(?:[\w.-]+:)?mediawiki[\s/>]")
_PACKINGS = frozenset({".gz", ".bz2", ".zst"})
_UNREAD_SUFFIXES = frozenset({".7z", ".rar", ".xz"})


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
    return path.suffix.lower() in _PACKINGS or is_archive(path)


def read_chunks(path: Path, start: int = 0) -> Generator[bytes]:
    """The bytes of an export, unpacked, in pieces of at most 64 KiB.

    Args:
        path: the export: plain, `.gz`, `.bz2` or `.zst`; or a zip or tar file of exports of one wiki.
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
    except (OSError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        raise DumpError(path, f"cannot be read: {_reason(error)}") from error
    except ArchiveError as error:
        raise DumpError(path, str(error)) from error


def _open(path: Path) -> _Stream:
    if is_archive(path):
        return open_archive(path)
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
        if _ROOT_TAG.match(rest):
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


ALL_PAGES = range(2**62)
NO_PAGES = range(0)
LANGUAGE = "@lang"
"""The key of an export's language among the content of its `siteinfo`."""

LONGEST_PAGE_BYTES = 1 << 25
"""The limit for a page's newest revision, and for the rest of it: 16 times what MediaWiki allows to save."""

_LONGEST_TAG_BYTES = 1 << 22  # expat holds an unfinished tag, and reads it anew with each piece
_DEEPEST = 16
_TAIL_BYTES = 100
_TEXT_BUFFER_BYTES = 1 << 16
_NO_TIME = datetime.min.replace(tzinfo=UTC)


class OverlongTagError(ValueError):
    """A tag, a comment or an export's description of its wiki is longer than any page."""


class RawPage(NamedTuple):
    """A page as its export holds it.

    Attributes:
        ordinal: place in the export, from 0.
        elements: the page's elements as JSON values: texts, mappings of children by name and of attributes by
            `@name`, and lists of repeated elements. They hold only the newest revision, without its text.
        text: the newest revision's text; None if the export holds none.
    """

    ordinal: int
    elements: Elements
    text: str | None


class PageStart(NamedTuple):
    """Where a page starts: its ordinal, and the byte of the unpacked export."""

    ordinal: int
    offset: int


@dataclass(eq=False)
class _Kind:
    """How an element is read.

    Attributes:
        children: the kinds of its children, by name.
        others: the kind of all other children; None if they are not read.
        has_text: whether its text is kept, including the text of children that are not read.
    """

    children: Mapping[str, "_Kind"] = field(default_factory=dict)
    others: "_Kind | None" = None
    has_text: bool = False


_VALUE = _Kind(has_text=True)
_VALUE.others = _VALUE
_FLAT = _Kind(has_text=True)
_TEXT = _Kind(has_text=True)
_REVISION = _Kind({"text": _TEXT}, _VALUE)
_LISTED_REVISION = _Kind({"id": _VALUE, "timestamp": _VALUE})
_PAGE = _Kind({"revision": _REVISION}, _VALUE)
_OVERLONG_PAGE = _Kind()
_LISTED_PAGE = _Kind({"title": _VALUE, "ns": _VALUE, "id": _VALUE, "revision": _LISTED_REVISION})
_SITE = _Kind(others=_VALUE)
_ROOT_AFTER_SITE = _Kind({"page": _PAGE})
_ROOT = _Kind({"siteinfo": _SITE, "page": _PAGE})
_DOCUMENT = _Kind(others=_ROOT)
_PAGES = (_PAGE, _LISTED_PAGE, _OVERLONG_PAGE)


class _Element:
    """An element that is open.

    Attributes:
        kind: how it is read.
        name: its name without the XML namespace.
        values: its attributes, and the children read so far, as JSON values.
        parts: its text in pieces.
        has_children: whether it has had a child so far.
    """

    __slots__ = ("has_children", "kind", "name", "parts", "values")

    def __init__(self, kind: _Kind, name: str, attributes: Mapping[str, str]) -> None:
        self.kind = kind
        self.name = name
        self.values: dict[str, Any] = (
            {f"@{_local(key)}": value for key, value in attributes.items()} if attributes else {}
        )
        self.parts: list[str] = []
        self.has_children = False

    def add(self, name: str, value: Any) -> None:
        """Take in a child. Children with the same name become a list."""
        if name not in self.values:
            self.values[name] = value
        elif isinstance(earlier := self.values[name], list):
            earlier.append(value)  # in place, since a page may have very many
        else:
            self.values[name] = [earlier, value]

    def as_value(self) -> Any:
        """The whole element as a JSON value."""
        text = "".join(self.parts)
        if self.kind is _FLAT or not self.values:
            return text
        if text and not self.has_children:
            self.values["#text"] = text
        return self.values


class _Revision(NamedTuple):
    elements: Elements
    text: str | None

    @property
    def age(self) -> tuple[datetime, int]:
        return time_of(self.elements, "timestamp") or _NO_TIME, number_of(self.elements, "id") or 0


class PageParser:
    """Takes an export's bytes piece by piece, and gives the pages that end in them.

    Elements are known by their local name, and pages are children of the root, as in MediaWiki's export
    schemas 0.3 to 0.11. `LONGEST_PAGE_BYTES` limits the memory: a page with more in one revision, or outside
    its revisions, is given without its content and with an error.

    Attributes:
        ordinal: the ordinal of the page that is being read, or comes next.
        last_title: title of the last page that ended, as the export writes it.
        site: the content of `siteinfo`, and the language that the root states; None until it or a page was
            read.
        pages: the pages that ended. The caller that takes them clears the list.
        starts: the starts of the pages that began. The caller clears this list too.
    """

    def __init__(self, whole: Container[int], *, ordinal: int = 0, left_out: int = 0) -> None:
        """Start an export.

        Args:
            whole: ordinals of the pages that are wanted with all elements and text. Other pages have title,
                namespace and ids only.
            ordinal: the ordinal of the first page that will be fed.
            left_out: number of bytes between the head and that page, which will not be fed.
        """
        self.ordinal = ordinal
        self.last_title: str | None = None
        self.site: Elements | None = None
        self.pages: list[RawPage] = []
        self.starts: list[PageStart] = []
        self._whole = whole
        self._left_out = left_out
        self._open = [_Element(_DOCUMENT, "", {})]
        self._unread = 0  # depth within an element that is not read
        self._text: _Element | None = None
        self._newest: _Revision | None = None
        self._fed = 0
        self._kept_since = 0  # the byte at which the page, or its revision, started
        # utf-8, like every export: another encoding could hide a DOCTYPE from the check
        self._expat = expat.ParserCreate("utf-8", "}")
        self._expat.buffer_text = True
        self._expat.buffer_size = _TEXT_BUFFER_BYTES
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end

    def feed(self, data: bytes) -> None:
        """Take in more of the export; `b""` says that there is no more.

        Raises:
            expat.ExpatError: the export is not valid XML. The pages before that are in `pages`.
            OverlongTagError: text outside of pages, or a tag of a page, is too long.
        """
        self._expat.Parse(data, not data)
        self._fed += len(data)
        if self._fed - self._expat.CurrentByteIndex > _LONGEST_TAG_BYTES:
            raise OverlongTagError
        if self._expat.CurrentByteIndex - self._kept_since > LONGEST_PAGE_BYTES:
            self._let_go()

    @property
    def error_offset(self) -> int:
        """The byte of the unpacked export at which the XML is not valid."""
        return self._expat.ErrorByteIndex + self._left_out

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._unread:
            self._unread += 1
            return
        local, parent = name.rpartition("}")[2], self._open[-1]
        parent.has_children = True
        kind = parent.kind.children.get(local, parent.kind.others)
        if kind is None:
            self._unread = 1
            return
        if kind is _VALUE:
            kind = _VALUE if len(self._open) <= _DEEPEST else _FLAT
        elif kind is _PAGE:
            kind = self._start_page()
        element = _Element(kind, local, attributes)
        self._open.append(element)
        self._expat.CharacterDataHandler = element.parts.append if kind.has_text else None

    def _let_go(self) -> None:
        """Keep nothing more of a page that is too large, so that memory stays bounded."""
        self._kept_since = self._expat.CurrentByteIndex
        page = next((element for element in self._open if element.kind in _PAGES), None)
        if page is None:
            if any(element.kind is _SITE for element in self._open):
                raise OverlongTagError
            return
        self._unread += len(self._open) - self._open.index(page) - 1
        del self._open[self._open.index(page) + 1 :]
        kept: dict[str, Any] = {
            name: page.values[name] for name in ("title", "ns", "id") if name in page.values
        }
        problem = f"it holds more than {LONGEST_PAGE_BYTES:,} bytes: no page is so long"
        page.values = {**kept, OVERLONG: problem}
        page.kind, self._newest, self._text = _OVERLONG_PAGE, None, None
        self._expat.CharacterDataHandler = None

    def _start_page(self) -> _Kind:
        self._kept_since = self._expat.CurrentByteIndex
        self.starts.append(PageStart(self.ordinal, self._expat.CurrentByteIndex + self._left_out))
        self._newest = None
        if self.site is None:
            self._end_site({})  # `siteinfo` comes before all pages or not at all
        return _PAGE if self.ordinal in self._whole else _LISTED_PAGE

    def _end(self, _name: str) -> None:
        if self._unread:
            self._unread -= 1
            return
        element = self._open.pop()
        kind, parent = element.kind, self._open[-1]
        if kind is _VALUE or kind is _FLAT:
            parent.add(element.name, element.as_value())
        elif kind is _TEXT:
            self._text = self._text or element
        elif kind is _REVISION or kind is _LISTED_REVISION:
            self._end_revision(element)
        elif kind in _PAGES:
            self._end_page(element)
        elif kind is _SITE:
            self._end_site(element.values)
        self._expat.CharacterDataHandler = parent.parts.append if parent.kind.has_text else None

    def _end_site(self, siteinfo: Elements) -> None:
        language = self._open[1].values.get(LANGUAGE)
        self.site = {**siteinfo, LANGUAGE: language} if language else siteinfo
        self._open[1].kind = _ROOT_AFTER_SITE

    def _end_revision(self, element: _Element) -> None:
        body, self._text = self._text, None
        self._kept_since = self._expat.CurrentByteIndex
        revision = _Revision(element.values, None)
        if body is not None:
            revision = _Revision({**element.values, "text": {**body.values, "#text": None}}, _held_text(body))
        if self._newest is None or revision.age >= self._newest.age:
            self._newest = revision

    def _end_page(self, element: _Element) -> None:
        elements, text = element.values, None
        if self._newest is not None:
            elements, text = {**elements, "revision": self._newest.elements}, self._newest.text
        self.pages.append(RawPage(self.ordinal, elements, text))
        self.last_title = text_of(elements, "title")
        self.ordinal += 1


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _held_text(body: _Element) -> str | None:
    """The text of a revision; None if the element only says that there is a text."""
    text = "".join(body.parts)
    is_elsewhere = "@deleted" in body.values or number(body.values.get("@bytes"))
    return None if is_elsewhere and not text and not body.has_children else text


def parse_pages(path: Path, chunks: Iterable[bytes], parser: PageParser) -> Generator[bytes]:
    """Feed a parser with an export to its end, and yield each piece after it was parsed.

    Args:
        path: the export, for errors.
        chunks: its bytes.
        parser: the caller must take its pages after each piece.

    Raises:
        DumpError: the export is cut off, damaged, or no valid XML. Pages before that are given first.
    """
    tail = b""
    try:
        for chunk in chain(chunks, (b"",)):
            tail = (tail + chunk)[-_TAIL_BYTES:]
            problem = None
            try:
                parser.feed(chunk)
            except OverlongTagError:
                problem = DumpError(path, "has a tag or comment without an end: refused")
            except expat.ExpatError as error:
                is_cut = not chunk and not tail.rstrip().endswith(b"mediawiki>")
                problem = _problem(path, error, parser, is_cut=is_cut)
            yield chunk
            if problem:
                raise problem
    except DumpError as error:
        raise DumpError(path, error.problem, parser.ordinal, parser.last_title) from error


def _problem(path: Path, error: expat.ExpatError, parser: PageParser, *, is_cut: bool) -> DumpError:
    problem = f"{expat.errors.messages[error.code]} at byte {parser.error_offset}"
    is_wrong = "the file ends too soon: it was cut off; get it again" if is_cut else "is not valid XML"
    return DumpError(path, f"{is_wrong} ({problem})")
