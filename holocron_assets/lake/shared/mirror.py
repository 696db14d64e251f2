"""A machine's mirror of a shared lake: the data folder, from which all of Holocron reads as usual.

Files are written to the store first, and then to the mirror. Files of other machines are brought when a
folder is read, by a listing that is at most a second old and never older than the last lock that was taken.
So the holder of a lock sees everything that was written under it before, on any machine.

A mirrored file's time is made from the store's facts about its object. So it is the same on all machines, and
machines with the same files give the same marks. A mirror can be removed at any time; it is brought again.
"""

import fcntl
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic

from holocron_assets.lake.files.damage import DATA_FILE, PACK_FOLDER
from holocron_assets.lake.place.presence import MARKER, FolderGoneError
from holocron_assets.lake.place.unfinished import aside_of
from holocron_assets.lake.shared.contents import SharedContents
from holocron_assets.lake.shared.objects import Objects, Stored
from holocron_assets.lake.shared.segments import is_segment
from holocron_assets.lake.shared.server_locks import ServerLock
from holocron_assets.lake.shared.server_notes import ServerNote
from holocron_assets.lake.shared.sessions import Session

LAYERS, QUARANTINE = "lake", "quarantine"
_PARTS_OF_A_TABLE = 3  # lake/<layer>/<table>
_JOURNALS = "journal"
_OLDEST_LISTING_SECONDS = 1.0
_UNCOUNTED_WRITE_SECONDS = 60.0
"""If a machine dies between a write and its count, a listing finds the write after this time."""


@dataclass
class _Listed:
    """A folder as this process last listed it.

    Attributes:
        at: when it was last known to be current.
        listed_at: when it was listed in the store.
        number: how often its table had been written to by then.
        files: the files in the listing.
    """

    at: float = -1e9
    listed_at: float = -1e9
    number: int = -1
    files: Mapping[str, Stored] = field(default_factory=dict)


