"""What all processes of a machine know of a host. No clock of its own."""

from dataclasses import dataclass, field, replace

from holocron_assets.crawl.politeness import days, pace
from holocron_assets.crawl.politeness.breaker import LONGEST_OPEN_SECONDS, Breaker, BreakerState
from holocron_assets.crawl.politeness.days import Day
from holocron_assets.crawl.politeness.pace import Pace


@dataclass(frozen=True)
class HostState:
    """What is known of a host. Times are in seconds since 1970.

    Attributes:
        not_before: no request is sent to it before this moment.
        consecutive_failures: incidents since it last answered well.
        failed_at: when the last failure was learnt of.
        reason: why it is held, for people.
        pace: how fast it is asked.
        breaker: whether it is left alone altogether.
        day: the requests of its present day.
        seen_at: when this was last looked at.
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
        """What the breaker lets through."""
        return self.breaker.state(hold_seconds(self, now))


def hold_seconds(state: HostState, now: float) -> float:
    """Seconds for which the host is to be left alone; 0 if it may be asked.

    A hold longer than any we set comes from a damaged file or a clock that was wrong: it is void.
    """
    hold = state.not_before - now
    return hold if 0 < hold <= LONGEST_OPEN_SECONDS else 0.0


def on_this_clock(state: HostState, now: float) -> HostState:
    """The state as seen now.

    If it was last seen later than now, the clock was set back since: all its times move back as much, so
    that what was left to wait then is left to wait now.
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
