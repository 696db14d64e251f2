"""Making an export readable from its middle. A plain one already is; of a packed one a copy is written."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from holocron_assets.lake.files.durable import make_folder, sync_folder

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
