"""Where Dagster keeps its things in a benchmark: a home of its own in SQLite, or one with a PostgreSQL."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import sqlalchemy as sql
from postgres_server import postgres_server

from holocron_assets.settings import PROJECT_FOLDER

_URL = "HOLOCRON_POSTGRES_URL"


@dataclass(frozen=True)
class Place:
    """A storage of Dagster's, configured as Holocron configures it.

    Attributes:
        name: of the storage.
        home: DAGSTER_HOME.
        url: of the database; None for SQLite, which is in the home.
    """

    name: str
    home: Path
    url: str | None = None

    def open(self) -> dg.DagsterInstance:
        """The instance; close it by `with`."""
        os.environ["DAGSTER_HOME"] = str(self.home)
        return dg.DagsterInstance.get()

    def bytes_on_disk(self) -> int:
        """Of tables and indexes. Not of PostgreSQL's write-ahead log, which is the server's."""
        if self.url is None:
            return sum(file.stat().st_size for file in self.home.rglob("*.db*"))
        engine = sql.create_engine(self.url)
        with engine.connect() as connection:
            size: int = connection.execute(
                sql.text("select pg_database_size(current_database())")
            ).scalar_one()
        engine.dispose()
        return size


def sqlite_place(folder: Path) -> Place:
    """A new home as on one person's machine."""
    return Place("SQLite", _home(folder, PROJECT_FOLDER / "dagster.yaml"))


@contextmanager
def postgres_place(folder: Path) -> Iterator[Place]:
    """A new home with a new PostgreSQL with its usual settings; this process's environment names it."""
    with postgres_server() as server:
        os.environ[_URL] = server.url
        try:
            yield Place(
                "PostgreSQL",
                _home(folder, PROJECT_FOLDER / "deploy" / "postgres" / "dagster.yaml"),
                server.url,
            )
        finally:
            del os.environ[_URL]


def _home(folder: Path, configuration: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(configuration, folder / "dagster.yaml")
    return folder
