"""The store of a shared lake: named objects, through fsspec. Only this module knows the kind of store.

A put happens whole or not at all, and every later listing shows it: every store that speaks S3 promises this.
Objects are never renamed, and nothing is appended to them.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from holocron_assets.errors import PermanentError, TransientError

_NS = 1_000_000_000
_VERSIONS = ("ETag", "etag", "md5Hash")
_MOMENTS = ("LastModified", "updated", "last_modified", "mtime", "created")


class StoreError(TransientError):
    """The store gave no answer, or refused. The same may work later."""


class Stored(NamedTuple):
    """One version of an object, as every machine sees it.

    Attributes:
        mtime_ns: when it was put, to the second; the rest is a number made from its content.
        size: its size in bytes.
    """

    mtime_ns: int
    size: int


class Objects:
    """The objects below one address of a store, such as `s3://bucket/prefix`.

    The store's library finds keys and endpoint by itself, for example in AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL.
    """

    def __init__(self, url: str) -> None:
        """Name the store without a request to it.

        Raises:
            PermanentError: the library of this kind of store is not installed.
        """
        try:
            import fsspec  # noqa: PLC0415 - only a shared lake needs it: extra `scale`

            options = {"auto_mkdir": True} if url.startswith("file:") else {}
            self._files, root = fsspec.core.url_to_fs(
                url, use_listings_cache=False, skip_instance_cache=True, **options
            )
        except ImportError as error:
            raise PermanentError(f"HOLOCRON_LAKE={url} needs extra `scale` ({error})") from error
        self.url = url
        self._root = str(root).rstrip("/")

    def list(self, folder: str) -> dict[str, Stored]:
        """The objects below a folder, by name."""
        with self._troubles_named():
            try:
                found: dict[str, dict[str, Any]] = self._files.find(self._at(folder), detail=True)
            except FileNotFoundError:
                return {}
        cut = len(self._root) + 1
        return {path[cut:]: _stored(info) for path, info in found.items()}

    def stored(self, name: str) -> Stored | None:
        """The present version of an object; None if it is not there."""
        with self._troubles_named():
            try:
                return _stored(self._files.info(self._at(name)))
            except FileNotFoundError:
                return None

    def put(self, file: Path, name: str) -> Stored:
        """Put a file's content under a name, and replace an earlier object."""
        with self._troubles_named():
            self._files.put_file(str(file), self._at(name))
            return _stored(self._files.info(self._at(name)))

    def write(self, content: bytes, name: str) -> None:
        """Put some bytes under a name, and replace an earlier object."""
        with self._troubles_named():
            self._files.pipe_file(self._at(name), content)

    def get(self, wanted: Mapping[str, Path]) -> None:
        """Copy objects to files, many at once. An object that is gone gives no file."""
        if not wanted:
            return
        with self._troubles_named():
            try:
                self._files.get([self._at(name) for name in wanted], [str(path) for path in wanted.values()])
            except FileNotFoundError:
                for name, path in wanted.items():
                    self._get_if_there(name, path)

    def read(self, name: str) -> bytes | None:
        """The content of a small object; None if it is not there."""
        with self._troubles_named():
            try:
                return bytes(self._files.cat_file(self._at(name)))
            except FileNotFoundError:
                return None

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; an object that is already gone is no error."""
        with self._troubles_named():
            for name in names:
                try:
                    self._files.rm_file(self._at(name))
                except FileNotFoundError:
                    continue

    def _get_if_there(self, name: str, path: Path) -> None:
        try:
            self._files.get_file(self._at(name), str(path))
        except FileNotFoundError:
            path.unlink(missing_ok=True)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    @contextmanager
    def _troubles_named(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, StoreError):
            raise
        except Exception as error:  # each store's library has errors of its own
            raise StoreError(f"{self.url} cannot be used now ({type(error).__name__}: {error})") from error


def _stored(info: Mapping[str, Any]) -> Stored:
    moment = next((info[key] for key in _MOMENTS if info.get(key) is not None), 0)
    seconds = moment.astimezone(UTC).timestamp() if isinstance(moment, datetime) else float(moment)
    version = next((str(info[key]) for key in _VERSIONS if info.get(key)), str(moment))
    # A listing gives the time more exactly than an answer about one object: only the seconds are the same.
    mtime_ns = int(seconds) * _NS + zlib.crc32(version.strip('"').encode()) % _NS
    return Stored(mtime_ns, int(info["size"]))
