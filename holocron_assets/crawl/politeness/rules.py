"""How to treat a host. No input, output or clock.

Before a request: `(state, limits, now) -> permit`. After its answer: `(state, answer, now) -> decision`.

Every failure that may pass holds the whole host, not only the request that failed: the host needs rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from holocron_assets.crawl.http.outcomes import (
    LONGEST_WAIT_SECONDS,
    Answer,
    Outcome,
    is_strain,
    may_be_a_wall,
    outcome_of,
    retry_after_seconds,
)
from holocron_assets.crawl.politeness import days, pace
from holocron_assets.crawl.politeness.breaker import FAILURES_TO_OPEN, Breaker, open_seconds
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


_LARGEST_EXPONENT = 10
_LEAST_SHOWN_SECONDS = 1.0

_IN_WORDS: dict[Outcome, str] = {
    "maxlag": "its database lags behind",
    "throttled": "it asked for fewer requests",
    "captcha": "it wants proof that we are human",
    "server_error": "it answers with server errors",
    "client_error": "it refuses requests for now",
    "not_api": "something else than its API answers",
    "api_error": "its API reports errors",
    "network_error": "no whole answer comes",
}


@dataclass(frozen=True)
class Decision:
    """What to do after an answer.

    Attributes:
        outcome: the answer's outcome, as in table `http_attempts`.
        retry: whether the same request may work later.
        wait_seconds: how long to leave the host alone before the retry; None without retry.
        state: what is known of the host now.
        note: what changed in how the host is treated, for people; None when nothing did.
    """

    outcome: Outcome
    retry: bool
    wait_seconds: float | None
    state: HostState
    note: str | None = None


def judge(
    state: HostState, answer: Answer, now: float, jitter: float, slow_seconds: float = 10.0
) -> Decision:
    """Decide what an answer means for the request and for its host.

    Args:
        state: what was known of the host.
        answer: what came.
        now: seconds since 1970.
        jitter: a random number from 0 to 1, so that many clients do not come back at one moment.
        slow_seconds: how long a typical answer may take before the host is asked less.

    Returns:
        The decision. A wait is never shorter than the host asked for, and never shorter than the hold that it
        already has. It is never longer than 900 s, or than a day once the breaker opens.
    """
    state = on_this_clock(state, now)
    outcome, retry = outcome_of(answer)
    if retry:
        return _after_failure(state, answer, outcome, now, jitter)
    if answer.sent_at < state.failed_at or may_be_a_wall(answer.status, answer.headers):
        # A request that was sent before the failure says nothing of the time after it.
        # What may be the page of a firewall says nothing at all.
        return Decision(outcome, retry=False, wait_seconds=None, state=state)
    known = pace.after_answer_in(state.pace, answer.elapsed_seconds)
    state = replace(state, pace=known, consecutive_failures=0)
    if min(answer.elapsed_seconds, known.typical_seconds) > slow_seconds:
        state, note = _after_slow_answer(state, answer, now, jitter)
    else:
        state, note = _after_good_answer(state, now)
    return Decision(outcome, retry=False, wait_seconds=None, state=state, note=note)


def _after_failure(state: HostState, answer: Answer, outcome: Outcome, now: float, jitter: float) -> Decision:
    # Requests that were under way together and fail together are one incident.
    is_new = not answer.sent_at < state.failed_at
    failures = max(state.consecutive_failures + is_new, 1)
    by_captcha = outcome == "captcha"
    opens = (is_new and (failures >= FAILURES_TO_OPEN or state.breaker.is_open)) or (
        by_captcha and (is_new or not state.breaker.is_open)
    )
    breaker = state.breaker.opened() if opens else state.breaker
    backoff = 2.0 ** min(failures - 1, _LARGEST_EXPONENT) * (1 + jitter / 2)
    asked = retry_after_seconds(answer.headers, now) or 0.0
    wait = max(min(max(backoff, asked), LONGEST_WAIT_SECONDS), hold_seconds(state, now))
    if opens:
        wait = max(wait, open_seconds(breaker.openings, jitter, by_captcha=by_captcha))
    slows = is_new and (opens or is_strain(outcome, answer.status))
    times = f", {failures} times in a row" if failures > 1 else ""
    after = replace(
        state,
        not_before=now + wait,
        consecutive_failures=failures,
        failed_at=now,
        reason=f"{_IN_WORDS[outcome]}{times}" if is_new or opens else state.reason,
        pace=pace.after_strain(state.pace, now) if slows else state.pace,
        breaker=breaker,
    )
    note = _note(state, after, now) if is_new or opens else None
    return Decision(outcome, retry=True, wait_seconds=wait, state=after, note=note)


def _after_good_answer(state: HostState, now: float) -> tuple[HostState, str | None]:
    faster = pace.after_good_answer(state.pace, now)
    breaker = Breaker(openings=0 if faster.factor == 1 else state.breaker.openings)
    after = replace(state, pace=faster, breaker=breaker)
    return after, _note(state, after, now)


def _after_slow_answer(
    state: HostState, answer: Answer, now: float, jitter: float
) -> tuple[HostState, str | None]:
    """Ask a slow host less often; if it is already asked as little as possible, leave it alone."""
    closed = replace(state, breaker=replace(state.breaker, is_open=False))
    if answer.sent_at < state.pace.changed_at:
        return closed, None  # the request was sent before the pace was lowered
    slow = f"its answers take {state.pace.typical_seconds:.1f} s"
    slower = replace(closed, pace=pace.after_strain(state.pace, now), reason=slow)
    if state.pace.factor > pace.SLOWEST:
        return slower, _note(state, slower, now)
    breaker = state.breaker.opened()
    opened = replace(
        slower,
        not_before=now + open_seconds(breaker.openings, jitter, by_captcha=False),
        failed_at=now,
        reason=f"{slow}, however little it is asked",
        # Slow answers from before the rest must not count against the probe after it.
        pace=replace(slower.pace, typical_seconds=0.0),
        breaker=breaker,
    )
    return opened, _note(state, opened, now)


def _note(before: HostState, after: HostState, now: float) -> str | None:
    """What changed in how a host is treated."""
    notes = []
    hold = hold_seconds(after, now)
    if after.breaker.openings > before.breaker.openings:
        notes.append(f"left alone for {hold:.0f} s: {after.reason}")
    elif hold >= _LEAST_SHOWN_SECONDS and after.not_before > before.not_before:
        notes.append(f"held for {hold:.1f} s: {after.reason}")
    if before.breaker.is_open and not after.breaker.is_open:
        notes.append("asked again, as a probe was answered well")
    if after.pace.factor != before.pace.factor:
        how = "less" if after.pace.factor < before.pace.factor else "more"
        notes.append(f"asked {how}, at {after.pace.factor:.1%} of its rate")
    return "; ".join(notes) or None
