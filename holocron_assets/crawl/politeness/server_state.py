"""What machines that share a lake share about one host: a row of its state, and slots for its requests.

Only the server's clock counts: the clocks of machines differ, and a host's state holds times.
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
