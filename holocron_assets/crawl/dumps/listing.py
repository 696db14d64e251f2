"""Listing an export: one pass that names its pages and the places from which a batch can be read.

Every 16 MiB the pages so far are appended to a journal, with the place from which a killed listing goes on.
"""

import os
import sys
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from holocron_assets.crawl.dumps.export import DumpPage, ListedPage, listed_page, site_rules, wanted_pages
from holocron_assets.crawl.dumps.parser import (
    NO_PAGES,
    DumpError,
    PageParser,
    is_packed,
    parse_pages,
    read_chunks,
    read_frames,
    read_head,
)
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.durable import make_folder, sync_folder
from holocron_assets.lake.files.parquet import read_footer, read_table
from holocron_assets.lake.files.streams import write_stream
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.lake.tables import DUMP_INDEX
from holocron_assets.lake.titles import Site

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPTIONS: Mapping[int, int] = {
    zstd.CompressionParameter.compression_level: 1,
    zstd.CompressionParameter.checksum_flag: 1,
}


class Plain:
    """An export that is not packed, so that no copy is needed."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Do nothing."""

    def write(self, data: bytes) -> None:
        """Take the next bytes of the export."""

    def cut(self, unpacked_offset: int) -> int:
        """The byte of the file at which the export's byte `unpacked_offset` is."""
        return unpacked_offset

    def sync(self) -> None:
        """Return when everything is on disk."""


class CopyWriter:
    """Writes a copy of a packed export in zstd frames. Each frame can be unpacked by itself.

    The copy is about as large as the export packed as .gz. A context manager.
    """

    def __init__(self, path: Path, file_offset: int) -> None:
        """Continue the copy at `path` from a byte at which a frame ends; later bytes are thrown away."""
        make_folder(path.parent)
        path.touch()
        sync_folder(path.parent)
        self._file = path.open("rb+")
        self._file.truncate(file_offset)
        self._file.seek(file_offset)
        self._packer = zstd.ZstdCompressor(options=_OPTIONS)

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def write(self, data: bytes) -> None:
        """Take the next bytes of the export."""
        self._file.write(self._packer.compress(data))

    def cut(self, _unpacked_offset: int) -> int:
        """End a frame. Returns the byte of the copy at which the next one starts."""
        self._file.write(self._packer.flush(zstd.ZstdCompressor.FLUSH_FRAME))
        return self._file.tell()

    def sync(self) -> None:
        """Return when all ended frames are on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())


INDEX_VERSION = "1"
DUMP = "dump"
NO_DUMP = "missing"


class Place(NamedTuple):
    """Where a page starts: a row of table `dump_index`. The first page is read from the start of the file."""

    ordinal: int
    unpacked_offset: int
    file_offset: int


@dataclass(frozen=True)
class DumpIndex:
    """An export that can be read from its middle.

    Attributes:
        path: the export.
        copy: the file that is read instead, if the export is packed.
        places: rows of table `dump_index`, in order; the last is the end of the export.
    """

    path: Path
    copy: Path | None
    places: pa.Table

    @property
    def pages(self) -> int:
        """How many pages the export holds; if it breaks off, how many before the break."""
        return self._place(len(self.places) - 1).ordinal

    @property
    def is_whole(self) -> bool:
        """Whether the copy, if one is needed, is complete."""
        end = self._place(len(self.places) - 1).file_offset
        return self.copy is None or (self.copy.is_file() and self.copy.stat().st_size == end)

    def read(self, ordinals: Iterable[int]) -> Iterator[DumpPage]:
        """Some pages of the export, in its order. Those that it does not hold are left out.

        Raises:
            DumpError: the export, or its copy, cannot be read.
        """
        for run in self._runs(sorted(ordinal for ordinal in set(ordinals) if ordinal < self.pages)):
            place, wanted = self._place(self._before(run[0])), frozenset(run)
            left_out = place.unpacked_offset - len(self._head) if place.file_offset else 0
            parser = PageParser(wanted, ordinal=place.ordinal, left_out=left_out)
            if place.file_offset:
                parser.feed(self._head)
            with closing(self._chunks(place.file_offset)) as chunks:
                yield from wanted_pages(self.path, chunks, parser, wanted, run[-1])

    def _runs(self, ordinals: Sequence[int]) -> Iterator[list[int]]:
        """Pages that are read in one pass: no place between them would make reading shorter."""
        run: list[int] = []
        for ordinal in ordinals:
            if run and self._before(ordinal) > self._before(run[-1]) + 1:
                yield run
                run = []
            run.append(ordinal)
        if run:
            yield run

    def _before(self, ordinal: int) -> int:
        """The number of the last place at or before a page."""
        return int(np.searchsorted(self._ordinals, ordinal, side="right")) - 1

    @cached_property
    def _ordinals(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.asarray(self.places["ordinal"])

    def _place(self, number: int) -> Place:
        return Place(*(self.places[name][number].as_py() for name in Place._fields))

    @cached_property
    def _head(self) -> bytes:
        """The text before the first page: the root's tag with its XML namespaces, and `siteinfo`."""
        return read_head(self._chunks(0), self._place(0).unpacked_offset)

    def _chunks(self, file_offset: int) -> Generator[bytes]:
        if self.copy is not None:
            return read_frames(self.copy, file_offset)
        return read_chunks(self.path, file_offset)


