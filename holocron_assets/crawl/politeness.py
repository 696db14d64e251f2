"""How to treat a host after each answer: `(state, answer, now) -> decision`. No input, output or clock.

Every failure that may pass holds the whole host, not only the request that met it: what it needs is rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Literal

Outcome = Literal[
    "ok", "maxlag", "throttled", "server_error", "client_error", "not_api", "api_error", "network_error"
]

LONGEST_WAIT_SECONDS = 900.0

# RFC 9110 section 10.2.3: delay-seconds = 1*DIGIT
_DELAY_SECONDS = re.compile(r"[0-9]+")
_LARGEST_EXPONENT = 10

# RFC 9110 section 15.5.9 and RFC 8470 section 5.2: the same request may be sent again.
_TRANSIENT_CLIENT_ERRORS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
# What bot walls answer with a page for people. The API itself refuses in JSON.
_CHALLENGE_STATUSES = frozenset(
    {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED}
)

# https://www.mediawiki.org/wiki/API:Errors_and_warnings. A code that is not here is taken to be transient.
_PERMANENT_API_ERRORS = frozenset(
    {
        "apidisabled",
        "badcontinue",
        "badinteger",
        "badvalue",
        "blocked",
        "invalidcategory",
        "invalidparammix",
        "invalidtitle",
        "missingparam",
        "mustbeposted",
        "permissiondenied",
        "readapidenied",
        "toomanyvalues",
        "unknown_action",
    }
)


@dataclass(frozen=True)
class HostState:
    """What is known of a host.

    Attributes:
        not_before: no request is sent to it before this moment, in seconds since 1970.
        consecutive_failures: incidents since it last answered well.
        failed_at: when the last failure was learnt of, in seconds since 1970.
    """

    not_before: float = 0.0
    consecutive_failures: int = 0
    failed_at: float = 0.0


@dataclass(frozen=True)
class Answer:
    """What came back for one request.

    Attributes:
        sent_at: when it was sent, in seconds since 1970.
        status: HTTP status; None when none came.
        complete: whether the whole answer came.
        is_api: whether the body is the API's JSON.
        api_error: the API's error code, whatever the HTTP status.
        headers: HTTP headers, their names in lower case.
    """

    sent_at: float
    status: int | None
    complete: bool = True
    is_api: bool = False
    api_error: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """What to do after an answer.

    Attributes:
        outcome: what the answer amounts to, as in table `http_attempts`.
        retry: whether the same request may work later.
        wait_seconds: how long to leave the host alone before it; None without retry.
        state: what is known of the host now.
    """

    outcome: Outcome
    retry: bool
    wait_seconds: float | None
    state: HostState

    @property
    def permanent(self) -> bool:
        """Whether the request would fail again unchanged."""
        return self.outcome != "ok" and not self.retry


def judge(state: HostState, answer: Answer, now: float, jitter: float) -> Decision:
    """Decide what an answer means for the request and for its host.

    Args:
        state: what was known of the host.
        answer: what came.
        now: seconds since 1970.
        jitter: a random number from 0 to 1, so that many clients do not come back at one moment.

    Returns:
        The decision. A wait is never shorter than the host asked for, nor than what already holds it, and
        never longer than 900 s.
    """
    outcome, retry = _judge_request(answer)
    same_incident = answer.sent_at < state.failed_at <= now
    if not retry:
        recovered = state if same_incident else replace(state, consecutive_failures=0)
        return Decision(outcome, retry=False, wait_seconds=None, state=recovered)
    failures = max(state.consecutive_failures + (not same_incident), 1)
    backoff = 2.0 ** min(failures - 1, _LARGEST_EXPONENT) * (1 + jitter / 2)
    asked = retry_after_seconds(answer.headers, now) or 0.0
    wait = min(max(backoff, asked, hold_seconds(state, now)), LONGEST_WAIT_SECONDS)
    return Decision(outcome, retry=True, wait_seconds=wait, state=HostState(now + wait, failures, now))


def hold_seconds(state: HostState, now: float) -> float:
    """Seconds for which the host is to be left alone; 0 if it may be asked.

    A hold longer than any we set means that the clock was moved back since: it is void.
    """
    hold = state.not_before - now
    return hold if 0 < hold <= LONGEST_WAIT_SECONDS else 0.0


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """The wait that an answer asks for (RFC 9110 section 10.2.3), at most 900 s.

    A date is read against the answer's own Date, so that a host whose clock is wrong is understood.

    Args:
        headers: HTTP headers, their names in lower case.
        now: seconds since 1970.

    Returns:
        Seconds; None if the header is absent, in the past, or neither a number nor a date.
    """
    value = headers.get("retry-after", "").strip()
    if _DELAY_SECONDS.fullmatch(value):
        return min(float(value), LONGEST_WAIT_SECONDS)
    moment = _http_date(value)
    if moment is None:
        return None
    sent = _http_date(headers.get("date", ""))
    wait = moment - (now if sent is None else sent)
    return min(wait, LONGEST_WAIT_SECONDS) if wait > 0 else None


def _http_date(value: str) -> float | None:
    try:
        # It reads all three forms of RFC 9110 section 5.6.7; the asctime form names no zone and is in UTC.
        moment = parsedate_to_datetime(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _judge_request(answer: Answer) -> tuple[Outcome, bool]:
    """What an answer amounts to, and whether the same request may work later."""
    if answer.status is None or not answer.complete:
        return "network_error", True
    if answer.api_error == "maxlag":
        return "maxlag", True
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.api_error == "ratelimited":
        return "throttled", True
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error", True
    if answer.api_error is not None:
        return "api_error", answer.api_error not in _PERMANENT_API_ERRORS
    return _judge_status(answer.status, is_api=answer.is_api)


def _judge_status(status: int, *, is_api: bool) -> tuple[Outcome, bool]:
    if status in _CHALLENGE_STATUSES:
        return "not_api", True
    if status >= HTTPStatus.BAD_REQUEST:
        return "client_error", status in _TRANSIENT_CLIENT_ERRORS
    return ("ok", False) if is_api else ("not_api", True)
