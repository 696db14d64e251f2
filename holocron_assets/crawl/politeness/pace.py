"""How fast a host is asked: in bursts, slower under strain, then gradually faster. It reads no clock."""

import math
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

SLOWEST = 1 / 32
"""The least share of the configured rate."""

_SLOW_DOWN = 0.5
_SPEED_UP = 1.25
_ANSWERS_TO_SPEED_UP = 10
_SECONDS_TO_SPEED_UP = 30.0
_WEIGHT_OF_NEWEST = 0.3


@dataclass(frozen=True)
class Pace:
    """How fast a host is asked now. Times are in seconds since 1970.

    Attributes:
        factor: share of the configured rate in use.
        changed_at: when it last changed.
        good_answers: good answers since then.
        spaced_until: when the next request would leave if all left evenly spaced. Bursts leave earlier.
        typical_seconds: how long an answer takes; newer answers count more; 0 before the first.
    """

    factor: Annotated[float, Field(ge=SLOWEST, le=1)] = 1.0
    changed_at: float = 0.0
    good_answers: int = 0
    spaced_until: float = 0.0
    typical_seconds: float = 0.0


def seconds_to_next(pace: Pace, rate: float, burst: int, now: float) -> float:
    """How long until a request may leave; 0 if it may now.

    In any t seconds at most `burst + rate * t` requests leave, even if the pace changes in that time: a
    slowed host's bursts are smaller too.

    Args:
        pace: the host's.
        rate: configured requests a second.
        burst: requests that may leave at once after a rest.
        now: seconds since 1970.
    """
    ahead = max(math.floor(burst * pace.factor), 1) - 1
    return max(pace.spaced_until - ahead / (rate * pace.factor) - now, 0.0)


def after_request(pace: Pace, rate: float, now: float) -> Pace:
    """The pace after a request was sent."""
    return replace(pace, spaced_until=max(pace.spaced_until, now) + 1 / (rate * pace.factor))


def after_strain(pace: Pace, now: float) -> Pace:
    """Half as fast as before."""
    return replace(pace, factor=max(pace.factor * _SLOW_DOWN, SLOWEST), changed_at=now, good_answers=0)


def after_good_answer(pace: Pace, now: float) -> Pace:
    """A quarter faster, if since the last change enough good answers came and enough time passed."""
    if pace.factor == 1:
        return pace
    good = pace.good_answers + 1
    if good < _ANSWERS_TO_SPEED_UP or now - pace.changed_at < _SECONDS_TO_SPEED_UP:
        return replace(pace, good_answers=good)
    return replace(pace, factor=min(pace.factor * _SPEED_UP, 1.0), changed_at=now, good_answers=0)


def after_answer_in(pace: Pace, seconds: float) -> Pace:
    """The pace after one more answer that took `seconds`."""
    known = pace.typical_seconds or seconds
    return replace(pace, typical_seconds=known + _WEIGHT_OF_NEWEST * (seconds - known))


def moved_back(pace: Pace, seconds: float) -> Pace:
    """The pace by a clock that was set back by `seconds`."""
    return replace(
        pace, changed_at=pace.changed_at - seconds, spaced_until=max(pace.spaced_until - seconds, 0.0)
    )
