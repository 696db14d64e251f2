"""Killing processes at commit points: where something becomes durable, or stops being there.

A point is a line: `sync PATH` (fsync of a file or folder), `rename TARGET`, `remove PATH`, or for SQLite
`commit DATABASE WHAT`, where WHAT is what was written: `INSERT INTO event_logs ASSET_MATERIALIZATION`, say.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

INJECTED = Path(__file__).parent / "injected"


@dataclass(frozen=True)
class CommitPoints:
    """The commit points of some processes, which may be made to die at one of them.

    Attributes:
        folder: where the processes note what they reached; one for each death.
        match: a regular expression; points that it is not found in do not count.
    """

    folder: Path
    match: str = ""

    def listed(self) -> dict[str, str]:
        """The environment for processes that only list their points."""
        return self._environment(at=0, when="before")

    def deadly(self, at: int, when: str) -> dict[str, str]:
        """The environment for processes of which one dies by SIGKILL, once, `before` or `after` a point.

        Args:
            at: number of the point, counted from 1 over all processes; it may never be reached.
            when: `before` or `after`.
        """
        return self._environment(at=at, when=when)

    def reached(self) -> list[str]:
        """The points that were reached, in order, up to the death."""
        file = self.folder / "reached"
        return file.read_text().splitlines() if file.exists() else []

    def died(self) -> str | None:
        """At what point a process died, after `before` or `after`; None if none did."""
        file = self.folder / "died"
        return file.read_text().strip() if file.exists() else None

    def _environment(self, **chosen: object) -> dict[str, str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        fault = {"match": self.match, "folder": str(self.folder), **chosen}
        return {"PYTHONPATH": python_path(os.environ), "HOLOCRON_TEST_FAULT": json.dumps(fault)}


def python_path(environment: Mapping[str, str]) -> str:
    """PYTHONPATH with the folder of `sitecustomize.py` before what is there."""
    return os.pathsep.join(filter(None, (str(INJECTED), environment.get("PYTHONPATH", ""))))


_UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|(?<=[./])tmp\w{8}|\b[0-9a-f]{8,}\b")


def point_class(point: str) -> str:
    """What kind of point one is: its line without what is new in each run, so that a class is tried once."""
    return _UNIQUE.sub("*", point)
