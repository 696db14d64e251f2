"""An answer, and what it means: good, refused for good, or failed for now. No input, output or clock."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from importlib import resources
from typing import Any, Literal

from holocron_assets.lake.files.people_yaml import load_yaml

Outcome = Literal[
    "ok",
    "maxlag",
    "throttled",
    "captcha",
    "server_error",
    "client_error",
    "not_api",
    "api_error",
    "network_error",
]

MOST_REDIRECTS = 5
"""Redirects that are followed one after another, as RFC 9309 section 2.3.1.2 asks for robots.txt."""

LONGEST_WAIT_SECONDS = 900.0
"""Longest wait that is granted to an answer which asks for one."""

# RFC 9110 section 10.2.3: delay-seconds = 1*DIGIT
_DELAY_SECONDS = re.compile(r"[0-9]+")

# RFC 9110 section 15.5.9 and RFC 8470 section 5.2: the same request may be sent again.
_TRANSIENT_CLIENT_ERRORS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
# Protections against robots use these with a page for people. The API itself refuses in JSON.
_WALL_STATUSES = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED})
_PAGES_FOR_PEOPLE = ("text/html", "text/plain", "application/xhtml+xml")
_OVERLOAD_STATUSES = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
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
class HttpAnswer:
    """What came back for one request.

    Attributes:
        status: HTTP status; None when none came.
        headers: the answer's headers, their names in lower case.
        body: the decompressed body; empty when `error` is set.
        elapsed_seconds: from sending to the body's end, or to the error.
        error: why there is no whole answer; None when there is one.
        private_host: the host whose address is not public, so that no connection was made; None otherwise.
        streamed_bytes: bytes on the wire that went to a receiver instead of `body`.
        cause: the exception that `error` names.
        headers_seconds: from sending to the headers of a body that went to a receiver; None otherwise.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    elapsed_seconds: float = 0.0
    error: str | None = None
    private_host: str | None = None
    streamed_bytes: int = 0
    cause: Exception | None = field(default=None, repr=False, compare=False)
    headers_seconds: float | None = None


@dataclass(frozen=True)
class Answer:
    """What came back for one request.

    Attributes:
        sent_at: when it was sent, in seconds since 1970.
        status: HTTP status; None when none came.
        complete: whether the whole answer came.
        is_expected: whether the body is what was asked for: the API's JSON, or a robots.txt.
        is_challenge: whether it asks for proof of being human.
        api_error: the API's error code, whatever the HTTP status.
        elapsed_seconds: how long the host took: from sending to the body's end, or to the error. For a file,
            to its headers: how long its body takes depends on its size.
        headers: HTTP headers, their names in lower case.
    """

    sent_at: float
    status: int | None
    complete: bool = True
    is_expected: bool = False
    is_challenge: bool = False
    api_error: str | None = None
    elapsed_seconds: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)


def outcome_of(answer: Answer) -> tuple[Outcome, bool]:
    """The outcome of an answer, and whether the same request may work later."""
    if answer.status is None or not answer.complete:
        return "network_error", True
    if answer.is_challenge:
        return "captcha", True
    if answer.api_error == "maxlag":
        return "maxlag", True
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.api_error == "ratelimited":
        return "throttled", True
    if answer.api_error is not None and answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return "api_error", answer.api_error not in _PERMANENT_API_ERRORS
    return _outcome_of_status(answer.status, is_expected=answer.is_expected)


def is_strain(outcome: Outcome, status: int | None) -> bool:
    """Whether a failure shows that the host has too much to do, so that it should be asked less."""
    return outcome in {"maxlag", "throttled", "captcha"} or status in _OVERLOAD_STATUSES


def may_be_a_wall(status: int | None, headers: Mapping[str, str]) -> bool:
    """Whether a firewall may have refused a request: 403 with a page for people.

    A server that refuses one file answers the same. Only what it answers to something else tells which it is.

    Args:
        status: HTTP status.
        headers: HTTP headers, their names in lower case.
    """
    stated = headers.get("content-type", "").strip().lower()
    return status == HTTPStatus.FORBIDDEN and stated.startswith(_PAGES_FOR_PEOPLE)


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """The wait that an answer asks for (RFC 9110 section 10.2.3), at most 900 s.

    A date is compared with the answer's own Date, so that a wrong clock of the host does no harm.

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
        # This reads all three forms of RFC 9110 section 5.6.7. The asctime form names no zone and is in UTC.
        moment = parsedate_to_datetime(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _outcome_of_status(status: int, *, is_expected: bool) -> tuple[Outcome, bool]:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error", True
    if status in _WALL_STATUSES and not is_expected:
        return "not_api", True
    if status >= HTTPStatus.BAD_REQUEST:
        return "client_error", status in _TRANSIENT_CLIENT_ERRORS
    return ("ok", False) if is_expected else ("not_api", True)


_LOOKED_AT_BYTES = 100_000


def is_challenge(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an answer asks for proof of being human.

    Args:
        headers: HTTP headers, their names in lower case.
        body: the decompressed body. Words count only in an HTML page.
    """
    known = _challenges()
    if any(headers.get(name, "").strip().lower() in values for name, values in known["headers"].items()):
        return True
    if "html" not in headers.get("content-type", "").lower():
        return False
    start = body[:_LOOKED_AT_BYTES].decode("utf-8", "replace").lower()
    return any(word in start for word in known["words"])


@cache
def _challenges() -> dict[str, Any]:
    text = (resources.files(__package__) / "challenges.yaml").read_text(encoding="utf-8")
    known: dict[str, Any] = load_yaml(text)
    return known
