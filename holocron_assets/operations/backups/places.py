"""The parts of a backup, and the place of each in a Holocron and in the backup."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.manifests import read_mark, write_mark
from holocron_assets.lake.place.paths import Lake

LAKE = "lake"
QUARANTINE = "quarantine"
DAGSTER = "dagster"
DATABASE_DUMP = "dagster.dump"
SETTINGS = "settings"
_MADE_BY = "holocron backup"

DAGSTER_FOLDERS = ("history", "schedules", "storage")
"""Folders of Dagster's home: events and runs, ticks of sensors, logs of steps."""

DAGSTER_SETTINGS = "dagster.yaml"


class BackupError(PermanentError):
    """A backup that cannot be made or restored; the message says why and what to do."""


@dataclass(frozen=True)
class Places:
    """The places in a Holocron of what a backup holds.

    Attributes:
        lake: the data folder.
        dagster_home: Dagster's folder.
        postgres_url: of Dagster's database; None where that is SQLite, in its folder.
        settings: files and folders of settings, by the name that a backup gives each.
    """

    lake: Lake
    dagster_home: Path
    postgres_url: str | None
    settings: Mapping[str, Path]


def write_manifest(folder: Path, about: Mapping[str, Any]) -> None:
    """Write a backup's manifest. A folder without one is no finished backup."""
    write_mark(folder, _MADE_BY, about)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a backup; None if the folder is no finished backup."""
    return read_mark(folder, _MADE_BY)


def finished_backups(folder: Path) -> list[Path]:
    """The finished backups in a folder, the oldest first: their names are their times."""
    return sorted(path for path in folder.glob("[0-9]*") if read_manifest(path))
