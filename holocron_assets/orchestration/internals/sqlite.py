"""Dagster's SQLite storages with connections that stay open, and tables that a process checks once.

Dagster's own make an engine and a connection for each statement. Then SQLite folds its log into the database
whenever the last connection closes, and SQLAlchemy compiles each statement anew. That is most of an event's
cost. A code server makes the storages again for each tick of a sensor, and reads all of Dagster's migrations
to check the tables: most of what it does while nothing is to be done.
The files and tables are the same, so Dagster's own classes and these can use them in turns, and together.

Waits for: a setting of Dagster that keeps SQLite's connections open.
"""

import atexit
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar, cast

import sqlalchemy as sql
from dagster import EventLogEntry, StringSource
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sqlite import create_db_conn_string
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine

_HOME = {"home": StringSource}
_MOST_RUNS = 4
"""Runs whose files stay open in a process, besides the index of all events."""

_MOST_HOMES = 4
"""Homes of Dagster whose runs and schedules stay open in a process. It has one, if it is no test."""

_PATIENCE_SECONDS = 30
"""How long a statement waits for another process's."""


def _engine(address: str) -> Engine:
    """An engine whose connections stay open, and whose commits wait for the disk only now and then.

    A killed process loses nothing. A power cut may lose the newest events, which the lake's files outlast.
    """
    engine = sql.create_engine(address, connect_args={"timeout": _PATIENCE_SECONDS})

    @sql.event.listens_for(engine, "connect")
    def relax(connection: Any, _record: object) -> None:
        connection.execute("pragma synchronous = normal")

    return engine


class _Engines:
    """The engines of a process by address and number of the file. A forked process makes its own."""

    def __init__(self, most: int) -> None:
        """Keep at most so many; the one that was not used for longest goes first."""
        self._most, self._owner, self._lock = most, os.getpid(), Lock()
        self._kept: OrderedDict[tuple[str, int], Engine] = OrderedDict()

    def of(self, address: str, number: int = 0) -> Engine:
        """The engine of an address. Where another file may take its place, its number tells them apart."""
        with self._lock:
            if self._owner != os.getpid():
                for engine in self._kept.values():
                    engine.dispose(close=False)  # the connections are the other process's
                self._kept, self._owner = OrderedDict(), os.getpid()
            engine = self._kept.get((address, number)) or self._kept.setdefault(
                (address, number), _engine(address)
            )
            self._kept.move_to_end((address, number))
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)[1].dispose()
            return engine

    def close(self) -> None:
        """Close all connections; those of the process that this one was forked from are left alone."""
        while self._kept:
            self._kept.popitem()[1].dispose(close=self._owner == os.getpid())


def _empty_copy(engine: Engine) -> bytes | None:
    """The content of a run's file with no event in it; None if another process has written one meanwhile."""
    with engine.connect() as connection:
        database = connection.connection.driver_connection
        assert isinstance(database, sqlite3.Connection)  # noqa: S101 - as the address says
        database.execute("begin")  # so that both see the same moment
        [[events]] = database.execute("select count(*) from event_logs")
        content = database.serialize()
        database.rollback()
    return None if events else content


def _write_new(path: Path, content: bytes) -> None:
    """Write a file whole, unless another process has written it first."""
    half = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        half.write_bytes(content)
        with suppress(FileExistsError):
            path.hardlink_to(half)
    finally:
        half.unlink(missing_ok=True)


_Storage = TypeVar("_Storage", bound=SqliteRunStorage | SqliteScheduleStorage)

_CHECKED: dict[str, int] = {}
"""The databases whose tables this process has made or checked: by path, the number of the file."""


def _is_checked(file: Path) -> bool:
    """Whether this process has checked the tables of a database, and no other file took its place."""
    try:
        return _CHECKED.get(str(file)) == file.stat().st_ino
    except FileNotFoundError:
        return False


def _note_checked(file: Path) -> None:
    _CHECKED[str(file)] = file.stat().st_ino


def _of_file(kind: type[_Storage], file: Path, inst_data: ConfigurableClassData | None) -> _Storage:
    """The storage of a file, which is made, or whose tables are checked, the first time."""
    if _is_checked(file):
        return kind(create_db_conn_string(str(file.parent), file.stem), inst_data)
    storage = kind.from_local(str(file.parent), inst_data)
    _note_checked(file)
    return cast("_Storage", storage)  # Dagster makes one of the class that it is asked for


