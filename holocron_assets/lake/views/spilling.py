"""Databases of limited memory: they spill the rest to the lake's disk, and remove it when they close."""

import atexit
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from time import time

import duckdb

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

_ABANDONED_AFTER = timedelta(days=1)
_FOLDER = "spill"
_CATALOG = "here"
"""What a caller makes is in here."""
_MOST_IDLE = 2
"""Databases that stay open while nobody uses them: a run needs one or two at a time."""
THREADS = 2
"""Threads of a database. There are few, so that several runs can share a machine."""


@contextmanager
def spilling_database(
    lake: Lake, *, memory: str, is_kept: bool = True
) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database in memory, for queries over files of the lake.

    Variable `now` is the time by the lake's clock. Function `query` names damaged files in errors.

    DuckDB takes 40 ms to open a database, and a run asks dozens of small questions. So an open database is
    kept for the next caller, who gets an empty catalog in it. It has one caller at a time.

    Args:
        lake: the lake whose folder takes the spilled data.
        memory: how much memory DuckDB may use, such as '1GB'. Two threads share it.
        is_kept: whether it may be used again. False if the caller changes settings of the whole database.
    """
    _remove_abandoned(lake)
    spill = lake.root / f"{_FOLDER}-{uuid.uuid4().hex}"  # DuckDB makes it if it spills
    database = (_kept.take() if is_kept else None) or _open()
    is_clean = False
    try:
        folder = str(spill).replace("'", "''")
        database.execute(f"set global memory_limit = '{memory}'; set global temp_directory = '{folder}'")
        with database.cursor() as connection:
            connection.execute(f"attach ':memory:' as {_CATALOG}; use {_CATALOG}")
            connection.execute("set variable lake_root = $1", [str(lake.root.resolve())])
            connection.execute("set variable now = $1", [utc_now()])
            yield connection
            is_clean = is_kept and _is_emptied(connection)
    finally:
        # What spilled has used much memory, and has files. After an error, nothing is known.
        if is_clean and not spill.exists():
            _kept.put(database)
        else:
            database.close()
            shutil.rmtree(spill, ignore_errors=True)


def another_connection(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A second connection to what a caller of `spilling_database` made: for results read in turns."""
    other = connection.cursor()
    other.execute(f"use {_CATALOG}")
    return other


@dataclass
class _Kept:
    """Open databases of this process that have no caller, the last used one last."""

    idle: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    of_parent: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def take(self) -> duckdb.DuckDBPyConnection | None:
        """One for one caller alone, if there is any."""
        with self.lock:
            return self.idle.pop() if self.idle else None

    def put(self, database: duckdb.DuckDBPyConnection) -> None:
        """Keep one for the next caller."""
        with self.lock:
            if is_kept := len(self.idle) < _MOST_IDLE:
                self.idle.append(database)
        if not is_kept:
            database.close()

    def close(self) -> None:
        """Close all."""
        while database := self.take():
            database.close()

    def leave_to_parent(self) -> None:
        """Leave all alone: a forked process has its parent's databases without their threads.

        It may not even close them.
        """
        self.of_parent += self.idle
        self.idle, self.lock = [], Lock()


_kept = _Kept()
os.register_at_fork(after_in_child=_kept.leave_to_parent)
atexit.register(_kept.close)  # DuckDB reports a connection that outlives its module as a leak


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
