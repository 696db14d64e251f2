"""Dagster's history in a backup: SQLite by its own way to copy a database in use, PostgreSQL by `pg_dump`."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy.engine import make_url

from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.operations.backups.copying import Copier
from holocron_assets.operations.backups.places import DAGSTER_FOLDERS, DAGSTER_SETTINGS, BackupError

_PATIENCE_SECONDS = 60
_SIDE_FILES = ("-wal", "-shm", "-journal")


def copy_home(home: Path, copier: Copier) -> None:
    """Copy Dagster's folder: each database as of one moment, logs of steps as they are read.

    The lake is copied before: work that Dagster knows and the copy lacks is done again, as after a crash.
    """
    for name in DAGSTER_FOLDERS:
        # Unlike `Path.rglob`, this leaves out folders of runs that are forgotten meanwhile.
        for file in sorted(Path(folder, one) for folder, _, own in os.walk(home / name) for one in own):
            if file.name.endswith(_SIDE_FILES):
                continue
            with suppress(FileNotFoundError):  # of a run that was forgotten meanwhile
                _copy_database(file, copier) if file.suffix == ".db" else copier.copy(file)
    if (home / DAGSTER_SETTINGS).is_file():
        copier.copy(home / DAGSTER_SETTINGS)


def _copy_database(file: Path, copier: Copier) -> None:
    mark = FileMark.of(file.stat())
    if _is_at_rest(file) and copier.take_earlier(file, mark):
        return
    target = copier.target / file.relative_to(copier.start)
    target.parent.mkdir(parents=True, exist_ok=True)
    address = f"{file.absolute().as_uri()}?mode=ro"  # with `#` and `%` escaped
    try:
        with (
            closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error as error:
        is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        advice = "; free some space on the disk of the copy" if is_full else ""
        raise BackupError(f"{file} cannot be copied to {target}: {error}{advice}") from error
    copier.count(target, mark)


def _is_at_rest(file: Path) -> bool:
    """Whether nothing of a database is in its log, which its last connection removes."""
    try:
        return not file.with_name(f"{file.name}-wal").stat().st_size
    except FileNotFoundError:
        return True


def dump_database(url: str, file: Path) -> None:
    """Write all of Dagster's database to a file, as it is at one moment.

    Raises:
        BackupError: `pg_dump` is not there, or fails.
    """
    _run(["pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={file}"], url)


def restore_database(url: str, file: Path) -> None:
    """Restore into a database without tables, as a whole or not at all.

    Raises:
        BackupError: `pg_restore` is not there, or fails; the database is as it was.
    """
    options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
    _run(["pg_restore", *options, str(file)], url)


def tables_of_database(url: str) -> int:
    """The number of tables in the database of an address.

    Raises:
        BackupError: it cannot be asked.
    """
    question = sql.text("select count(*) from pg_tables where schemaname = current_schema()")
    engine = sql.create_engine(make_url(url).set(drivername="postgresql+psycopg2"))
    try:
        with engine.connect() as connection:
            count: int = connection.execute(question).scalar_one()
            return count
    except sql.exc.SQLAlchemyError as error:
        raise BackupError(f"Dagster's database cannot be asked: {error}") from error
    finally:
        engine.dispose()


def _run(command: Sequence[str], url: str) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise BackupError(f"{command[0]} is not on PATH; install PostgreSQL's client programs")
    address = make_url(url)
    place = sql.URL.create(
        "postgresql", address.username, None, address.host, address.port, address.database, address.query
    ).render_as_string()
    # The password is not on the command line, which every user can read.
    environment = {**os.environ, **({"PGPASSWORD": str(address.password)} if address.password else {})}
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own
        [program, *command[1:], f"--dbname={place}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupError(f"{command[0]} failed: {done.stderr.strip()}")
