"""What all processes of a machine share about one host: a file of its state, and slots for its requests.

Machines that share a lake share rows instead (`server_state.py`). Locks of the operating system guard the
files: a killed process cannot leave one behind. Each request uses the files twice, so they stay open and
are not renamed or synced.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.lake.files.durable import trouble_named

_STATES = TypeAdapter(HostState)
_RECORD_BYTES = 4096


class SharedState:
    """The state of one host, for one reader or writer at a time on the whole machine."""

    def __init__(self, folder: Path) -> None:
        """Open the state in `folder`; a new one knows nothing."""
        self._path = folder / "state.json"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT)
        # All threads of a process share the file's lock.
        self._among_threads = threading.Lock()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other readers and writers out until the block ends."""
        with self._among_threads:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def read(self) -> HostState:
        """What is known of the host. Call it inside `locked`."""
        return from_json(os.pread(self._file, _RECORD_BYTES, 0))

    def write(self, state: HostState) -> None:
        """Replace what is known of the host. Call it inside `locked`.

        All records have the same length and are written in one piece: a kill leaves the old or the new one.
        """
        with trouble_named(self._path):
            os.pwrite(self._file, to_json(state).ljust(_RECORD_BYTES), 0)

    def now(self) -> float:
        """The time by this machine's clock, in seconds since 1970."""
        return time.time()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Slots:
    """Slots for requests under way. Safe to use from several threads inside `SharedState.locked`."""

    def __init__(self, folder: Path, number: int) -> None:
        """Open `number` slots in `folder`."""
        self._files = [os.open(folder / f"slot-{n}.lock", os.O_RDWR | os.O_CREAT) for n in range(number)]
        self._taken: set[int] = set()

    def take(self, first: int) -> int | None:
        """Take one of the slots below `first`; None if all are taken, here or in another process."""
        for number, file in enumerate(self._files[:first]):
            if number not in self._taken and _lock_at_once(file):
                self._taken.add(number)
                return number
        return None

    def free(self, number: int) -> None:
        """Give a slot back."""
        fcntl.flock(self._files[number], fcntl.LOCK_UN)
        self._taken.discard(number)

    def close(self) -> None:
        """Close the files, which frees the slots still taken."""
        for file in self._files:
            os.close(file)


def folder_of(host: str, state_folder: Path) -> Path:
    """The folder of a host's state; it is inside `state_folder`, whatever the host's name is."""
    return state_folder / f"host-{quote(host, safe='')}"


def read_state(folder: Path) -> HostState:
    """What is known of the host of a folder. It makes no folder: without a folder, nothing is known."""
    try:
        with (folder / "state.json").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return from_json(file.read())
    except FileNotFoundError:
        return HostState()


def to_json(state: HostState) -> bytes:
    """A host's state, as it is stored."""
    return _STATES.dump_json(state)


def from_json(record: bytes) -> HostState:
    """A host's state from a stored record; an empty state if the record cannot be read."""
    try:
        # A record of an earlier version lacks newer fields; these take their defaults.
        return _STATES.validate_json(record)
    except ValidationError:
        # A damaged file may cost one request that comes too early; refusing to start would cost a person's
        # time.
        return HostState()


def _lock_at_once(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
