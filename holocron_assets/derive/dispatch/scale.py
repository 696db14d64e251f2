"""How much was asked in this hour and this day, and whether an interrogation may ask for more.

Journals record each try before it begins, so restarts and other processes count. An answer that is known
already takes no try.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from time import monotonic

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.journals.following import Followed
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

_LOOK_SECONDS = 5.0
"""How often all journals are looked for. One that this process writes to is read at each count."""

_WINDOWS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


@dataclass(frozen=True)
class Reached:
    """A limit of which nothing is left.

    Attributes:
        limit: items in a window.
        window: 'hour' or 'day'.
        since: when the window began.
        until: when it ends, and more may be asked.
    """

    limit: int
    window: str
    since: datetime
    until: datetime

    def __str__(self) -> str:
        """The limit in words."""
        return f"its `scale_limit` of {self.limit} items a{'n' * (self.window == 'hour')} {self.window}"


def reached_limit(
    lake: Lake, interrogation: Interrogation, now: datetime, partition: str | None = None
) -> Reached | None:
    """The limit that keeps an interrogation from being asked about more items now; None if none does.

    Args:
        lake: where its journals are.
        interrogation: which.
        now: the moment.
        partition: the one that the caller works on, whose journal may be new.
    """
    limits = interrogation.scale_limit
    found = []
    for window, length in _WINDOWS.items():
        limit = getattr(limits, window, None)
        if limit is not None:
            since = _begin(now, window)
            if _tries(lake, interrogation, since, since + length, partition) >= limit:
                found.append(Reached(limit, window, since, since + length))
    return max(found, key=lambda one: one.until, default=None)


def _tries(
    lake: Lake, interrogation: Interrogation, since: datetime, until: datetime, partition: str | None
) -> int:
    """How many tries at items of an interrogation began in a time, except those that were broken off.

    What began later than now began on a clock that was ahead, and keeps nobody from asking.
    """
    touched = _touched(lake, interrogation.name, since)
    own = lake.journal(LLM_RUNS, scope_of(interrogation.name, partition or ""))
    if Journal(own).exists():
        touched.add(own)
    return sum(since <= moment < until for path in touched for moment in _moments(path))


def _begin(now: datetime, window: str) -> datetime:
    hour = now.replace(minute=0, second=0, microsecond=0)
    return hour if window == "hour" else hour.replace(hour=0)


@dataclass
class _Look:
    """The journals that were written to since a moment, as they were last looked for."""

    since: datetime
    at: float
    touched: set[Path] = field(default_factory=set)


_LOOKS: dict[tuple[Path, str], _Look] = {}
_Tries = dict[str, list[datetime]]
_TRIES: dict[Path, Followed[_Tries]] = {}
_READING = Lock()


def _touched(lake: Lake, name: str, since: datetime) -> set[Path]:
    known = _LOOKS.get((lake.root, name))
    if known and known.since <= since and monotonic() - known.at < _LOOK_SECONDS:
        return known.touched
    nanoseconds = int(since.timestamp()) * 10**9
    own = (scope for scope in lake.names_used(LLM_RUNS) if scope.startswith(scope_of(name, "")))
    paths = (lake.journal(LLM_RUNS, scope) for scope in own)
    touched = {path for path in paths if any(mark.mtime_ns >= nanoseconds for mark in Journal(path).marks())}
    _LOOKS[lake.root, name] = _Look(since, monotonic(), touched)
    return touched


def _moments(path: Path) -> list[datetime]:
    """When each try of a journal began, unless it was broken off."""
    with _READING:
        tries = _TRIES.setdefault(path, Followed(path, _Tries, _take)).value()
        return [moment for moments in tries.values() for moment in moments]


def _take(tries: _Tries, record: Row) -> None:
    if record["what"].startswith("begun"):
        tries.setdefault(record["key"], []).append(datetime.fromisoformat(record["at"]))
    elif record["what"] == "abandoned" and tries.get(record["key"]):
        tries[record["key"]].pop()