def dump_mark(path: Path) -> str:
    """A mark of one version of an export's file: its size and time of change, if the file is there.

    A file that this user may not look at counts as missing: the run that reads it says what is wrong.
    """
    try:
        status = path.stat()
    except OSError:
        return NO_DUMP
    return f"{status.st_size}-{status.st_mtime_ns}" if S_ISREG(status.st_mode) else NO_DUMP


def load_index(lake: Lake, source: Source) -> DumpIndex | None:
    """The index of a source's current export; None if there is none, or if the copy is not whole."""
    path = Path(source.origin)
    footer = read_footer(lake, DUMP_INDEX, source.name)
    if footer is None or footer.code_version != INDEX_VERSION or footer.inputs.get(DUMP) != dump_mark(path):
        return None
    copy = lake.dump_copy(DUMP_INDEX, source.name) if is_packed(path) else None
    index = DumpIndex(path, copy, read_table(lake, DUMP_INDEX, source.name))
    return index if index.is_whole else None


def listing_journal(path: Path, marks: Mapping[str, str]) -> Journal:
    """The journal at `path` for the listing with these `marks`; that of another listing is thrown away.

    Args:
        path: where the journal is.
        marks: what the listing depends on. The first record holds them, as `listing`.
    """
    journal = Journal(path)
    begun = next(journal.records(), None)
    if begun is not None and begun != {"listing": marks}:
        journal.remove()
        begun = None
    if begun is None:
        journal.append({"listing": dict(marks)})
    return journal


_PLACE_SPACING_BYTES = 1 << 18
_CHECKPOINT_BYTES = 1 << 24
_START = Place(0, 0, 0)
_TROUBLE = ("problem", "pages_read", "last_title")


@dataclass(frozen=True)
class DumpListing:
    """All pages of an export, in a journal.

    Attributes:
        journal: holds them, until they are in the lake.
        pages: how many there are.
        error: why the export could not be read to its end; None if it was.
    """

    journal: Journal
    pages: int
    error: DumpError | None

    def listed(self) -> Iterator[tuple[int, str, int, int | None]]:
        """Ordinal, title, namespace and revision id of each page, in order."""
        for record in self.journal.records():
            columns = [record.get(name, ()) for name in ("titles", "namespaces", "revisions")]
            for ordinal, page in enumerate(zip(*columns, strict=True), record.get("first", 0)):
                yield ordinal, *page


def listing_lock(lake: Lake, source: Source) -> Lock:
    """The lock of listing a source's export: one process lists it, and the others wait for the result."""
    return lake.lock(f"list-{source.name}")


