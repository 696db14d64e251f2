"""What all machines that share a lake share about one host: a row of its state, and slots for its requests.

The server's clock is the one that counts: those of machines differ, and a host's state is about moments.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from time import monotonic

from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.shared_state import from_json, to_json
from holocron_assets.lake.shared.places import shared_server
from holocron_assets.lake.shared.sessions import Connection, DatabaseGoneError

_READ = """
with made as (insert into holocron.hosts values (%s, '') on conflict do nothing)
select state, extract(epoch from clock_timestamp()) from holocron.hosts where host = %s
"""


class ServerState:
    """As `shared_state.SharedState`: the state of one host, for one reader or writer at a time anywhere."""

    def __init__(self, connection: Connection, host: str) -> None:
        """Open the state of a host; a new one knows nothing."""
        self._connection, self._host = connection, host
        # A transaction is one for all threads of a session.
        self._among_threads = threading.Lock()
        self._ask_for_state(locked=False)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all others out until the block ends."""
        with self._among_threads:
            self._connection.ask("begin")
            try:
                yield
            except BaseException:
                with suppress(DatabaseGoneError):  # then the server has done so itself
                    self._connection.ask("rollback")
                raise
            self._connection.ask("commit")

    def read(self) -> HostState:
        """What is known of the host. To be called inside `locked`."""
        return from_json(self._ask_for_state(locked=True).encode())

    def write(self, state: HostState) -> None:
        """Replace what is known of the host. To be called inside `locked`."""
        sql = "update holocron.hosts set state = %s where host = %s"
        self._connection.ask(sql, [to_json(state).decode(), self._host])

    def now(self) -> float:
        """The moment by the server's clock, in seconds since 1970."""
        return self._clock + monotonic() - self._clock_read_at

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def _ask_for_state(self, *, locked: bool) -> str:
        sql = f"{_READ} for update" if locked else _READ
        rows = self._connection.ask(sql, [self._host, self._host])
        if not rows:  # made just now, and so not seen by the same statement
            rows = self._connection.ask(sql, [self._host, self._host])
        self._clock, self._clock_read_at = float(rows[0][1]), monotonic()
        return str(rows[0][0])


class ServerSlots:
    """As `shared_state.Slots`: places for requests in flight, which a dead process cannot keep."""

    def __init__(self, connection: Connection, host: str, number: int) -> None:
        """Open so many places for requests to a host."""
        self._connection = connection
        self._keys = [_key(host, place) for place in range(number)]
        self._taken: set[int] = set()

    def take(self, first: int) -> int | None:
        """Take one of the first so many places; None if all are taken, here or elsewhere."""
        for number, key in enumerate(self._keys[:first]):
            if number not in self._taken and self._take(key):
                self._taken.add(number)
                return number
        return None

    def free(self, number: int) -> None:
        """Give a place back."""
        self._taken.discard(number)
        with suppress(DatabaseGoneError):  # then it is free
            self._connection.ask("select pg_advisory_unlock(%s)", [self._keys[number]])

    def close(self) -> None:
        """Forget the places; with the session, those still taken are free."""
        self._taken.clear()

    def _take(self, key: int) -> bool:
        return bool(self._connection.ask("select pg_try_advisory_lock(%s)", [key])[0][0])


def state_on_server(host: str) -> HostState | None:
    """What is known of a host where machines share a lake, to look at; None on a machine of its own."""
    connection = _looking()
    if connection is None:
        return None
    rows = connection.ask("select state from holocron.hosts where host = %s", [host])
    return from_json(rows[0][0].encode()) if rows else HostState()


@cache
def _looking() -> Connection | None:
    return shared_server()


def _key(host: str, place: int) -> int:
    digest = blake2b(f"slot {place} of {host}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
