"""What was done in each session of a life, and what it left: taken down, and shown in tables."""

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import median

from rich.table import Table

from simulation.footprint import MIB, Footprint
from simulation.life import Counts, Life

_DAYS_IN_YEAR = 365
_SECONDS_IN_DAY = 86_400
_DAYS_KEPT = 2  # of ticks that found nothing to do, by dagster.yaml


@dataclass(frozen=True)
class Session:
    """A day, or another period.

    Attributes:
        name: for the tables.
        done: in it.
        ticks: how long each sensor took in it, in seconds, by name.
        left: at its end.
        seconds: that it took by a clock that nobody moves.
    """

    name: str
    done: Counts
    ticks: dict[str, list[float]]
    left: Footprint
    seconds: float


class Diary:
    """The sessions of a life, in order.

    Attributes:
        sessions: taken down so far.
    """

    def __init__(self, life: Life) -> None:
        """Begin to count now."""
        self.sessions: list[Session] = []
        self._life = life
        self._mark()

    def write(self, name: str) -> str:
        """Take down the session that ends now, and describe it in a line."""
        counts = self._life.counts()
        before = asdict(self._counts)
        done = Counts(**{what: count - before[what] for what, count in asdict(counts).items()})
        ticks = self._life.tick_seconds(self._since)
        left = self._life.footprint()
        self.sessions.append(Session(name, done, ticks, left, time.perf_counter() - self._started))
        self._mark()
        return f"{name}: {done.changes} changes, {done.texts} pages fetched, {done.runs} runs"

    def _mark(self) -> None:
        self._counts, self._since = self._life.counts(), datetime.now(UTC)
        self._started = time.perf_counter()


def done_table(sessions: list[Session]) -> Table:
    """What was done in each session."""
    headings = [name.replace("_", " ") for name in asdict(sessions[0].done)]
    table = Table("done in", *headings, "ms a sensor's tick, median/most", "took s")
    for session in sessions:
        ticks = [second for seconds in session.ticks.values() for second in seconds]
        counts = [f"{count:,}" for count in asdict(session.done).values()]
        table.add_row(session.name, *counts, _median_and_most(ticks), f"{session.seconds:.0f}")
    return table


def left_table(sessions: list[Session]) -> Table:
    """What was there at the end of each session."""
    headings = [name.replace("bytes", "MiB").replace("_", " ") for name in asdict(sessions[0].left)]
    table = Table("at the end of", *headings)
    for session in sessions:
        table.add_row(session.name, *(_shown(name, count) for name, count in asdict(session.left).items()))
    return table


def ticks_table(first: Session, last: Session) -> Table:
    """How long sensors took in two sessions: whether they grow slower."""
    table = Table("ms a tick, median/most", first.name, last.name)
    for name in sorted(last.ticks):
        table.add_row(name, *(_median_and_most(session.ticks.get(name, [])) for session in (first, last)))
    return table


def year_table(start: Session, end: Session, days: int, intervals: dict[str, int]) -> Table:
    """What a day adds, from one session's end to another's, and what a year of such days would.

    Args:
        start: the session before the days.
        end: the last of the days.
        days: between them.
        intervals: seconds between ticks, by sensor, as they really are.
    """
    table = Table("added", "a day", "a year")
    before, after = asdict(start.left), asdict(end.left)
    for name in ("event_rows", "event_files", "event_bytes", "log_bytes", "lake_files", "lake_bytes"):
        a_day = (after[name] - before[name]) / days
        heading = name.replace("bytes", "MiB").replace("_", " ")
        table.add_row(heading, _shown(name, a_day), _shown(name, a_day * _DAYS_IN_YEAR))
    ticks = sum(_SECONDS_IN_DAY / seconds for seconds in intervals.values())
    tick_bytes = ticks * end.left.tick_bytes / end.left.tick_rows
    kept = f"{{}}, as those of {_DAYS_KEPT} days are kept"
    table.add_row("tick rows", f"{ticks:,.0f}", kept.format(f"{ticks * _DAYS_KEPT:,.0f}"))
    table.add_row(
        "tick MiB", _shown("bytes", tick_bytes), kept.format(_shown("bytes", tick_bytes * _DAYS_KEPT))
    )
    return table


def _median_and_most(seconds: list[float]) -> str:
    return f"{median(seconds) * 1000:.0f}/{max(seconds) * 1000:.0f}" if seconds else ""


def _shown(name: str, count: float) -> str:
    return f"{count / MIB:,.1f}" if name.endswith("bytes") else f"{count:,.0f}"