def list_dump(lake: Lake, source: Source, safe_point: Callable[[], object] = lambda: None) -> DumpListing:
    """List an export, from where an earlier attempt was killed, and write its index.

    The caller holds the `listing_lock`, and removes the journal when it does not need it any more.

    Args:
        lake: takes the index, and the copy if the export is packed.
        source: whose export.
        safe_point: called whenever the listed pages are on disk; it raises if the listing must stop.

    Returns:
        The listing. An export that breaks off gives the pages before the break, and the error.

    Raises:
        DumpError: the file is missing, no export, or broken before its first page.
    """
    path = Path(source.origin)
    with closing(read_chunks(path)) as chunks:
        next(chunks)  # a file that is no export must not delete an earlier listing
    mark = dump_mark(path)
    journal, state = _begin(lake, source, mark)
    with journal:
        if state.end is None:
            state = _Pass(path, journal, state, safe_point).run(lake.dump_copy(DUMP_INDEX, source.name))
    if load_index(lake, source) is None:
        rows = _index_rows(source, journal)
        write_stream(lake, DUMP_INDEX, source.name, rows, code_version=INDEX_VERSION, inputs={DUMP: mark})
    error = DumpError(path, **state.end) if state.end else None
    return DumpListing(journal, state.place.ordinal, error)


def usable_index(lake: Lake, source: Source) -> DumpIndex:
    """The index of a source's export, made again if it is missing or outdated, or its copy is not whole.

    Raises:
        DumpError: as for `list_dump`; or the export changes all the time.
    """
    index = load_index(lake, source)
    if index is not None:
        return index
    with listing_lock(lake, source):
        index = load_index(lake, source)
        if index is None:
            list_dump(lake, source).journal.remove()
            index = load_index(lake, source)
    if index is None:
        raise DumpError(Path(source.origin), "it changed while it was listed: wait until all of it is there")
    return index


def discard_copy(lake: Lake, source: Source, index: DumpIndex) -> None:
    """Remove a damaged copy of an export, so that it is made again.

    Args:
        lake: where the copy is.
        source: whose export.
        index: the index that was used. If the export was listed anew since then, nothing is removed.
    """
    with listing_lock(lake, source):
        now = load_index(lake, source)
        if now is not None and now.copy is not None and now.places.equals(index.places):
            now.copy.unlink()


@dataclass
class _State:
    """How far a listing has come.

    Attributes:
        place: where the next page starts; at the end of the listing, the end of the export.
        head_bytes: length of the text before the first page.
        last_title: title of the last page that was listed.
        end: None until the export was read to its end; then its problem, as arguments of DumpError.
    """

    place: Place = _START
    head_bytes: int = 0
    last_title: str | None = None
    end: dict[str, Any] | None = None


def _begin(lake: Lake, source: Source, mark: str) -> tuple[Journal, _State]:
    """The journal of a listing, and how far the listing has come."""
    path = lake.journal(DUMP_INDEX, source.name)
    marks = {DUMP: mark, "version": INDEX_VERSION}
    journal = listing_journal(path, marks)
    state = _state(journal)
    copy = lake.dump_copy(DUMP_INDEX, source.name)
    if not is_packed(Path(source.origin)):
        copy.unlink(missing_ok=True)
    elif state.place.file_offset > (copy.stat().st_size if copy.is_file() else 0):
        journal.remove()  # its copy was removed, or is damaged
        return listing_journal(path, marks), _State()
    return journal, state


def _state(journal: Journal) -> _State:
    state = _State()
    for record in journal.records():
        places = record.get("places")
        if places:
            state.head_bytes = state.head_bytes or places[0][1]
            state.place = Place(*places[-1])
        if record.get("titles"):
            state.last_title = record["titles"][-1]
        state.end = record.get("end", state.end)
    return state


def _index_rows(source: Source, journal: Journal) -> Iterator[Row]:
    for record in journal.records():
        for place in record.get("places", ()):
            yield {"source": source.name, **Place(*place)._asdict()}


