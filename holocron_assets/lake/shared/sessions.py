"""A session with PostgreSQL: locks between machines, counts of writes, and notes.

Locks are the server's advisory locks. They are free as soon as the session ends, even if its process was
killed or its machine was silent for half a minute (for a minute, if it waited for an answer).
"""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from holocron_assets.errors import PermanentError, TransientError

_TABLES = """
create schema if not exists holocron;
create table if not exists holocron.writes (lake text, folder text, number bigint not null,
    primary key (lake, folder));
create table if not exists holocron.notes (lake text, name text, note text not null,
    number bigint generated always as identity, primary key (lake, name));
create table if not exists holocron.hosts (host text primary key, state text not null);
"""
# Keepalives notice a silent peer only while nothing that was sent waits to be acknowledged. Otherwise the
# user timeout counts, and without one a quarter of an hour. A Unix socket ignores all of these.
_SILENCE = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_SERVER_SILENCE = (
    "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4; "
    "set tcp_user_timeout = 30000"
)
_NO_ADDRESS = (
    "HOLOCRON_POSTGRES_URL is no address of a database; it must be one like "
    "postgresql://user:password@host:5432/holocron, with %25 for a % of the password"
)
_SETTING_UP = 4_851_090_274_001


class DatabaseGoneError(TransientError):
    """PostgreSQL gives no answer. The same may work later."""


class LocksLostError(DatabaseGoneError):
    """The session that held this process's locks has ended, and others may hold them by now."""


class Connection:
    """One session with the server; every statement is a transaction of its own. Safe for threads.

    Attributes:
        number: the session's number: a new session after an ended one has a new number.
    """

    def __init__(self, address: str | None) -> None:
        """Name the server without connecting.

        Args:
            address: as in HOLOCRON_POSTGRES_URL.

        Raises:
            PermanentError: there is no address.
        """
        if not address:
            raise PermanentError(
                "HOLOCRON_LAKE needs HOLOCRON_POSTGRES_URL too: machines that share a lake lock it there"
            )
        scheme, _, rest = address.partition("://")
        self._address = f"{scheme.partition('+')[0]}://{rest}"
        self._alone = threading.RLock()
        self._opened: Any = None
        self._process = 0
        self.number = 0

    @property
    def alone(self) -> threading.RLock:
        """A lock that keeps other threads from using the session."""
        return self._alone

    def ask(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows that a statement gives. The first statement connects.

        Raises:
            DatabaseGoneError: the server is gone, or the session has ended. The next statement connects anew.
        """
        import psycopg2  # noqa: PLC0415 - only a shared lake needs it

        with self._alone:
            try:
                with self._connected().cursor() as cursor:
                    cursor.execute(sql, tuple(values))
                    return list(cursor.fetchall()) if cursor.description else []
            except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
                self.close()
                raise DatabaseGoneError(f"PostgreSQL gives no answer: {str(error).strip()}") from error

    def close(self) -> None:
        """End the session; its locks are free."""
        with self._alone:
            if self._opened is not None and self._process == os.getpid():
                self._opened.close()
            self._opened = None

    @property
    def is_open(self) -> bool:
        """Whether this process has a session."""
        return self._opened is not None and self._process == os.getpid()

    def _connected(self) -> Any:
        import psycopg2  # noqa: PLC0415 - the same

        if not self.is_open:
            # A session from before a fork belongs to the parent.
            try:
                self._opened = psycopg2.connect(
                    self._address, application_name=f"holocron {os.getpid()}", **_SILENCE
                )
            except psycopg2.ProgrammingError:
                raise PermanentError(_NO_ADDRESS) from None  # it would show the address
            self._process, self.number = os.getpid(), self.number + 1
            self._opened.autocommit = True
            with self._opened.cursor() as cursor:
                cursor.execute(_SERVER_SILENCE)
                cursor.execute(f"select pg_advisory_lock({_SETTING_UP})")
                cursor.execute("set client_min_messages = warning")
                cursor.execute(_TABLES)
                cursor.execute(f"select pg_advisory_unlock({_SETTING_UP})")
        return self._opened


class Session:
    """Locks, counts and notes that the processes of one lake share. Safe for threads."""

    def __init__(self, address: str | None, lake: str) -> None:
        """Name the server and the lake, without connecting.

        Raises:
            PermanentError: no server is named.
        """
        self.connection = Connection(address)
        self._lake = lake
        self._held: dict[str, int] = {}
        """The session in which each lock was taken."""
        self._process = os.getpid()

    def try_lock(self, name: str) -> bool:
        """Take a lock if no process has it, here or on another machine.

        Raises:
            LocksLostError: this process has lost locks. It gets no lock before it has released all of them.
        """
        with self.connection.alone:
            self.refuse_if_lost()
            # The server would give a session the same lock twice.
            if name in self._held_here():
                return False
            got = bool(self.connection.ask("select pg_try_advisory_lock(%s)", [self._key(name)])[0][0])
            if got:
                self._held_here()[name] = self.connection.number
            return got

    def unlock(self, name: str) -> None:
        """Release a lock; a lock that was lost with its session is only forgotten."""
        with self.connection.alone:
            number = self._held_here().pop(name, None)
            if self.connection.is_open and number == self.connection.number:
                with suppress(DatabaseGoneError):  # then the lock is free
                    self.connection.ask("select pg_advisory_unlock(%s)", [self._key(name)])

    def refuse_if_lost(self) -> None:
        """Raise LocksLostError if this process took locks in a session that has ended."""
        with self.connection.alone:
            held = self._held_here()
            if not held:
                return
            if not self.connection.is_open or {*held.values()} != {self.connection.number}:
                raise self._lost()
            try:
                self.connection.ask("select 1")
            except DatabaseGoneError as error:
                raise self._lost() from error

    def writes(self) -> dict[str, int]:
        """How often each folder of the lake was written to."""
        sql = "select folder, number from holocron.writes where lake = %s"
        return {str(folder): int(number) for folder, number in self.connection.ask(sql, [self._lake])}

    def count_write(self, folder: str) -> None:
        """Count a write to a folder, so that other machines see it."""
        self.connection.ask(
            "insert into holocron.writes as w values (%s, %s, 1) "
            "on conflict (lake, folder) do update set number = w.number + 1",
            [self._lake, folder],
        )

    def note(self, name: str) -> tuple[str, int] | None:
        """A note's text, and the number of this version; None if there is no note."""
        sql = "select note, number from holocron.notes where lake = %s and name = %s"
        rows = self.connection.ask(sql, [self._lake, name])
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def write_note(self, name: str, text: str) -> None:
        """Write a note, and replace its earlier text."""
        self.connection.ask(
            "insert into holocron.notes (lake, name, note) values (%s, %s, %s) "
            "on conflict (lake, name) do update set note = excluded.note, number = default",
            [self._lake, name, text],
        )

    def remove_note(self, name: str) -> None:
        """Remove a note, if it is there."""
        self.connection.ask("delete from holocron.notes where lake = %s and name = %s", [self._lake, name])

    def _held_here(self) -> dict[str, int]:
        if self._process != os.getpid():  # a fork holds none of its parent's locks
            self._held, self._process = {}, os.getpid()
        return self._held

    def _key(self, name: str) -> int:
        digest = blake2b(f"{self._lake}\n{name}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    def _lost(self) -> LocksLostError:
        return LocksLostError(
            f"the session with PostgreSQL ended, and with it the locks {sorted(self._held)}: others may work "
            "on the same files by now, so nothing is written"
        )
