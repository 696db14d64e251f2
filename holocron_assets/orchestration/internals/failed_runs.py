"""Whether Dagster's storage may hold failed runs, found out without Dagster.

Dagster takes two seconds to import and to open its instance, and mostly has no failed run. So its table of
runs is read here, if it is the SQLite file of Holocron's own configuration. Otherwise only Dagster knows.

Waits for: a public call that lists runs and needs no instance.
"""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holocron_assets.settings import PROJECT_FOLDER, dagster_home, database_address

_FAILED = "select 1 from runs where status = 'FAILURE' and update_timestamp >= ? limit 1"
_LEEWAY = timedelta(hours=1)
"""The search begins this much earlier than asked, since only Dagster knows exactly which runs count."""


def may_have_failed_runs(since: datetime) -> bool:
    """Whether Dagster must be asked for the runs that failed since a moment; False if there are none."""
    home = dagster_home()
    if database_address():
        return True
    try:
        is_ours = (home / "dagster.yaml").read_bytes() == (PROJECT_FOLDER / "dagster.yaml").read_bytes()
        return not is_ours or _has_failed(home / "history" / "runs.db", since - _LEEWAY)
    except (OSError, sqlite3.Error):
        return home.is_dir()


def _has_failed(database: Path, since: datetime) -> bool:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        moment = since.astimezone(UTC).replace(tzinfo=None).isoformat(" ")  # as Dagster writes it
        return connection.execute(_FAILED, [moment]).fetchone() is not None
