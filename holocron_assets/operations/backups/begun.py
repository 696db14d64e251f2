"""Remembers in the data folder what a restore has begun to fill, so that one that was cut off can go on."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from holocron_assets.lake.files.durable import replacing, sync_folder
from holocron_assets.operations.backups.places import BackupError

_FILE = ".restore-begun"


class Begun:
    """The places that a restore of one backup has begun to fill. Each is filled in one step: whole or empty.

    Without these names, a place that the cut off restore filled could not be told from one of another lake.
    """

    def __init__(self, root: Path, backup: Path) -> None:
        """Read what an earlier restore left.

        Args:
            root: the data folder.
            backup: the backup that is to be restored now.
        """
        self._file, self._backup = root / _FILE, str(backup.resolve())
        earlier: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            earlier = json.loads(self._file.read_text(encoding="utf-8"))
        self._earlier = str(earlier.get("backup", ""))
        self._places: list[str] = earlier.get("places", [])

    def refuse_taken(self, place: str) -> None:
        """Raise BackupError for a place that is not empty, unless a restore of this backup filled it."""
        if place not in self._places:
            raise BackupError(
                f"{place} is not empty, and nothing is overwritten. Move it away, or name another data "
                "folder by HOLOCRON_DATA and another database by HOLOCRON_POSTGRES_URL"
            )
        if self._earlier != self._backup:
            raise BackupError(
                f"{place} is of a restore of {self._earlier} that did not end. Finish it by `holocron "
                f"restore {self._earlier}`, or empty that place and restore another backup"
            )

    def note(self, place: str) -> None:
        """Note a place just before it is filled, so that it is known after a crash at any moment."""
        kept = self._places if self._earlier == self._backup else []
        self._earlier, self._places = self._backup, [*kept, place]
        with replacing(self._file) as aside:
            aside.write_text(
                json.dumps({"backup": self._backup, "places": self._places}, indent=2), encoding="utf-8"
            )

    def end(self) -> None:
        """Forget the restore: all of it is there."""
        with suppress(FileNotFoundError):  # of a backup that has nothing to fill
            self._file.unlink()
            sync_folder(self._file.parent)
