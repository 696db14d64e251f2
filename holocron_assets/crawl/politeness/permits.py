"""Whether a request may leave now: `(state, limits, now) -> permit`. No input, output or clock."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from holocron_assets.crawl.politeness import days, pace
from holocron_assets.crawl.politeness.host_state import HostState, hold_seconds, on_this_clock
from holocron_assets.crawl.sources.settings import Politeness

Hindrance = Literal["held", "breaker_open", "quiet_hours", "daily_limit", "rate", "slot"]
"""Why a request may not leave now. All but the last two are also outcomes in table `http_attempts`."""


@dataclass(frozen=True)
class Obstacle:
    """Why a request may not leave now.

    Attributes:
        hindrance: the kind of obstacle.
        wait_seconds: how long it lasts, as far as is known.
        reason: for people.
    """

    hindrance: Hindrance
    wait_seconds: float
    reason: str


@dataclass(frozen=True)
class Permit:
    """Whether a request may leave now.

    Attributes:
        obstacle: what is in the way; None if it may leave.
        one_at_a_time: whether it is a probe, which may leave only while no other request is under way.
        state: what is known of the host if the request does not leave.
        state_once_sent: what is known of the host if it does.
    """

    obstacle: Obstacle | None
    one_at_a_time: bool
    state: HostState
    state_once_sent: HostState


def permit(state: HostState, politeness: Politeness, now: float) -> Permit:
    """Decide whether a request may leave now.

    Args:
        state: what is known of the host.
        politeness: the limits set for it.
        now: seconds since 1970.
    """
    state = on_this_clock(state, now)
    obstacle = max(_obstacles(state, politeness, now), key=lambda found: found.wait_seconds, default=None)
    rate = politeness.requests_per_second
    if obstacle is None and (wait := pace.seconds_to_next(state.pace, rate, politeness.burst, now)):
        obstacle = Obstacle("rate", wait, f"its rate is {rate * state.pace.factor:g} requests a second")
    sent = replace(
        state,
        pace=pace.after_request(state.pace, rate, now),
        day=days.after_request(state.day, politeness.timezone, now),
    )
    return Permit(obstacle, state.breaker.is_open, state, sent)


def _obstacles(state: HostState, politeness: Politeness, now: float) -> Iterator[Obstacle]:
    if hold := hold_seconds(state, now):
        hindrance: Hindrance = "breaker_open" if state.breaker.is_open else "held"
        why = f" ({state.reason})" if state.reason else ""
        yield Obstacle(hindrance, hold, f"it is being left alone{why}")
    if quiet := days.quiet_seconds(politeness.quiet_hours, politeness.timezone, now):
        yield Obstacle("quiet_hours", quiet, f"these are its quiet hours ({politeness.timezone})")
    limit = politeness.requests_per_day
    if over := days.seconds_to_next_day(state.day, limit, now):
        yield Obstacle("daily_limit", over, f"the {limit} requests that it may be sent in a day were sent")