class Mirror:
    """The data folder of one machine, for a lake that several machines share. Safe for threads and processes.

    Attributes:
        root: the data folder.
        session: the session with the server that machines share.
    """

    def __init__(self, root: Path, objects: Objects, session: Session) -> None:
        """Mirror a store in a data folder, without any request yet."""
        self.root, self.session = root, session
        self._objects = objects
        self._listings: dict[str, _Listed] = {}
        self._marking = threading.Lock()
        self._anew_at = 0.0
        self._writes: dict[str, int] = {}
        self._writes_at = -1e9
        self._is_known = False

    @property
    def url(self) -> str:
        """The store's address."""
        return self._objects.url

    def probe(self) -> None:
        """Write a small object to the store and remove it, to see how long that takes.

        Raises:
            StoreError: the store gives no answer.
        """
        name = f"probes/{uuid.uuid4().hex}"
        self._objects.write(b"probe", name)
        self._objects.remove([name])

    def lock(self, name: str, *, timeout: float = -1, blocking: bool = True) -> ServerLock:
        """A lock between machines. After it is taken, folders are listed anew."""
        return _FreshLock(self, name, timeout=timeout, blocking=blocking)

    def note(self, name: str) -> ServerNote:
        """A note that all machines see."""
        return ServerNote(self.session, name)

    @contextmanager
    def holding(self, folder: Path) -> Iterator[None]:
        """Hold a folder of the lake on all machines."""
        with ServerLock(self.session, f"folder {self._name(folder)}"):
            yield

    def read_anew(self) -> None:
        """Let the next reading of each folder see everything that was written before now."""
        with self._marking:  # so that a later time of another thread stays
            self._anew_at = monotonic()

    def bring_up_to_date(self, folder: Path) -> None:
        """Bring new files of a folder of the lake, and remove files that are gone; also in subfolders.

        Raises:
            StoreError: the store gives no answer.
            FolderGoneError: the store holds another lake than this mirror, or no lake any more.
        """
        self.recognise()
        table = self._table_of(folder)
        whole = self._listings.get(table)
        scope = table if whole else self._name(folder)
        known = self._listings.get(scope, _Listed())
        if known.at >= self._anew_at and monotonic() - known.at < _OLDEST_LISTING_SECONDS:
            return
        at, number = monotonic(), self._written(table)
        if number != known.number or at - known.listed_at > _UNCOUNTED_WRITE_SECONDS:
            with self._alone(table, fcntl.LOCK_EX):
                here = self._here(scope)  # before the list: files put in between are not gone
                files = self._objects.list(scope)
                self._bring(known, files, here)
            known = _Listed(at, at, number, files)
        known.at = at
        self._listings[scope] = known

    @contextmanager
    def publishing(self, aside: Path, target: Path) -> Iterator[None]:
        """Put a complete file into the store as `target`; the block puts it into the mirror.

        Raises:
            LocksLostError: others may work on the same files by now. Nothing was put.
            StoreError: the store did not take it.
        """
        self.recognise()
        with self._alone(self._table_of(target), fcntl.LOCK_SH):
            self.session.refuse_if_lost()
            stored = self._objects.put(aside, self._name(target))
            os.utime(aside, ns=(stored.mtime_ns, stored.mtime_ns))
            yield
        self.session.count_write(self._table_of(target))

    @contextmanager
    def moving(self, file: Path, target: Path) -> Iterator[None]:
        """Rename a file in the store, by putting it under the new name; the block renames it in the mirror.

        Raises:
            LocksLostError, StoreError: as for `publishing`.
        """
        with self.publishing(file, target), self._alone(self._table_of(file), fcntl.LOCK_SH):
            self._objects.remove([self._name(file)])
            yield
        self.session.count_write(self._table_of(file))

    @contextmanager
    def publishing_grown(self, content: bytes, target: Path) -> Iterator[None]:
        """Put the next content of a growing file into the store; the block writes it in the mirror.

        The file keeps its time in the mirror, which other machines do not see.

        Raises:
            LocksLostError, StoreError: as for `publishing`.
        """
        self.recognise()
        with self._alone(self._table_of(target), fcntl.LOCK_SH):
            self.session.refuse_if_lost()
            self._objects.write(content, self._name(target))
            yield
        self.session.count_write(self._table_of(target))

    def remove(self, *files: Path) -> None:
        """Remove files from the store, and then from the mirror.

        Raises:
            LocksLostError: others may work on the same files by now. Nothing was removed.
        """
        for table in {self._table_of(file) for file in files}:
            with self._alone(table, fcntl.LOCK_SH):
                self.session.refuse_if_lost()
                of_table = [file for file in files if self._table_of(file) == table]
                self._objects.remove(map(self._name, of_table))
                for file in of_table:
                    file.unlink(missing_ok=True)
            self.session.count_write(table)

    def bring_again(self, file: Path) -> None:
        """Bring one file from the store again, in place of the mirror's file."""
        self._bring_one(file, lambda _: True)

    def bring_if_new(self, file: Path) -> None:
        """Bring one file from the store, if it has another version; remove the mirror's if it has none."""
        self._bring_one(file, partial(_differs, file))

    def _bring_one(self, file: Path, is_wanted: Callable[[Stored], bool]) -> None:
        with self._alone(self._table_of(file), fcntl.LOCK_EX):
            name = self._name(file)
            stored = self._objects.list(self._name(file.parent)).get(name)
            if stored is None:
                file.unlink(missing_ok=True)
            elif is_wanted(stored):
                self._get({name: stored})

    def contents(self, folder: Path) -> SharedContents:
        """The files of a folder that are named by their content, as all machines share them.

        Raises:
            FolderGoneError: the store holds another lake than this mirror, or no lake any more.
        """
        self.recognise()
        return SharedContents(self._objects, folder)

    def holds(self, path: Path) -> bool:
        """Whether a path is in a mirrored part of the data folder."""
        return any(self.root / part in (path, *path.parents) for part in (LAYERS, QUARANTINE))

    def is_mirrored(self, file: Path) -> bool:
        """Whether all machines see a file of the data folder; other files are one machine's own."""
        if file.name.startswith("."):
            return file == self.root / LAYERS / MARKER
        is_kept = self.root / QUARANTINE in file.parents or file.parent.name == PACK_FOLDER
        return is_kept or file.name == DATA_FILE or file.name.startswith(_JOURNALS)

    def _written(self, table: str) -> int:
        """How often a table, or all tables of a folder, were written to, by the counts of the server."""
        if self._writes_at < self._anew_at or monotonic() - self._writes_at > _OLDEST_LISTING_SECONDS:
            at, writes = monotonic(), self.session.writes()
            with self._marking:  # the time last: threads that find it new use the counts of that time
                if at > self._writes_at:
                    self._writes, self._writes_at = writes, at
        below = f"{table}/"
        return sum(n for folder, n in self._writes.items() if folder == table or folder.startswith(below))

    def _bring(self, before: _Listed, files: Mapping[str, Stored], here: Iterable[str]) -> None:
        """Bring files that differ, and only then remove files that are gone: they may be in a pack now."""
        self._get(
            {
                name: stored
                for name, stored in files.items() - before.files.items()
                if self.is_mirrored(self.root / name) and _differs(self.root / name, stored)
            }
        )
        for name in here:  # also files of other processes, which no listing of this one had
            if name not in files and self.is_mirrored(self.root / name):
                (self.root / name).unlink(missing_ok=True)

    def _get(self, wanted: Mapping[str, Stored]) -> None:
        asides = {name: aside_of(self.root / name) for name in wanted}
        for aside in asides.values():
            aside.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._objects.get(asides)
            for name, aside in asides.items():
                if aside.exists():  # otherwise it was removed since it was listed
                    os.utime(aside, ns=(wanted[name].mtime_ns, wanted[name].mtime_ns))
                    aside.replace(self.root / name)
        finally:
            for aside in asides.values():
                aside.unlink(missing_ok=True)

    def _here(self, scope: str) -> list[str]:
        """Names of the files that are in a folder of the mirror."""
        folder = str(self.root / scope)
        start = len(folder) - len(scope)
        return [f"{at[start:]}/{name}" for at, _, names in os.walk(folder) for name in names]

    def recognise(self) -> None:
        """Check that the store holds the lake that is mirrored here; bring the marker of a new lake.

        Raises:
            FolderGoneError: the store holds another lake, or no lake any more.
        """
        if self._is_known:
            return
        marker = self.root / LAYERS / MARKER
        here = marker.read_bytes() if marker.is_file() else None
        there = self._objects.read(self._name(marker))
        if here is not None and here != there:
            what = "holds no lake any more" if there is None else "holds another lake by now"
            raise FolderGoneError(
                f"{self._objects.url} {what}, and {self.root} mirrors one. Nothing is written until it is "
                "as it was. To work on the store's lake, remove the mirror's folders `lake` and `quarantine`"
            )
        if there is not None and here is None:
            aside = aside_of(marker)
            aside.parent.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(there)
            aside.replace(marker)
        self._is_known = there is not None

    def _table_of(self, path: Path) -> str:
        """The folder of the table that a path is in; for a path above all tables, the path itself."""
        parts = path.relative_to(self.root).parts
        return "/".join(parts[:1] if parts[0] == QUARANTINE else parts[:_PARTS_OF_A_TABLE])

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def _alone(self, table: str, how: int) -> Iterator[None]:
        """Lock a table on this machine: exclusively to bring its files, shared to write to it."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        opened = os.open(folder / f"mirror-{table.replace('/', '-')}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(opened, how)
            yield
        finally:
            os.close(opened)


class _FreshLock(ServerLock):
    """A lock after which all folders are listed anew."""

    def __init__(self, mirror: Mirror, name: str, *, timeout: float, blocking: bool) -> None:
        super().__init__(mirror.session, name, timeout=timeout, blocking=blocking)
        self._mirror = mirror

    def acquire(self, timeout: float | None = None, *, blocking: bool | None = None) -> "_FreshLock":
        super().acquire(timeout, blocking=blocking)
        self._mirror.read_anew()
        return self


def _differs(path: Path, stored: Stored) -> bool:
    """Whether a file of the mirror differs from the one in the store."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return True
    if is_segment(path):  # it only grows, and its writer gives it a time of its own
        return status.st_size < stored.size
    return (status.st_mtime_ns, status.st_size) != stored
