"""The state of a host that all processes of a machine share. It reads no clock."""

from dataclasses import dataclass, field, replace

from holocron_assets.crawl.politeness import days, pace
from holocron_assets.crawl.politeness.breaker import LONGEST_OPEN_SECONDS, Breaker, BreakerState
from holocron_assets.crawl.politeness.days import Day
from holocron_assets.crawl.politeness.pace import Pace


@dataclass(frozen=True)
class HostState:
    """The state of a host. Times are in seconds since 1970.

    Attributes:
        not_before: no request is sent to it before this moment.
        consecutive_failures: incidents since it last answered well.
        failed_at: when the last failure was noticed.
        reason: why it is held, for people.
        pace: how fast it is asked.
        breaker: whether it is left alone entirely.
        day: the requests of its current day.
        seen_at: when this state was last read.
    """

    not_before: float = 0.0
    consecutive_failures: int = 0
    failed_at: float = 0.0
    reason: str = ""
    pace: Pace = field(default_factory=Pace)
    breaker: Breaker = field(default_factory=Breaker)
    day: Day = field(default_factory=Day)
    seen_at: float = 0.0

    def breaker_state(self, now: float) -> BreakerState:
        """The breaker's state at `now`."""
        return self.breaker.state(hold_seconds(self, now))


def hold_seconds(state: HostState, now: float) -> float:
    """Seconds for which the host must be left alone; 0 if it may be asked.

    A hold longer than any we set comes from a damaged file or a wrong clock: it does not count.
    """
    hold = state.not_before - now
    return hold if 0 < hold <= LONGEST_OPEN_SECONDS else 0.0


def on_this_clock(state: HostState, now: float) -> HostState:
    """The state by the clock's current time.

    If the state was last read at a later time than now, the clock has been set back. Then all its times move
    back as much, so that the remaining wait stays the same.
    """
    back = max(state.seen_at, state.failed_at) - now
    if back <= 0:
        return replace(state, seen_at=now)
    return replace(
        state,
        not_before=max(state.not_before - back, 0.0),
        failed_at=max(state.failed_at - back, 0.0),
        pace=pace.moved_back(state.pace, back),
        day=days.moved_back(state.day, back),
        seen_at=now,
    )
