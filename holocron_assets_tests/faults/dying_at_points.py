"""Watches a process's commit points, and kills it at one of them; `commit_points.py` says what they are.

It imports nothing of Holocron, and Holocron knows nothing of it.
"""

import fcntl
import os
import re
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WRITTEN = re.compile(
    r"^\s*(INSERT(?: OR \w+)? INTO|REPLACE INTO|UPDATE|DELETE FROM)\s+[\"`]?(\w+)", re.IGNORECASE
)
_NAMED = re.compile(r"'([A-Z]{3,}(?:_[A-Z]+)*)'")
"""Of a statement with its values, what kind of event or which status it writes."""


class Points:
    """The commit points that were reached, of all processes, in a file that they share."""

    def __init__(self, match: str, at: int, when: str, folder: str) -> None:
        self._match, self._at, self._when = re.compile(match), at, when
        self._reached, self._died = Path(folder) / "reached", Path(folder) / "died"

    def around(self, kind: str, path: object, step: Callable[[], Any]) -> Any:
        """Take a step that commits something, and die before or after it if this is the point chosen."""
        point = f"{kind} {os.fspath(path) if isinstance(path, os.PathLike) else path}"
        chosen = bool(self._match.search(point)) and self._count(point) == self._at
        if chosen and self._when == "before":
            self._die(point)
        try:
            return step()
        finally:  # also where there was nothing to remove
            if chosen:
                self._die(point)

    def _count(self, point: str) -> int:
        """Note a point; give its number. After a death none is noted, so that nobody dies again."""
        if self._died.exists():
            return 0
        with self._reached.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            number = sum(1 for _ in file) + 1
            file.write(f"{point}\n")
        return number

    def _die(self, point: str) -> None:
        self._died.write_text(f"{self._when} {point}\n")
        os.kill(os.getpid(), signal.SIGKILL)


class _CommittingConnection(sqlite3.Connection):
    """A connection to SQLite whose commits are commit points, named by file and by what they write."""

    points: Points

    def __init__(self, database: Any, *arguments: Any, **settings: Any) -> None:
        super().__init__(database, *arguments, **settings)
        self._file, self._writes = os.fspath(database), list[str]()
        self.set_trace_callback(self._note)

    def _note(self, statement: str) -> None:
        if written := _WRITTEN.match(statement):
            named = _NAMED.search(statement)
            self._writes.append(f"{written[1]} {written[2]} {named[1] if named else ''}".strip())

    def commit(self) -> None:
        wrote, self._writes = ", ".join(self._writes), []
        if wrote:
            self.points.around("commit", f"{self._file} {wrote}", super().commit)
        else:
            super().commit()


def watch(points: Points) -> None:
    """Let every commit point of this process go by `points`."""
    fsync, replace, rename, remove = os.fsync, os.replace, os.rename, os.unlink
    connect = sqlite3.dbapi2.connect

    def synced(descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        points.around("sync", Path(f"/proc/self/fd/{number}").readlink(), lambda: fsync(descriptor))

    def replaced(source: Any, target: Any, **folders: Any) -> None:
        points.around("rename", target, lambda: replace(source, target, **folders))

    def renamed(source: Any, target: Any, **folders: Any) -> None:
        points.around("rename", target, lambda: rename(source, target, **folders))

    def removed(path: Any, **folder: Any) -> None:
        points.around("remove", path, lambda: remove(path, **folder))

    def connected(*arguments: Any, **settings: Any) -> Any:
        return connect(*arguments, **{"factory": _CommittingConnection, **settings})

    _CommittingConnection.points = points
    watched = {"fsync": synced, "replace": replaced, "rename": renamed, "unlink": removed, "remove": removed}
    for name, step in watched.items():
        setattr(os, name, step)
    for module in (sqlite3, sqlite3.dbapi2):
        setattr(module, "connect", connected)  # noqa: B010 - it has another signature
