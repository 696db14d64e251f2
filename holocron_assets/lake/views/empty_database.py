"""An empty database, for questions about DuckDB itself: types of columns, its words, how it reads SQL."""

import atexit
from functools import cache

import duckdb


def empty_database() -> duckdb.DuckDBPyConnection:
    """A new connection to the process's empty database. The caller closes it.

    Opening a database takes 17 ms, and there are dozens of questions about tables and conditions.
    """
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


atexit.register(_database.cache_clear)  # DuckDB reports a connection that outlives its module as a leak
