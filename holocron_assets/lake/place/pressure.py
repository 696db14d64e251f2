"""Whether the disk of the data folder, or the store of a shared lake, is too full or too slow for more work.

What a process finds is noted beside the locks, so that all processes of this machine say the same, and since
when. A bound that was passed is kept until there is clearly more room or speed, so that work does not start
and stop with every small change.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import monotonic

from holocron_assets.errors import TransientError
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.settings import Bounds, bounds

MEASURE_SECONDS = 10.0
"""A process measures at most this often."""

_ROOM_AGAIN = 1.25
"""Work starts again when so many times the least free space is free."""

_FAST_AGAIN = 0.5
"""Work starts again when a write takes at most this share of the longest time."""

_GB = 1e9
_PROBE = b"\0" * 4096


@dataclass(frozen=True)
class Pressure:
    """Why nothing new is to be started.

    Attributes:
        reason: what is passed, with the measured value and its bound.
        since: since when.
    """

    reason: str
    since: datetime


def pressure_on(root: Path) -> Pressure | None:
    """Why nothing new is to be started on a data folder; None if nothing keeps it.

    Raises:
        SettingError: a bound in the environment is no number.
    """
    return _GAUGES.setdefault(root, _Gauge(root)).read(bounds())


@dataclass
class _Gauge:
    """What this process knows of a data folder. Safe for threads: one measures, the others do not wait."""

    root: Path
    _read_at: float = -1e9
    _pressure: Pressure | None = None
    _was_slow: dict[str, bool] = field(default_factory=dict)
    _measuring: Lock = field(default_factory=Lock)

    def read(self, limits: Bounds) -> Pressure | None:
        if monotonic() - self._read_at >= MEASURE_SECONDS and self._measuring.acquire(blocking=False):
            try:
                self._pressure = self._measured(limits)
                self._read_at = monotonic()
            finally:
                self._measuring.release()
        return self._pressure

    def _measured(self, limits: Bounds) -> Pressure | None:
        note = self.root / "locks" / "pressure.json"
        noted = _noted(note)
        found = dict([*self._full(limits, noted), *self._slow(limits, noted)])
        since = {kind: noted.get(kind, utc_now().isoformat()) for kind in found}
        if since != noted:
            with suppress(OSError):  # the disk is full, or read-only: the next process measures for itself
                _keep(note, since)
        if not found:
            return None
        return Pressure("; ".join(found.values()), datetime.fromisoformat(min(since.values())))

    def _full(self, limits: Bounds, noted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        folders = self._folders()
        frees = {folder: shutil.disk_usage(_that_is_there(folder)).free / _GB for folder in folders}
        fullest = min(folders, key=frees.__getitem__)
        if frees[fullest] < limits.free_gb * (_ROOM_AGAIN if "room" in noted else 1):
            bound = f"{limits.free_gb:g} GB must be (HOLOCRON_FREE_GB)"
            yield "room", f"{frees[fullest]:.2f} GB are free on the disk of {fullest}, and {bound}"

    def _folders(self) -> list[Path]:
        """A folder of each disk that takes data: `lake` may be a link to another disk."""
        lake = self.root / "lake"
        with suppress(FileNotFoundError):  # there is no lake yet, or its disk is not mounted
            if lake.stat().st_dev != self.root.stat().st_dev:
                return [self.root, lake]
        return [self.root]

    def _slow(self, limits: Bounds, noted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        mirror, places = mirror_of(self.root), " or ".join(map(str, self._folders()))
        for kind, limit, what, write in (
            ("disk", limits.disk_seconds, f"the disk of {places}", self._write),
            ("store", limits.store_seconds, mirror.url if mirror else "", mirror.probe if mirror else None),
        ):
            if not limit or write is None:
                continue
            seconds = _seconds_of(write)
            is_slow = seconds > limit * (_FAST_AGAIN if kind in noted else 1)
            # One slow write says little: another program may have written much at that moment.
            if is_slow and (kind in noted or self._was_slow.get(kind)):
                name = f"HOLOCRON_{kind.upper()}_SECONDS"
                yield kind, f"a small write to {what} took {seconds:.1f} s, more than {limit:g} s ({name})"
            self._was_slow[kind] = is_slow

    def _write(self) -> None:
        """Write a small file on each disk, and wait for it."""
        for folder in self._folders():
            _probe(folder / "locks" if folder == self.root else folder)


_GAUGES: dict[Path, _Gauge] = {}


def _that_is_there(folder: Path) -> Path:
    return next(one for one in (folder, *folder.parents) if one.exists())


def _probe(folder: Path) -> None:
    probe = folder / f".probe-{os.getpid()}"
    try:
        opened = os.open(probe, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.write(opened, _PROBE)
            os.fsync(opened)
        finally:
            os.close(opened)
    finally:
        probe.unlink(missing_ok=True)


def _seconds_of(write: Callable[[], object]) -> float:
    """How long a write takes; 0 if it fails, since the work that fails for that names the reason itself."""
    began = monotonic()
    try:
        write()
    except (OSError, TransientError):
        return 0.0
    return monotonic() - began


def _noted(note: Path) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _keep(note: Path, since: Mapping[str, str]) -> None:
    if not since:
        note.unlink(missing_ok=True)
        return
    with replacing(note) as aside:
        aside.write_text(json.dumps(since), encoding="utf-8")
