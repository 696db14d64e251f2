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

import duckdb

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

_ABANDONED_AFTER = timedelta(days=1)
_FOLDER = "spill"
_MOST_IDLE = 3
"""Databases that stay open while nobody uses them: a run needs one or two at a time."""
THREADS = 2
"""Threads of a database. There are few, so that several runs can share a machine."""


@contextmanager
def spilling_database(lake: Lake, *, memory: str, is_kept: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database in memory, for queries over files of the lake.

    Variable `now` is the time by the lake's clock. Function `query` names damaged files in errors.

    DuckDB takes 40 ms to open a database, and a run asks dozens of small questions. So an open database is
    kept for the next caller, who gets an empty catalog in it. Nobody else uses it meanwhile.

    Args:
        lake: the lake whose folder takes the spilled data.
        memory: how much memory DuckDB may use, such as '1GB'. Two threads share it.
        is_kept: whether it may be used again. False if the caller changes settings of the whole database.
    """
    _remove_abandoned(lake)
    opened = (_kept.take(lake.root, memory) if is_kept else None) or _open(lake.root, memory)
    is_whole = False
    try:
        with _empty_catalog(opened.root) as connection:
            connection.execute("set variable lake_root = $1", [str(lake.root.resolve())])
            connection.execute("set variable now = $1", [utc_now()])
            yield connection
        is_whole = True
    finally:
        # What spilled has used much memory, and has files. After an error, nothing is known.
        if is_kept and is_whole and not opened.spill.exists():
            _kept.put(opened)
        else:
            opened.close()


@dataclass(frozen=True)
class _Opened:
    """An open database.

    Attributes:
        lake_root: the folder of the lake that takes the spilled data.
        memory: how much it may use.
        spill: the folder that DuckDB makes if it spills.
        root: the connection that keeps it open.
    """

    lake_root: Path
    memory: str
    spill: Path
    root: duckdb.DuckDBPyConnection

    def close(self) -> None:
        self.root.close()
        shutil.rmtree(self.spill, ignore_errors=True)


@dataclass
class _Kept:
    """Open databases of this process that nobody uses, the last used one last."""

    idle: list[_Opened] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def take(self, lake_root: Path, memory: str) -> _Opened | None:
        """One of a lake and so much memory, for one caller alone."""
        with self.lock:
            for opened in reversed(self.idle):
                if (opened.lake_root, opened.memory) == (lake_root, memory):
                    self.idle.remove(opened)
                    return opened
        return None

    def put(self, opened: _Opened) -> None:
        """Keep one for the next caller."""
        with self.lock:
            self.idle.append(opened)
            closing = self.idle[:-_MOST_IDLE]
            del self.idle[:-_MOST_IDLE]
        for one in closing:
            one.close()

    def close(self) -> None:
        """Close all."""
        with self.lock:
            closing, self.idle = self.idle, []
        for one in closing:
            one.close()


_kept = _Kept()
_of_the_parent: list[_Kept] = []
"""A forked process has its parent's databases without their threads. It must not even close them."""


def _after_fork() -> None:
    global _kept  # noqa: PLW0603 - there is one per process
    _of_the_parent.append(_kept)
    _kept = _Kept()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _kept.close())  # DuckDB reports a connection that outlives its module as a leak


def _open(lake_root: Path, memory: str) -> _Opened:
    spill = lake_root / f"{_FOLDER}-{uuid.uuid4().hex}"
    # The order of rows is kept only where a query asks for it: otherwise whole results would stay in memory.
    settings: dict[str, str | int | bool] = {
        "memory_limit": memory,
        "threads": THREADS,
        "preserve_insertion_order": False,
        "temp_directory": str(spill),
    }
    root = duckdb.connect(config=settings)
    with suppress(duckdb.InvalidInputException):  # in Jupyter without ipywidgets there is none
        root.execute("set enable_progress_bar = false")
    root.execute("set global timezone = 'UTC'")
    return _Opened(lake_root, memory, spill, root)


@contextmanager
def _empty_catalog(root: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own, with a catalog that is gone afterwards with all that was made in it."""
    with root.cursor() as connection:
        connection.execute("attach ':memory:' as here; use here")
        try:
            yield connection
        finally:
            with suppress(duckdb.Error):  # a failed transaction, of which the caller heard
                connection.execute("rollback")
            connection.execute("use memory; detach here")


def _remove_abandoned(lake: Lake) -> None:
    """Remove the files that killed processes left."""
    for leftover in lake.root.glob(f"{_FOLDER}-*"):
        with suppress(FileNotFoundError):  # another process may have ended or removed it
            if time() - leftover.stat().st_mtime > _ABANDONED_AFTER.total_seconds():
                shutil.rmtree(leftover, ignore_errors=True)