class EventLogStorage(SqliteEventLogStorage):
    """Events: one file for each run, and one for what is asked about all runs."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Use the files of a folder."""
        self._index_engine, self._run_engines = _Engines(1), _Engines(_MOST_RUNS)
        self._tables: set[str] = set()
        self._empty: bytes | None = None
        super().__init__(base_dir, inst_data)

    @classmethod
    def config_type(cls) -> Any:
        """What `dagster.yaml` has to say."""
        return _HOME

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Use the files that Dagster's own storage has in a home."""
        return cls(str(Path(config_value["home"], "history", "runs")), inst_data)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engines = self._index_engine if shard == INDEX_SHARD_NAME else self._run_engines
            engine = engines.of(self.conn_string_for_shard(shard))
            if shard not in self._initialized_dbs:
                self._make(shard, engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def _make(self, shard: str, engine: Engine) -> None:
        """Make a shard's tables, if it has none. A new run's file is a copy of the first empty one.

        To make and stamp the tables takes 40 ms, which is more than all other statements of a short run take.
        """
        path = Path(self.path_for_shard(shard))
        if shard == INDEX_SHARD_NAME:
            if not _is_checked(path):
                self._initdb(engine)
                _note_checked(path)
        elif path.exists():
            self._initdb(engine)
        elif self._empty is None:
            self._initdb(engine)
            self._empty = _empty_copy(engine)
        else:
            try:
                _write_new(path, self._empty)
            except OSError:  # SQLite says better what is wrong with the place
                self._initdb(engine)

    def has_table(self, table_name: str) -> bool:
        """Whether the index has a table. Dagster asks for it with each event of a check, and drops none."""
        if table_name not in self._tables:
            # Not by `_connect`: Dagster asks from inside a transaction, too, which holds the lock.
            engine = self._index_engine.of(self.conn_string_for_shard(INDEX_SHARD_NAME))
            self._tables.update(sql.inspect(engine).get_table_names())
        return table_name in self._tables

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event, and show it to those who watch the run."""
        super().store_event(event)
        # They watch the run's file, and its log gets the event while connections stay open.
        with suppress(FileNotFoundError):
            os.utime(self.path_for_shard(event.run_id))

    def dispose(self) -> None:
        """Close all connections."""
        super().dispose()
        self._index_engine.close()
        self._run_engines.close()


_ONE_FILE = _Engines(2 * _MOST_HOMES)
atexit.register(_ONE_FILE.close)  # SQLite then folds its log into the database, and removes the log


class _OneFile:
    """A storage of one file. All of a process share their connections.

    A code server makes one for each tick of a sensor, and Dagster does not close those of schedules.
    """

    _conn_string: str

    @classmethod
    def config_type(cls) -> Any:
        """What `dagster.yaml` has to say."""
        return _HOME

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A transaction."""
        number = Path(self._conn_string.removeprefix("sqlite:///")).stat().st_ino
        with _ONE_FILE.of(self._conn_string, number).begin() as connection:
            yield connection


class RunStorage(_OneFile, SqliteRunStorage):
    """Runs, their tags, and what the daemon notes."""

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Use the file that Dagster's own storage has in a home."""
        return _of_file(cls, Path(config_value["home"], "history", "runs.db"), inst_data)


class ScheduleStorage(_OneFile, SqliteScheduleStorage):
    """Ticks of sensors and schedules, and what they remember."""

    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Use the file at an address."""
        self._built: set[str] = set()
        super().__init__(conn_string, inst_data)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Use the file that Dagster's own storage has in a home."""
        return _of_file(cls, Path(config_value["home"], "schedules", "schedules.db"), inst_data)

    def has_instigators_table(self) -> bool:
        """Whether there is a table of sensors and schedules. Dagster asks with each tick, and drops none."""
        return self._is_built("instigators", super().has_instigators_table)

    def has_built_index(self, migration_name: str) -> bool:
        """Whether a migration of the rows was made. Dagster asks with each tick, and takes none back."""
        return self._is_built(migration_name, partial(super().has_built_index, migration_name))

    def _is_built(self, name: str, ask: Callable[[], bool]) -> bool:
        if name not in self._built and ask():
            self._built.add(name)
        return name in self._built
