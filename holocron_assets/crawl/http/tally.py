"""Counts over the requests of one run: rows of `http_attempts`, counted as they are made."""

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

from holocron_assets.lake.declaration.schema import Row

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
