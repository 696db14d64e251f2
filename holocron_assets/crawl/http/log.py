"""The record of every HTTP request, kept as it is made so that a kill loses none, and its count by run."""

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from types import TracebackType
from typing import Self

from filelock import Timeout

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS

_DAY = re.compile(r"(?<=-)[0-9]{8}$")


class HttpLog:
    """Collects the `http_attempts` rows of one scope. A context manager, safe for threads.

    One process at a time uses a scope: a second one waits until the first has stored its rows.

    Attributes:
        scope: what the requests serve: a batch, or a source's seeds, changes or checks on one day
            (NAME-seeds-YYYYMMDD). It names the partition.
    """

    def __init__(self, lake: Lake, scope: str, tally: "Tally | None" = None) -> None:
        """Open the log of `scope` in `lake`; `tally` counts the same requests."""
        self.scope = scope
        self._lake, self._tally = lake, tally
        self._journal = Journal(lake.journal(HTTP_ATTEMPTS, scope))
        self._serving = lake.lock(f"http-{scope}")

    def __enter__(self) -> Self:
        """Wait for other processes that use the scope, and return the log itself."""
        self._serving.acquire()
        try:
            self._store_earlier_days()
        except BaseException:
            self._serving.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Move the journal's rows, those of killed runs too, into the partition's file."""
        try:
            self._journal.close()
            _store(self._lake, self.scope)
        finally:
            self._serving.release()

    def record(self, attempt: Row) -> None:
        """Add one row of table `http_attempts`, and count it."""
        self._journal.append(dict(attempt))
        if self._tally is not None:
            self._tally.add(attempt)

    def _store_earlier_days(self) -> None:
        """Store rows that killed processes left for the scope's earlier days: nobody opens those again."""
        day = _DAY.search(self.scope)
        if day is None:
            return
        same = re.compile(re.escape(self.scope[: day.start()]) + _DAY.pattern)
        for journal in self._lake.journals(HTTP_ATTEMPTS):
            scope = journal.parent.name
            # Just after midnight another process may still use a scope; that process stores it.
            if scope != self.scope and same.fullmatch(scope):
                with suppress(Timeout):
                    store_left(self._lake, scope)


def store_left(lake: Lake, scope: str) -> None:
    """Store the rows that killed processes left of a scope.

    Raises:
        Timeout: a process uses the scope.
    """
    with lake.lock(f"http-{scope}", timeout=0):
        _store(lake, scope)


def _store(lake: Lake, scope: str) -> None:
    journal = Journal(lake.journal(HTTP_ATTEMPTS, scope))
    journaled = [HTTP_ATTEMPTS.revive(record) for record in journal.records()]
    if not journaled:
        return
    stored = rows_there(lake, HTTP_ATTEMPTS, scope)
    # A kill between the next two lines leaves both; the id shows which rows are already stored.
    rows = {row["attempt_id"]: row for row in [*stored, *journaled]}
    write_partition(lake, HTTP_ATTEMPTS, scope, list(rows.values()))
    journal.remove()


_MOST_DECISIONS = 20


@dataclass
class Tally:
    """Counts over the requests of one run. Threads may add to it at once.

    Attributes:
        outcomes: attempts by outcome, including those that were refused before sending.
        sent: requests that were sent.
        retries: those of them that were not the first try.
        answer_ms: milliseconds that all answers took together.
        slowest_ms: milliseconds that the slowest answer took.
        waited_s: seconds waited for rate and slots.
        held_s: seconds spent leaving the host alone.
        pace: share of the configured rate in use at the end.
        lowest_pace: the least share in use.
        breaker: state of the breaker at the end.
        decisions: what changed in how the host was treated, the last 20.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    retries: int = 0
    answer_ms: float = 0.0
    slowest_ms: float = 0.0
    waited_s: float = 0.0
    held_s: float = 0.0
    pace: float = 1.0
    lowest_pace: float = 1.0
    breaker: str = "closed"
    decisions: list[str] = field(default_factory=list)
    _adding: Lock = field(default_factory=Lock, repr=False)

    def add(self, attempt: Row) -> None:
        """Count one row of table `http_attempts`."""
        with self._adding:
            self.outcomes[attempt["outcome"]] += 1
            if attempt["latency_ms"]:
                self._add_sent(attempt)
            self.pace, self.breaker = attempt["pace"], attempt["breaker"]
            self.lowest_pace = min(self.lowest_pace, attempt["pace"])
            if attempt["decision"]:
                self.decisions = [*self.decisions, _line(attempt)][-_MOST_DECISIONS:]

    def _add_sent(self, attempt: Row) -> None:
        self.sent += 1
        self.retries += attempt["attempt"] > 1
        self.answer_ms += attempt["latency_ms"]
        self.slowest_ms = max(self.slowest_ms, attempt["latency_ms"])
        self.waited_s += attempt["limiter_wait_s"]
        self.held_s += attempt["held_s"]


def _line(attempt: Row) -> str:
    return f"{attempt['started_at']:%H:%M:%S} UTC, after {attempt['outcome']}: {attempt['decision']}"
