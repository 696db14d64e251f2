"""A batch through Dagster beside the same work without it, and what Dagster asks of SQLite for it."""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import copytree
from time import process_time
from typing import Any
from unittest.mock import patch

from dagster_overhead import (
    BATCH,
    PAGES_IN_BATCH,
    execute,
    measure_batch,
    opened_jobs,
    prepare,
    run_jobs,
    run_rooms,
    write_export,
)

from holocron_assets.planning.job_names import BATCH_JOB
from side_by_side.row import Row, Scale, compared, in_turns

_TURNS: Mapping[Scale, int] = {"quick": 3, "full": 7}
_OF_TRANSACTIONS = ("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE")


@dataclass
class Asked:
    """What this process asked of SQLite.

    Attributes:
        databases: the file of each connection.
        statements: the first word of each.
    """

    databases: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    @property
    def commits(self) -> int:
        """Transactions that were ended so that they count."""
        return sum(word in ("COMMIT", "END") for word in self.statements)

    @property
    def work(self) -> int:
        """Statements that read or write."""
        return sum(word not in _OF_TRANSACTIONS for word in self.statements)


def measure(scale: Scale) -> list[Row]:
    """The rows of Dagster's share."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder / "prepared", write_export(folder / "bench.xml"))

        def batch_ms(kind: str, turn: int) -> float:
            run = partial(run_jobs if kind == "dagster" else run_rooms, clock=process_time)
            return measure_batch(folder, f"{kind}-{turn}", run)[BATCH_JOB] / PAGES_IN_BATCH * 1000

        turns = in_turns(partial(batch_ms, "dagster"), partial(batch_ms, "rooms"), _TURNS[scale])
        time = compared("batch through Dagster", "CPU ms a page", "the same without Dagster", turns)
        return [time, *_sqlite_rows(folder)]


def _sqlite_rows(folder: Path) -> Iterator[Row]:
    """What one batch asks of SQLite. It is the same each time, so it is counted once."""
    copytree(folder / "prepared", copy := folder / "counted")
    with opened_jobs(copy):
        pass  # makes the databases, which a Holocron in use has
    with asked_of_sqlite() as asked, opened_jobs(copy) as jobs:
        begun = Asked(list(asked.databases), list(asked.statements))
        run_id = execute(jobs.batch, jobs.instance, BATCH)
        events = len(jobs.instance.all_logs(run_id))
        done = Asked(list(asked.databases), list(asked.statements))
    opened, files = len(done.databases), len(set(done.databases))
    commits, statements = done.commits - begun.commits, done.work - begun.work
    yield compared("SQLite connections", "a batch", "one for each database", [(opened, files)])
    yield compared("SQLite commits", "a batch", "one for each event", [(commits, events)])
    yield compared("SQLite statements", "a batch", "one for each event", [(statements, events)])


@contextmanager
def asked_of_sqlite() -> Iterator[Asked]:
    """Count what this process asks of SQLite from now on, on connections that it opens from now on."""
    asked, connect = Asked(), sqlite3.connect

    def connecting(database: Any, *given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, *given, **named)
        asked.databases.append(str(database))
        # The callback also hears of transactions that Python begins and ends by itself.
        connection.set_trace_callback(lambda text: asked.statements.append(_first_word(text)))
        return connection

    # SQLAlchemy looks `connect` up in the second.
    with patch.object(sqlite3, "connect", connecting), patch.object(sqlite3.dbapi2, "connect", connecting):
        yield asked


def _first_word(text: str) -> str:
    words = text.split(None, 1)
    return words[0].strip(";").upper() if words else ""
