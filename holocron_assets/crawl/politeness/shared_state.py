"""What all processes of a machine share about one host: a file of its state, and slots for its requests.

Machines that share a lake share rows instead (`server_state.py`). The files are guarded by locks of the
operating system, which a killed process cannot leave behind. A request
passes here twice, so nothing is opened, renamed or synced for it.
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
        # The file's lock is one for all threads of a process.
        self._among_threads = threading.Lock()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all others out until the block ends."""
        with self._among_threads:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def read(self) -> HostState:
        """What is known of the host. To be called inside `locked`."""
        return from_json(os.pread(self._file, _RECORD_BYTES, 0))

    def write(self, state: HostState) -> None:
        """Replace what is known of the host. To be called inside `locked`.

        Records are equally long and written in one piece: a kill leaves the old one or the new one.
        """
        with trouble_named(self._path):
            os.pwrite(self._file, to_json(state).ljust(_RECORD_BYTES), 0)

    def now(self) -> float:
        """The moment by this machine's clock, in seconds since 1970."""
        return time.time()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Slots:
    """Places for requests in flight. Safe to use from several threads inside `SharedState.locked`."""

    def __init__(self, folder: Path, number: int) -> None:
        """Open so many places in `folder`."""
        self._files = [os.open(folder / f"slot-{n}.lock", os.O_RDWR | os.O_CREAT) for n in range(number)]
        self._taken: set[int] = set()

    def take(self, first: int) -> int | None:
        """Take one of the first so many places; None if all are taken, here or in another process."""
        for number, file in enumerate(self._files[:first]):
            if number not in self._taken and _lock_at_once(file):
                self._taken.add(number)
                return number
        return None

    def free(self, number: int) -> None:
        """Give a place back."""
        fcntl.flock(self._files[number], fcntl.LOCK_UN)
        self._taken.discard(number)

    def close(self) -> None:
        """Close the files; places still taken are free."""
        for file in self._files:
            os.close(file)


def folder_of(host: str, state_folder: Path) -> Path:
    """The folder of what is known of a host; its name stays inside `state_folder`, whatever the host's is."""
    return state_folder / f"host-{quote(host, safe='')}"


def read_state(folder: Path) -> HostState:
    """What is known of the host of a folder. Nothing is made: where there is no folder, nothing is known."""
    try:
        with (folder / "state.json").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return from_json(file.read())
    except FileNotFoundError:
        return HostState()


def to_json(state: HostState) -> bytes:
    """A host's state, as it is kept."""
    return _STATES.dump_json(state)


def from_json(record: bytes) -> HostState:
    """A host's state, from what was kept; one that knows nothing, if that cannot be read."""
    try:
        # Of an earlier version, it lacks what is new and takes the defaults.
        return _STATES.validate_json(record)
    except ValidationError:
        # A damaged file costs a request too early; refusing to start would cost a person's time.
        return HostState()


def _lock_at_once(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
