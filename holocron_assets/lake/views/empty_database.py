"""Empty databases, kept open for small questions. Opening one takes 20 ms, and there are hundreds of them."""

import atexit
from functools import cache

import duckdb

_MEMORY = "512MB"


def empty_database() -> duckdb.DuckDBPyConnection:
    """A new connection to an empty database, for questions about DuckDB itself; the caller closes it.

    Such are: of which type is an expression, which words are reserved, what does this SQL name.
    """
    return _database().cursor()


def closed_database() -> duckdb.DuckDBPyConnection:
    """A new connection to an empty database that opens no file and keeps its settings.

    It is for expressions that people wrote. The caller closes it, and makes nothing there that is not
    temporary: other connections would see it.
    """
    return _closed_database().cursor()


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


atexit.register(_database.cache_clear)  # DuckDB reports a connection that outlives its module as a leak
atexit.register(_closed_database.cache_clear)
