"""Places in an export from which reading can start, so that a batch is read without the pages before it."""

import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from holocron_assets.crawl.dumps.export import DumpPage, wanted_pages
from holocron_assets.crawl.dumps.parser import PageParser
from holocron_assets.crawl.dumps.stream import is_packed, read_chunks, read_frames, read_head
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.durable import make_folder, sync_folder
from holocron_assets.lake.files.parquet import read_footer, read_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DUMP_INDEX

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
    """A mark of one version of an export's file: its size and time of change, if the file is there."""
    status = path.stat() if path.is_file() else None
    return f"{status.st_size}-{status.st_mtime_ns}" if status else NO_DUMP


def load_index(lake: Lake, source: Source) -> DumpIndex | None:
    """The index of a source's current export; None if there is none, or if the copy is not whole."""
    path = Path(source.origin)
    footer = read_footer(lake, DUMP_INDEX, source.name)
    if footer is None or footer.code_version != INDEX_VERSION or footer.inputs.get(DUMP) != dump_mark(path):
        return None
    copy = lake.dump_copy(DUMP_INDEX, source.name) if is_packed(path) else None
    index = DumpIndex(path, copy, read_table(lake, DUMP_INDEX, source.name))
    return index if index.is_whole else None
