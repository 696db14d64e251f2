"""Databases of limited memory: they spill the rest to the lake's disk, and remove it when they close."""

import atexit
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Lock
from time import time
from typing import Literal

import duckdb

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.literals import quoted

_ABANDONED_AFTER = timedelta(days=1)
_FOLDER = "spill"
_CATALOG = "here"
"""What a caller makes is in here."""
_MOST_IDLE = 3
"""Databases that stay open while nobody uses them: a run needs one or two at a time, and a locked one."""
THREADS = 2
"""Threads of a database. There are few, so that several runs can share a machine."""


Kind = Literal["open", "own", "locked"]
"""Kinds of databases; see `spilling_database`."""


@contextmanager
def spilling_database(lake: Lake, *, memory: str, kind: Kind = "open") -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database in memory, for queries over files of the lake.

    Variable `now` is the time by the lake's clock. Function `query` names damaged files in errors.

    DuckDB takes 40 ms to open a database, and a run asks dozens of small questions. So an open database is
    kept for the next caller, who gets an empty catalog in it. It has one caller at a time.

    Args:
        lake: the lake whose folder takes the spilled data.
        memory: how much memory DuckDB may use, such as '1GB'. Its threads share it.
        kind: "own" if the caller changes settings of the whole database, which is not kept then; "locked" for
            one that is locked (see `lock_database`), and is kept for callers with the same lake and memory.
    """
    _remove_abandoned(lake)
    database = _database(lake, memory, kind)
    is_clean = False
    try:
        with database.connection.cursor() as connection:
            connection.execute(f"attach ':memory:' as {_CATALOG}; use {_CATALOG}")
            connection.execute("set variable lake_root = $1", [str(lake.root.resolve())])
            connection.execute("set variable now = $1", [utc_now()])
            yield connection
            is_clean = kind != "own" and _is_emptied(connection)
    finally:
        # What spilled has used much memory, and has files. After an error, nothing is known.
        if is_clean and not database.spill.exists():
            _kept.put(database)
        else:
            database.connection.close()
            shutil.rmtree(database.spill, ignore_errors=True)


def lock_database(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Let a database open no file but the lake's, and keep its settings, with one thread.

    It could still write into the lake: only checked queries may be asked of it.
    """
    folder = quoted(lake.root.resolve() / "lake")
    connection.execute(f"set allowed_directories = [{folder}]; set enable_external_access = false")
    # When threads share the work, sums of fractions and rows without an order differ from time to time.
    connection.execute("set threads = 1")
    connection.execute("set lock_configuration = true")


def another_connection(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A second connection to what a caller of `spilling_database` made: for results read in turns."""
    other = connection.cursor()
    other.execute(f"use {_CATALOG}")
    return other


@dataclass(frozen=True)
class _Database:
    """An open database.

    Attributes:
        connection: to it.
        spill: the folder that it may spill to. DuckDB makes it if it does.
        of: the lake and the memory that it is locked to; None if it is not locked.
    """

    connection: duckdb.DuckDBPyConnection
    spill: Path
    of: tuple[Path, str] | None


@dataclass
class _Kept:
    """Open databases of this process that have no caller, the last used one last."""

    idle: list[_Database] = field(default_factory=list)
    of_parent: list[_Database] = field(default_factory=list)
    guard: Lock = field(default_factory=Lock)

    def take(self, of: tuple[Path, str] | None) -> _Database | None:
        """One for one caller alone, if there is any that is locked to this."""
        with self.guard:
            found = next((one for one in reversed(self.idle) if one.of == of), None)
            if found:
                self.idle.remove(found)
            return found

    def put(self, database: _Database) -> None:
        """Keep one for the next caller, in place of the one that was not used for longest."""
        with self.guard:
            self.idle.append(database)
            ended = self.idle[:-_MOST_IDLE]
            self.idle = self.idle[-_MOST_IDLE:]
        for one in ended:
            one.connection.close()

    def close(self) -> None:
        """Close all."""
        with self.guard:
            idle, self.idle = self.idle, []
        for one in idle:
            one.connection.close()

    def leave_to_parent(self) -> None:
        """Leave all alone: a forked process has its parent's databases without their threads.

        It may not even close them.
        """
        self.of_parent += self.idle
        self.idle, self.guard = [], Lock()


_kept = _Kept()
os.register_at_fork(after_in_child=_kept.leave_to_parent)
atexit.register(_kept.close)  # DuckDB reports a connection that outlives its module as a leak


def _database(lake: Lake, memory: str, kind: Kind) -> _Database:
    of = (lake.root.resolve(), memory) if kind == "locked" else None
    kept = None if kind == "own" else _kept.take(of)
    if kept and kept.of:
        return kept
    connection = kept.connection if kept else _open()
    spill = lake.root / f"{_FOLDER}-{uuid.uuid4().hex}"
    connection.execute(f"set global memory_limit = '{memory}'; set global temp_directory = {quoted(spill)}")
    if of:
        lock_database(connection, lake)
    return _Database(connection, spill, of)


def _open() -> duckdb.DuckDBPyConnection:
    # The order of rows is kept only where a query asks for it: otherwise whole results would stay in memory.
    database = duckdb.connect(config={"threads": THREADS, "preserve_insertion_order": False})
    with suppress(duckdb.InvalidInputException):  # in Jupyter without ipywidgets there is none
        database.execute("set enable_progress_bar = false")
    database.execute("set global timezone = 'UTC'")
    return database


def _is_emptied(connection: duckdb.DuckDBPyConnection) -> bool:
    """Remove a caller's catalog with all that was made in it; say whether that went well."""
    try:
        connection.execute(f"use memory; detach {_CATALOG}")
    except duckdb.Error:  # a transaction is open, or the database is unusable: it is closed
        return False
    return True


def _remove_abandoned(lake: Lake) -> None:
    """Remove the files that killed processes left."""
    for leftover in lake.root.glob(f"{_FOLDER}-*"):
        with suppress(FileNotFoundError):  # another process may have ended or removed it
            if time() - leftover.stat().st_mtime > _ABANDONED_AFTER.total_seconds():
                shutil.rmtree(leftover, ignore_errors=True)
