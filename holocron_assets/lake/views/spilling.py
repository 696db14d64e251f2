"""Databases of limited memory: they spill the rest to the lake's disk, and remove it when they close."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import time

import duckdb

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

_ABANDONED_AFTER = timedelta(days=1)
_FOLDER = "spill"
THREADS = 2
"""Threads of a database. There are few, so that several runs can share a machine."""


@contextmanager
def spilling_database(lake: Lake, *, memory: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database in memory, for queries over files of the lake.

    Variable `now` is the time by the lake's clock. Function `query` names damaged files in errors.

    Args:
        lake: the lake whose folder takes the spilled data.
        memory: how much memory DuckDB may use, such as '1GB'. Two threads share it.
    """
    _remove_abandoned(lake)
    spill = lake.root / f"{_FOLDER}-{uuid.uuid4().hex}"  # DuckDB makes it if it spills
    # The order of rows is kept only where a query asks for it: otherwise whole results would stay in memory.
    settings: dict[str, str | int | bool] = {
        "memory_limit": memory,
        "threads": THREADS,
        "preserve_insertion_order": False,
    }
    try:
        with duckdb.connect(config={**settings, "temp_directory": str(spill)}) as connection:
            with suppress(duckdb.InvalidInputException):  # in Jupyter without ipywidgets there is none
                connection.execute("set enable_progress_bar = false")
            connection.execute("set timezone = 'UTC'")
            connection.execute("set variable lake_root = $1", [str(lake.root.resolve())])
            connection.execute("set variable now = $1", [utc_now()])
            yield connection
    finally:
        shutil.rmtree(spill, ignore_errors=True)


def _remove_abandoned(lake: Lake) -> None:
    """Remove the files that killed processes left."""
    for leftover in lake.root.glob(f"{_FOLDER}-*"):
        with suppress(FileNotFoundError):  # another process may have ended or removed it
            if time() - leftover.stat().st_mtime > _ABANDONED_AFTER.total_seconds():
                shutil.rmtree(leftover, ignore_errors=True)
