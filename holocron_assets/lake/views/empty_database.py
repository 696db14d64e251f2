"""Empty databases, kept open for small questions. Opening one takes 20 ms, and there are hundreds of them."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb

_MEMORY = "512MB"


def empty_database() -> duckdb.DuckDBPyConnection:
    """A new connection to an empty database, for questions about DuckDB itself; the caller closes it.

    Such are: of which type is an expression, which words are reserved, what does this SQL name.
    """
    return _database().cursor()


@contextmanager
def closed_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty database that opens no file and keeps its settings, for what people wrote.

    All callers in this process share the database and its memory, so a caller makes only what is temporary.
    An internal error of DuckDB makes a database unusable: the next caller gets a new one.
    """
    try:
        with _closed_database().cursor() as connection:
            yield connection
    except (duckdb.InternalException, duckdb.FatalException):
        _closed_database.cache_clear()
        raise


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


@cache
def _closed_database() -> duckdb.DuckDBPyConnection:
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": False,
        "threads": 1,
        "memory_limit": _MEMORY,
    }
    database = duckdb.connect(config=settings)
    database.execute("set lock_configuration = true")
    return database


_OPENED = (_database, _closed_database)
_OF_PARENT: list[duckdb.DuckDBPyConnection] = []


def _close() -> None:
    for opened in _OPENED:
        opened.cache_clear()


def _leave_to_parent() -> None:
    """Leave all open: a forked process has its parent's databases without their threads."""
    _OF_PARENT.extend(opened() for opened in _OPENED if opened.cache_info().currsize)
    _close()


atexit.register(_close)  # DuckDB reports a connection that outlives its module as a leak
os.register_at_fork(after_in_child=_leave_to_parent)
