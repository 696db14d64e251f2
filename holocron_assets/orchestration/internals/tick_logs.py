"""Deletes logs of ticks that Dagster forgot: it forgets ticks after a while, but keeps a log file for each.

This uses the table of ticks, which is the same in SQLite and PostgreSQL, and the folder in which the local
manager of logs keeps files.

Waits for: Dagster's own purge of ticks to delete their logs too, or a public call that lists those left over.
"""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import dagster as dg
import sqlalchemy as sql
from dagster._core.definitions.repository_definition import SINGLETON_REPOSITORY_NAME
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.schedules.schema import JobTickTable
from dagster._core.storage.schedules.sql_schedule_storage import SqlScheduleStorage

MANY = 100
"""So many logs are worth a run. Fewer wait for a run that has more to do."""

_YOUNGEST = timedelta(days=1)
_AT_ONCE = 500

_LogKey = tuple[str, str, str]


def tick_logs_are_due(instance: dg.DagsterInstance, *, now: datetime) -> bool:
    """Whether many logs are left of ticks that Dagster has forgotten."""
    return sum(1 for _ in islice(_outlived(instance, now), MANY)) == MANY


def forget_tick_logs(instance: dg.DagsterInstance, *, now: datetime) -> int:
    """Delete the logs of ticks that Dagster has forgotten; returns their number.

    Args:
        instance: the instance to clean.
        now: the moment. Logs that were written within a day are left alone.
    """
    count = 0
    for key in _outlived(instance, now):
        instance.compute_log_manager.delete_logs(log_key=key)
        count += 1
    return count


def _outlived(instance: dg.DagsterInstance, now: datetime) -> Iterator[_LogKey]:
    storage = instance.schedule_storage
    if not isinstance(storage, SqlScheduleStorage):
        return
    ticks, logs = JobTickTable.c.id, _logs_before(instance, now - _YOUNGEST)
    while some := list(islice(logs, _AT_ONCE)):
        with storage.connect() as connection:
            ids = sql.select(ticks).where(ticks.in_([int(tick) for *_, tick in some]))
            kept = {str(row[0]) for row in connection.execute(ids)}
        yield from (key for key in some if key[-1] not in kept)


def _logs_before(instance: dg.DagsterInstance, moment: datetime) -> Iterator[_LogKey]:
    """Keys of logs of ticks to which nothing was written since."""
    manager = instance.compute_log_manager
    if not isinstance(manager, LocalComputeLogManager):
        return
    of_ours = Path(manager.get_captured_local_path([SINGLETON_REPOSITORY_NAME, "a sensor", "1"], "err"))
    for folder in of_ours.parents[1].glob("*/"):
        with os.scandir(folder) as entries:
            for entry in entries:
                tick, dot, kind = entry.name.partition(".")
                if dot and kind == "err" and tick.isdecimal() and entry.stat().st_mtime < moment.timestamp():
                    yield SINGLETON_REPOSITORY_NAME, folder.name, tick
