"""Files that are named by their content, in the store that machines share.

The same name has the same bytes for ever, so no lock is needed, and no machine brings them before it wants
them. They lie beside the lake in the store: a listing of the lake would be long with them.
"""

import hashlib
import os
from pathlib import Path
from time import time

from holocron_assets.lake.place.unfinished import aside_of
from holocron_assets.lake.shared.objects import Objects

_PLACE = "objects"
_NS = 1_000_000_000
_YOUNG_SECONDS = 86_400.0


class SharedContents:
    """The shared files of one folder. Safe for threads and processes."""

    def __init__(self, objects: Objects, folder: Path) -> None:
        """Share the files of `folder`, without any request yet."""
        self._objects, self._folder = objects, folder

    def has(self, path: Path) -> bool:
        """Whether the store holds a file of the folder, whether or not it is here."""
        return self._objects.stored(self._name(path)) is not None

    def put(self, file: Path, path: Path) -> None:
        """Put a file into the store as `path`. One that is there is replaced: it may be damaged, or old.

        Raises:
            StoreError: the store did not take it.
        """
        self._objects.put(file, self._name(path))

    def bring(self, path: Path) -> None:
        """Bring a file, if the store holds it whole. Its name is the SHA-256 of its bytes."""
        aside = aside_of(path)
        aside.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._objects.get({self._name(path): aside})
            if aside.exists() and _sha256_of(aside) == path.name:
                aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)

    def keep_young(self, path: Path) -> None:
        """Put a file again that is here and is more than a day old in the store: it counts as new then."""
        stored = self._objects.stored(self._name(path))
        if path.is_file() and stored and time() - stored.mtime_ns / _NS > _YOUNG_SECONDS:
            self._objects.put(path, self._name(path))

    def remove(self, path: Path) -> None:
        """Remove a file from the store; one that is already gone is no error."""
        self._objects.remove([self._name(path)])

    def times(self) -> dict[Path, float]:
        """When each file was put into the store, in seconds since 1970."""
        start = f"{_PLACE}/{self._folder.name}"
        return {
            self._folder / os.path.relpath(name, start): stored.mtime_ns / _NS
            for name, stored in self._objects.list(start).items()
        }

    def _name(self, path: Path) -> str:
        return f"{_PLACE}/{path.relative_to(self._folder.parent).as_posix()}"


def _sha256_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
