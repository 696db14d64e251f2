"""What a Holocron leaves on disk and holds in memory, counted from outside."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20


@dataclass(frozen=True)
class Footprint:
    """Sizes at one moment.

    Attributes:
        event_rows: rows of Dagster's event log, in the database of each run and in their index.
        event_files: databases of the event log and of runs.
        event_bytes: of those.
        tick_rows: evaluations of sensors and schedules that are remembered.
        tick_bytes: of their database.
        log_bytes: what runs wrote to their output.
        lake_files: in the lake, locks included.
        lake_bytes: of those.
        memory_bytes: resident, of this process.
        open_files: of this process.
    """

    event_rows: int
    event_files: int
    event_bytes: int
    tick_rows: int
    tick_bytes: int
    log_bytes: int
    lake_files: int
    lake_bytes: int
    memory_bytes: int
    open_files: int


def footprint(dagster_home: Path, data_folder: Path) -> Footprint:
    """Measure now."""
    history = _files(dagster_home / "history")
    logs = [path for path in history if path.suffix == ".db" and path.name != "runs.db"]
    ticks = dagster_home / "schedules" / "schedules.db"
    lake = _files(data_folder)
    return Footprint(
        event_rows=sum(_rows(path, "event_logs") for path in logs),
        event_files=len(history),
        event_bytes=_bytes(history),
        tick_rows=_rows(ticks, "job_ticks"),
        tick_bytes=_bytes(_files(ticks.parent)),
        log_bytes=_bytes(_files(dagster_home / "storage")),
        lake_files=len(lake),
        lake_bytes=_bytes(lake),
        memory_bytes=_resident_bytes(),
        open_files=len(list(Path("/proc/self/fd").iterdir())),
    )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _bytes(files: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _rows(database: Path, table: str) -> int:
    # Reading a database that nobody has open would leave files next to it, unless it cannot change.
    is_open = database.with_name(f"{database.name}-wal").exists()
    mode = "mode=ro" if is_open else "immutable=1"
    with closing(sqlite3.connect(f"file:{database}?{mode}", uri=True)) as connection:
        [(rows,)] = connection.execute(f"select count(*) from {table}")  # noqa: S608 - a name from above
        return int(rows)


def _resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the system does not say how much memory this process holds")
