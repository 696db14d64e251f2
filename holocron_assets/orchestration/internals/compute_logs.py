"""Dagster's compute logs: captures what steps print, and deletes logs of ticks that Dagster forgot.

Dagster's own manager shows what it captures by four processes, two of which start Python, for each run of
`holocron run` and each step that Dagster launches: 0.08 s of processor time, and 0.06 s of waiting. A thread
that follows the file does the same. The files and their names are Dagster's own.
Dagster forgets ticks after a while, but keeps a log file for each. Deletion uses the table of ticks, which is
the same in SQLite and PostgreSQL.

Waits for: a setting of Dagster that captures without processes; and its own purge of ticks to delete their
logs too, or a public call that lists those left over.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from io import FileIO
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self, TextIO

import dagster as dg
import sqlalchemy as sql
from dagster import StringSource
from dagster._core.definitions.repository_definition import SINGLETON_REPOSITORY_NAME
from dagster._core.execution.compute_logs import redirect_to_file
from dagster._core.instance.ref import compute_logs_directory
from dagster._core.storage.compute_log_manager import CapturedLogContext
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.schedules.schema import JobTickTable
from dagster._core.storage.schedules.sql_schedule_storage import SqlScheduleStorage
from dagster._serdes import ConfigurableClassData

MANY = 100
"""So many logs are worth a run. Fewer wait for a run that has more to do."""

_YOUNGEST = timedelta(days=1)
_AT_ONCE = 500

_SECONDS_BETWEEN_LOOKS = 0.1
_BLOCK_BYTES = 1 << 16

_LogKey = tuple[str, str, str]


class ComputeLogManager(LocalComputeLogManager):
    """Keeps what steps print in files below Dagster's home, and shows it where it would have been shown."""

    @classmethod
    def config_type(cls) -> Any:
        """What `dagster.yaml` has to say."""
        return {"home": StringSource}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Use the files that Dagster's own manager has in a home."""
        return cls(compute_logs_directory(config_value["home"]), inst_data=inst_data)

    @contextmanager
    def capture_logs(self, log_key: Sequence[str]) -> Iterator[CapturedLogContext]:
        """Capture what this process prints, also from its libraries and from processes that it starts."""
        output, errors, complete = (
            Path(self.get_captured_local_path(log_key, kind)) for kind in ("out", "err", "complete")
        )
        output.parent.mkdir(parents=True, exist_ok=True)
        with _captured(sys.stdout, output), _captured(sys.stderr, errors):
            yield CapturedLogContext(log_key)
        complete.touch()


@contextmanager
def _captured(stream: TextIO | None, file: Path) -> Iterator[None]:
    """Let a stream write to a file, and show what is added there at the stream's own place.

    A stream that is no file of the system's, as in some tests, goes on as it is.
    """
    with file.open("ab", buffering=0), file.open("rb", buffering=0) as added:
        added.seek(0, os.SEEK_END)  # an earlier capture of the same step was shown
        try:
            own = os.dup(stream.fileno()) if stream else None
        except OSError:
            own = None
        if stream is None or own is None:
            yield
            return
        over = Event()
        follower = Thread(target=_show, args=(added, own, over), name="compute-logs", daemon=True)
        follower.start()
        try:
            with redirect_to_file(stream, str(file)):
                yield
        finally:
            over.set()
            follower.join()
            os.close(own)


def _show(added: FileIO, place: int, over: Event) -> None:
    """Copy what is added to a file until that is over, or until nobody reads it."""
    is_over = False
    with suppress(OSError):
        while not is_over:
            is_over = over.wait(_SECONDS_BETWEEN_LOOKS)
            while block := added.read(_BLOCK_BYTES):
                while block:
                    block = block[os.write(place, block) :]


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
