"""The state of a host that all processes of a machine share: a file, and slots for its requests.

Machines that share a lake share rows instead (`ServerState`). Locks of the operating system guard the
files: a killed process cannot leave one behind. Each request uses the state twice, so its file stays open and
is not renamed or synced.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.lake.files.durable import trouble_named
from holocron_assets.lake.shared.places import shared_server
from holocron_assets.lake.shared.sessions import Connection, DatabaseGoneError

_STATES = TypeAdapter(HostState)
_RECORD_BYTES = 4096
_LONGEST_NAME = 200  # of a host, in the name of its folder; file systems take 255 bytes in all


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
        """Use `number` slots in `folder`. Their files are open only while they are taken: hosts are many."""
        self._paths = [folder / f"slot-{n}.lock" for n in range(number)]
        self._taken: dict[int, int] = {}

    def take(self, first: int) -> int | None:
        """Take one of the slots below `first`; None if all are taken, here or in another process."""
        for number, path in enumerate(self._paths[:first]):
            if number not in self._taken and (file := _locked_at_once(path)) is not None:
                self._taken[number] = file
                return number
        return None

    def free(self, number: int) -> None:
        """Give a slot back."""
        file = self._taken.pop(number)
        fcntl.flock(file, fcntl.LOCK_UN)  # a child of this process may have the file open too
        os.close(file)

    def close(self) -> None:
        """Free the slots still taken."""
        for number in list(self._taken):
            self.free(number)


def folder_of(host: str, state_folder: Path) -> Path:
    """The folder of a host's state; it is inside `state_folder`, whatever the host's name is."""
    name = quote(host, safe="")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{blake2b(host.encode(), digest_size=16).hexdigest()}"
    return state_folder / f"host-{name}"


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


def _locked_at_once(path: Path) -> int | None:
    """The open file, with its lock; None if another has the lock."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


_READ = """
with made as (insert into holocron.hosts values (%s, '') on conflict do nothing)
select state, extract(epoch from clock_timestamp()) from holocron.hosts where host = %s
"""


class ServerState:
    """Like `shared_state.SharedState`: a host's state, for one reader or writer at a time on all machines."""

    def __init__(self, connection: Connection, host: str) -> None:
        """Open the state of a host; a new one knows nothing."""
        self._connection, self._host = connection, host
        # All threads of a session share one transaction.
        self._among_threads = threading.Lock()
        self._ask_for_state(locked=False)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other readers and writers out until the block ends."""
        with self._among_threads:
            self._connection.ask("begin")
            try:
                yield
            except BaseException:
                with suppress(DatabaseGoneError):  # then the server has already ended the transaction
                    self._connection.ask("rollback")
                raise
            self._connection.ask("commit")

    def read(self) -> HostState:
        """What is known of the host. Call it inside `locked`."""
        return from_json(self._ask_for_state(locked=True).encode())

    def write(self, state: HostState) -> None:
        """Replace what is known of the host. Call it inside `locked`."""
        sql = "update holocron.hosts set state = %s where host = %s"
        self._connection.ask(sql, [to_json(state).decode(), self._host])

    def now(self) -> float:
        """The time by the server's clock, in seconds since 1970."""
        return self._clock + monotonic() - self._clock_read_at

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def _ask_for_state(self, *, locked: bool) -> str:
        sql = f"{_READ} for update" if locked else _READ
        rows = self._connection.ask(sql, [self._host, self._host])
        if not rows:  # the statement does not see the row that it made itself
            rows = self._connection.ask(sql, [self._host, self._host])
        self._clock, self._clock_read_at = float(rows[0][1]), monotonic()
        return str(rows[0][0])


class ServerSlots:
    """Like `shared_state.Slots`: slots for requests under way, which a dead process cannot keep."""

    def __init__(self, connection: Connection, host: str, number: int) -> None:
        """Open `number` slots for requests to a host."""
        self._connection = connection
        self._keys = [_key(host, place) for place in range(number)]
        self._taken: set[int] = set()

    def take(self, first: int) -> int | None:
        """Take one of the slots below `first`; None if all are taken, here or on another machine."""
        for number, key in enumerate(self._keys[:first]):
            if number not in self._taken and self._take(key):
                self._taken.add(number)
                return number
        return None

    def free(self, number: int) -> None:
        """Give a slot back."""
        self._taken.discard(number)
        with suppress(DatabaseGoneError):  # then it is free
            self._connection.ask("select pg_advisory_unlock(%s)", [self._keys[number]])

    def close(self) -> None:
        """Forget the slots; those still taken become free when the session ends."""
        self._taken.clear()

    def _take(self, key: int) -> bool:
        return bool(self._connection.ask("select pg_try_advisory_lock(%s)", [key])[0][0])


def state_on_server(host: str) -> HostState | None:
    """What is known of a host where machines share a lake, only to be shown; None on a single machine."""
    connection = _reading_session()
    if connection is None:
        return None
    rows = connection.ask("select state from holocron.hosts where host = %s", [host])
    return from_json(rows[0][0].encode()) if rows else HostState()


@cache
def _reading_session() -> Connection | None:
    return shared_server()


def _key(host: str, place: int) -> int:
    digest = blake2b(f"slot {place} of {host}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
