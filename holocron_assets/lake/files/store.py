"""The store of bytes by their content: a file is named by its SHA-256, and is whole or absent."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from time import time

from holocron_assets.lake.files.damage import SHA256
from holocron_assets.lake.files.durable import make_folder, sync_folder, trouble_named
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.places import mirror_of


class FileStore:
    """The objects of a lake. Safe for threads and processes.

    Where machines share the lake, an object is put into the store that they share before it is here, under
    the same name; `bring` fetches one that another machine put.
    """

    def __init__(self, lake: Lake) -> None:
        """Open the store of `lake`, without making a folder."""
        self.folder = lake.objects
        self.parts = lake.parts
        mirror = mirror_of(lake.root)
        self._shared = mirror.contents(self.folder) if mirror else None

    def path(self, sha256: str) -> Path:
        """Where the bytes with this SHA-256 are, or would be.

        Raises:
            ValueError: the text is no SHA-256, so it could lead outside the store.
        """
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256[:100]!r} is no SHA-256: 64 hexadecimal digits, in small letters")
        return self.folder.joinpath(sha256[:2], sha256)

    def has(self, sha256: str) -> bool:
        """Whether the bytes are here, or in the store that machines share."""
        if not SHA256.fullmatch(sha256):
            return False
        path = self.path(sha256)
        return path.is_file() or (self._shared is not None and self._shared.has(path))

    def bring(self, sha256: str) -> Path:
        """The path of bytes that are here after the call.

        Raises:
            FileNotFoundError: no machine has them whole. Fetch the artifact again.
        """
        path = self.path(sha256)
        if not path.is_file() and self._shared is not None:
            self._shared.bring(path)
        if not path.is_file():
            raise FileNotFoundError(f"no object {sha256} is in {self.folder}: fetch its artifact again")
        return path

    def adopt(self, aside: Path, sha256: str) -> Path:
        """Make a complete, synced file an object. After the call a crash cannot lose it.

        An object that is there is replaced by the same bytes: it may be damaged, and is young again.

        Args:
            aside: the file, on the store's disk.
            sha256: the hash of its bytes, which the caller has computed.
        """
        path = self.path(sha256)
        folder = path.parent
        make_folder(folder)
        if self._shared is not None:
            self._shared.put(aside, path)
        with trouble_named(path):
            aside.replace(path)
            sync_folder(folder)
        return path

    def keep_young(self, sha256: str) -> None:
        """Note that an object is about to be named by a row, so that nobody removes it as unnamed."""
        path = self.path(sha256)
        with suppress(FileNotFoundError):
            os.utime(path)
        if self._shared is not None:
            self._shared.keep_young(path)

    def unnamed(self, named: Collection[str], older_than: timedelta) -> list[Path]:
        """Objects that no row names, and parts of files that nobody finished, if they are old enough.

        Args:
            named: the SHA-256 of all objects that rows name.
            older_than: younger ones may belong to rows that are still being written.
        """
        before = time() - older_than.total_seconds()
        objects = {path: at for path, at in self._objects().items() if path.name not in named}
        found = objects | _times(self.parts.glob("*"))
        return sorted(path for path, changed_at in found.items() if changed_at < before)

    def remove_unnamed(self, named: Collection[str], older_than: timedelta) -> int:
        """Remove what `unnamed` finds, and return how many bytes that freed on this machine."""
        freed = 0
        for path in self.unnamed(named, older_than):
            with suppress(FileNotFoundError):
                freed += path.stat().st_size
            if self._shared is not None and path.is_relative_to(self.folder):
                self._shared.remove(path)
            path.unlink(missing_ok=True)
        return freed

    def _objects(self) -> dict[Path, float]:
        """When each object was stored, in seconds since 1970; in a shared store, as all machines see it."""
        here = _times(path for path in self.folder.glob("??/*") if SHA256.fullmatch(path.name))
        return here | (self._shared.times() if self._shared is not None else {})


def _times(paths: Iterable[Path]) -> dict[Path, float]:
    times = {}
    for path in paths:
        with suppress(FileNotFoundError):  # it was finished or removed meanwhile
            times[path] = path.stat().st_mtime
    return times
