"""Forgets old runs: deletes their records, events and logs, and keeps what Dagster shows of each asset.

`DagsterInstance.delete_run` would take the newest materialization of each partition with it, and the
partition would be shown as missing. So events are deleted one table at a time: all but the newest of each
asset and partition. This uses the tables of the event log, which are the same in SQLite and PostgreSQL, and
the file that SQLite has for each run besides.

Waits for: a public call that deletes a run and keeps what assets hold, or a setting that keeps runs for a
time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import sqlalchemy as sql
from dagster import DagsterEventType, DagsterRunStatus, RunsFilter
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from holocron_assets.settings import RunRetention

_SHOWN = [DagsterEventType.ASSET_MATERIALIZATION.value, DagsterEventType.ASSET_OBSERVATION.value]
"""Kinds of events of which the newest of each partition is kept."""

_OF_NO_RUN = ""
"""The run id of events that were reported outside a run."""

_AT_ONCE = 100
_SLACK = timedelta(days=1)


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten.

    Attributes:
        runs: how many runs.
        events: how many older events of assets and checks.
    """

    runs: int
    events: int


def old_runs_are_due(instance: dg.DagsterInstance, kept: RunRetention, *, now: datetime) -> bool:
    """Whether some run is a day older than it is kept: they are forgotten once a day, not one by one."""
    return next(_old_runs(instance, kept, now - _SLACK, most=1), None) is not None


def forget_old_runs(instance: dg.DagsterInstance, kept: RunRetention, *, now: datetime) -> Forgotten:
    """Delete the records of runs that ended long ago, and events of assets that newer events replace.

    A kill in between leaves runs without events, which are forgotten the next time.

    Args:
        instance: the instance to clean.
        kept: how long runs are kept.
        now: the moment.
    """
    storage, runs = instance.event_log_storage, 0
    if not isinstance(storage, SqlEventLogStorage):
        raise TypeError(f"runs are forgotten in SQLite and PostgreSQL, not in {type(storage).__name__}")
    while old := list(_old_runs(instance, kept, now, most=_AT_ONCE)):
        _forget_events(storage, old)
        for run_id in old:
            instance.compute_log_manager.delete_logs(prefix=[run_id])
            instance.run_storage.delete_run(run_id)
        runs += len(old)
    return Forgotten(runs, _forget_outdated(storage, now - kept.failed))


def _old_runs(instance: dg.DagsterInstance, kept: RunRetention, now: datetime, *, most: int) -> Iterator[str]:
    """Ids of runs that ended longer ago than they are kept, the oldest first."""
    ends = (
        ([DagsterRunStatus.SUCCESS], kept.succeeded),
        ([DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED], kept.failed),
    )
    for statuses, age in ends:
        # To the storage a moment is one of UTC.
        wanted = RunsFilter(statuses=statuses, updated_before=now.astimezone(UTC) - age)
        for record in instance.get_run_records(wanted, limit=most, ascending=True):
            yield record.dagster_run.run_id


def _forget_events(storage: SqlEventLogStorage, runs: Sequence[str]) -> None:
    """Delete all events of some runs except their materializations and observations."""
    events = SqlEventLogStorageTable.c
    is_shown = events.dagster_event_type.in_(_SHOWN)
    of_runs = SqlEventLogStorageTable.delete().where(
        events.run_id.in_(runs), sql.or_(events.dagster_event_type.is_(None), sql.not_(is_shown))
    )
    with storage.index_connection() as connection:
        connection.execute(of_runs)
    if isinstance(storage, SqliteEventLogStorage):
        for run_id in runs:
            _remove_file(Path(storage.path_for_shard(run_id)))


def _remove_file(database: Path) -> None:
    logs = (database.with_name(database.name + end) for end in ("-wal", "-shm"))
    unfinished = database.parent.glob(f"{database.name}.*.new")  # as a kill leaves them; see `sqlite.py`
    for path in (database, *logs, *unfinished):
        path.unlink(missing_ok=True)


def _forget_outdated(storage: SqlEventLogStorage, before: datetime) -> int:
    """Delete old events of assets and checks, except the newest of each; returns their number."""
    moment = before.astimezone(UTC).replace(tzinfo=None)
    events, tags, checks = SqlEventLogStorageTable, AssetEventTagsTable, AssetCheckExecutionsTable
    newest = sql.select(sql.func.max(events.c.id)).where(events.c.dagster_event_type.in_(_SHOWN))
    newest = newest.group_by(events.c.dagster_event_type, events.c.asset_key, events.c.partition)
    newest_checks = sql.select(sql.func.max(checks.c.id)).group_by(
        checks.c.asset_key, checks.c.check_name, checks.c.partition
    )
    with storage.index_connection() as connection:
        outdated = connection.execute(
            events.delete().where(
                events.c.dagster_event_type.in_(_SHOWN),
                events.c.timestamp < moment,
                events.c.id.not_in(newest),
            )
        )
        # Not `not in`: PostgreSQL would compare each tag with each event, once there are many.
        connection.execute(tags.delete().where(~sql.exists().where(events.c.id == tags.c.event_id)))
        outdated_checks = connection.execute(
            checks.delete().where(
                checks.c.evaluation_event_timestamp < moment, checks.c.id.not_in(newest_checks)
            )
        )
    if isinstance(storage, SqliteEventLogStorage):
        with storage.run_connection(_OF_NO_RUN) as connection:  # each is in the index too
            connection.execute(events.delete().where(events.c.timestamp < moment))
    return outdated.rowcount + outdated_checks.rowcount