class _Pass:
    """The reading of an export from a place to its end."""

    def __init__(self, path: Path, journal: Journal, state: _State, safe_point: Callable[[], object]) -> None:
        self._path, self._journal, self._begun_at = path, journal, state.place
        self._safe_point = safe_point
        left_out = state.place.unpacked_offset - state.head_bytes
        self._parser = PageParser(NO_PAGES, ordinal=state.place.ordinal, left_out=left_out)
        if state.place.file_offset:
            self._parser.feed(read_head(read_chunks(path), state.head_bytes))
        self._parser.last_title = state.last_title
        self._site: Site | None = None
        self._position = state.place.unpacked_offset
        self._next_place_at = self._position + _PLACE_SPACING_BYTES
        self._next_checkpoint_at = self._position + _CHECKPOINT_BYTES
        self._pages: list[ListedPage] = []
        self._places: list[Place] = []

    def run(self, copy: Path) -> _State:
        """Read to the end, and return the state there.

        Args:
            copy: where the copy is written if the export is packed.

        Raises:
            DumpError: the export breaks off before its first page.
        """
        problem: DumpError | None = None
        file_offset = self._begun_at.file_offset
        with CopyWriter(copy, file_offset) if is_packed(self._path) else Plain() as target:
            chunks = read_chunks(self._path, self._begun_at.unpacked_offset)
            try:
                for chunk in parse_pages(self._path, chunks, self._parser):
                    self._take(chunk, target)
            except DumpError as error:
                if not error.pages_read:
                    raise
                problem = error
            self._places.append(Place(self._parser.ordinal, self._position, target.cut(self._position)))
            target.sync()
        trouble = {name: getattr(problem, name) for name in _TROUBLE} if problem else {}
        self._record(len(self._pages), end=trouble)
        return _state(self._journal)

    def _take(self, chunk: bytes, target: CopyWriter | Plain) -> None:
        """Take in the parsed pages."""
        written = 0
        for start in self._parser.starts:
            at = start.offset - self._position
            if start.ordinal == 0:
                self._places.append(Place(0, start.offset, 0))
            elif at >= written and start.offset >= self._next_place_at:
                target.write(chunk[written:at])
                written = at
                self._places.append(Place(start.ordinal, start.offset, target.cut(start.offset)))
                self._next_place_at = start.offset + _PLACE_SPACING_BYTES
        target.write(chunk[written:])
        self._position += len(chunk)
        self._list_pages()
        if self._position >= self._next_checkpoint_at and self._places and self._places[-1].file_offset:
            target.sync()
            self._record(self._places[-1].ordinal - self._pages[0].ordinal)
            self._next_checkpoint_at = self._position + _CHECKPOINT_BYTES
            self._safe_point()

    def _list_pages(self) -> None:
        if self._parser.pages:
            site = self._site = self._site or site_rules(self._parser.site)
            self._pages += [listed_page(page, site) for page in self._parser.pages]
        self._parser.pages.clear()
        self._parser.starts.clear()

    def _record(self, count: int, **more: Any) -> None:
        """Record the first `count` pages, and the places from which they and the next ones can be read."""
        pages, self._pages = self._pages[:count], self._pages[count:]
        columns = {
            "titles": [page.title for page in pages],
            "namespaces": [page.namespace for page in pages],
            "revisions": [page.revision_id for page in pages],
        }
        first = pages[0].ordinal if pages else 0
        self._journal.append({"first": first, **columns, "places": self._places, **more})
        self._places = []


Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""A truth value for each title, in order."""


def winners(ranked_keys: Iterable[tuple[int, int]]) -> Mask:
    """Which of some listed keys count: for each key the one with the highest rank; of equal ranks the last.

    Args:
        ranked_keys: keys and ranks, both of 64 bits.

    Returns:
        A truth value for each given key, in order. While this runs, memory is 30 bytes a key, and 40 more for
        each key that is listed again.
    """
    keys, ranks = array("q"), array("q")
    for key, rank in ranked_keys:
        keys.append(key)
        ranks.append(rank)
    key_values, counts = np.asarray(keys), np.ones(len(keys), np.bool_)
    ordered = np.sort(key_values)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if len(repeated):
        places = np.flatnonzero(np.isin(key_values, repeated))
        found = key_values[places]
        order = np.lexsort((places, np.asarray(ranks)[places], found))
        is_last = np.append(found[order][1:] != found[order][:-1], True)
        counts[places[order[~is_last]]] = False
    return counts
