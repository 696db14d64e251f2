"""Searches for words in all that a Holocron leaves behind, in files of every kind that it writes."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

_SQLITE = b"SQLite format 3\0"


def found_in(folder: Path, words: Iterable[str]) -> dict[str, list[str]]:
    """The files below a folder that hold any of some words, and which."""
    wanted = list(words)
    found: dict[str, list[str]] = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        said = [text.decode("utf-8", "replace") for text in texts_of(file)]
        if held := [word for word in wanted if any(word in text for text in said)]:
            found[str(file.relative_to(folder))] = held
    return found


def texts_of(file: Path) -> Iterator[bytes]:
    """All that a file says: as it is, and unpacked where it is a table or a database."""
    raw = file.read_bytes()
    yield raw
    if file.suffix == ".parquet":
        yield json.dumps(pq.read_table(file).to_pylist(), default=str, ensure_ascii=False).encode()
    elif raw.startswith(_SQLITE):
        yield from _sqlite(file)
    elif file.suffix == ".duckdb":
        with closing(duckdb.connect(str(file), read_only=True)) as lake:
            yield str(lake.execute("select sql, comment from duckdb_views()").fetchall()).encode()


def _sqlite(file: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(file)) as database:
        names = database.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (name,) in names:
            for row in database.execute(f'select * from "{name}"'):  # noqa: S608 - the database's own names
                for value in row:
                    yield str(value).encode("utf-8", "replace")
                    if isinstance(value, bytes):  # Dagster packs what it knows of jobs and code
                        with suppress(zlib.error):
                            yield zlib.decompress(value)
