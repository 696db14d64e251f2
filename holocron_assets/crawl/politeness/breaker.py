"""When a host is left alone entirely, and how it is tried again. It reads no clock.

After repeated failures the breaker opens: nothing is sent. Once its time has passed it is half open: one
request at a time is a probe. A good answer closes it, another failure opens it for longer.
"""

from dataclasses import dataclass
from typing import Literal

FAILURES_TO_OPEN = 5
"""Incidents in a row that open the breaker. A captcha opens it at once."""

LONGEST_OPEN_SECONDS = 86_400.0

_FIRST_OPEN_SECONDS = 300.0
_FIRST_CAPTCHA_SECONDS = 3600.0
_LARGEST_EXPONENT = 10

BreakerState = Literal["closed", "open", "half_open"]


@dataclass(frozen=True)
class Breaker:
    """The breaker of a host.

    Attributes:
        is_open: whether it is open, or half open once the host's hold has passed.
        openings: how often it has opened since the host was last asked at its full rate.
    """

    is_open: bool = False
    openings: int = 0

    def opened(self) -> "Breaker":
        """The breaker after it opens once more."""
        return Breaker(is_open=True, openings=self.openings + 1)

    def state(self, hold_seconds: float) -> BreakerState:
        """The breaker's state while the host is held for `hold_seconds`."""
        if not self.is_open:
            return "closed"
        return "open" if hold_seconds > 0 else "half_open"


def open_seconds(openings: int, jitter: float, *, by_captcha: bool) -> float:
    """How long the breaker stays open: 5 minutes, an hour after a captcha, doubled each time up to a day.

    Args:
        openings: how often it opened, including this time.
        jitter: a random number from 0 to 1, which lengthens the time by up to half.
        by_captcha: whether a captcha opened it.
    """
    first = _FIRST_CAPTCHA_SECONDS if by_captcha else _FIRST_OPEN_SECONDS
    doubled = first * 2.0 ** min(openings - 1, _LARGEST_EXPONENT)
    return min(doubled * (1 + jitter / 2), LONGEST_OPEN_SECONDS)
