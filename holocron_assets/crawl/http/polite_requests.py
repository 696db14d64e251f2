"""Sending requests politely: wait for permission, send, judge, record, and retry if the wait is short."""

import itertools
import json
import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from holocron_assets.crawl.errors import HostBusy, WikiRefused, WikiUnavailable
from holocron_assets.crawl.http.client import BodyTooLargeError, HttpClient, Verb
from holocron_assets.crawl.http.outcomes import Answer, HttpAnswer, is_challenge
from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.limits import HostLimits, Turn
from holocron_assets.crawl.politeness.rules import Decision, judge
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.telemetry.context import about, request_id
from holocron_assets.telemetry.logs import logger, shown
from holocron_assets.telemetry.spans import failed, span

PRIVATE_ADDRESS = "private_address"
"""Outcome of a request whose host leads to an address that is not public: nothing is sent there."""

# No process sleeps through longer waits: the caller stores when to come back.
PATIENCE_SECONDS = 10.0
"""Seconds that a request may wait for a host that must be left alone."""
# After the third failure the host is held for less than our patience. A caller that blames the request can
# then still ask for something else, and see whether the host answers that.
_MOST_TRIES = 3


_CLIENT_ERROR = 400
_LOGGED = (
    "source",
    "host",
    "verb",
    "titles",
    "attempt",
    "outcome",
    "status",
    "latency_ms",
    "error",
    "decision",
)
_LOG = logger(__name__)


@dataclass(frozen=True)
class Request:
    """A request to send.

    Attributes:
        verb: HTTP method.
        url: the address, without parameters.
        parameters: the parameters.
        shown_url: the address as it is recorded.
        titles: number of pages that it asks for.
        resolver: the resolver of files that gave the address; None for other requests.
        stays_too_large: whether a body that is too large would be so again, so that it is not sent twice.
    """

    verb: Verb
    url: str
    parameters: Mapping[str, str]
    shown_url: str
    titles: int = 0
    resolver: str | None = None
    stays_too_large: bool = False

    def sent_by(self, http: HttpClient) -> HttpAnswer:
        """Send it and wait for its answer (see `HttpClient.send`)."""
        return http.send(self.verb, self.url, self.parameters)


class Reading(Protocol):
    """What an answer's body says."""

    @property
    def is_expected(self) -> bool:
        """Whether it is of the kind that was asked for."""

    @property
    def error_code(self) -> str | None:
        """The API's error code, if it reports one."""

    @property
    def problem(self) -> str | None:
        """What went wrong, for people; None when nothing did."""

    @property
    def reason(self) -> str | None:
        """What became of a file's request, such as 'http-304'; None for other requests."""


Read = TypeVar("Read", bound=Reading)


@dataclass(frozen=True)
class Sent:
    """The result of one request that was sent.

    Attributes:
        turn: the permission that it had.
        sent_at: when it was sent, in seconds since 1970.
        answer: what came back.
        reading: what the answer's body says.
        decision: what the answer means for the host.
    """

    turn: Turn
    sent_at: float
    answer: HttpAnswer
    reading: Reading
    decision: Decision


class PoliteRequests:
    """Sends requests to one host. Safe to use from several threads if `record` is."""

    def __init__(  # noqa: PLR0913 - three parts it is made of, two labels, and a safe point
        self,
        http: HttpClient,
        limits: HostLimits,
        record: Callable[[Row], None],
        *,
        source: str,
        scope: str,
        safe_point: Callable[[], object] = lambda: None,
    ) -> None:
        """Send within `limits`, and give `record` a row of table `http_attempts` for each decision.

        `safe_point` is called before each request is sent; it raises if no request may be sent any more.
        """
        self.host = limits.host
        self.source = source
        self.limits = limits
        self._http = http
        self._record = record
        self._safe_point = safe_point
        self._labels = {"source": source, "scope": scope, "host": limits.host}

    def send(self, request: Request, read: Callable[[HttpAnswer], Read]) -> tuple[HttpAnswer, Read]:
        """Send one request, at most three times, as long as the waits in between stay within 10 s in all.

        Args:
            request: what to send.
            read: says what an answer's body is.

        Returns:
            The answer, and what its body says.

        Raises:
            HostBusy: nothing was sent, since the host must be left alone for now.
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the host will not answer this, or may not be connected to.
        """
        patience = PATIENCE_SECONDS
        for number in itertools.count(1):
            sent, reading = self.attempt(request, number, patience, read)
            decision, problem = sent.decision, reading.problem or f"HTTP {sent.answer.status}"
            if decision.outcome == "ok":
                break
            if decision.wait_seconds is None:
                raise WikiRefused(self.host, problem, decision.outcome) from sent.answer.cause
            patience -= sent.turn.held_seconds
            is_final = request.stays_too_large and isinstance(sent.answer.cause, BodyTooLargeError)
            if is_final or decision.wait_seconds > patience or number == _MOST_TRIES:
                raise self.unavailable(decision, problem) from sent.answer.cause
        return sent.answer, reading

    def answered_by_cache(self, request: Request, reason: str) -> None:
        """Record that a request is not sent, since what is held answers it. It takes no turn.

        Args:
            request: what would have been sent.
            reason: what answers it, in one word.
        """
        now = self.limits.now()
        kept = {"reason": reason, "decision": None, **_treatment(self.limits.state(), now)}
        self._note(self._row(request, 1, now, "ok") | kept)

    def refuse(self, request: Request, reason: str, outcome: str = "robots") -> WikiRefused:
        """Record that a request is not sent, because robots.txt or the host's address forbids it.

        Returns:
            The error to raise.
        """
        now = self.limits.now()
        refusal = {"error": reason, "decision": "not sent", **_treatment(self.limits.state(), now)}
        self._note(self._row(request, 1, now, outcome) | refusal)
        return WikiRefused(self.host, reason, outcome)

    def attempt(
        self, request: Request, number: int, patience: float, read: Callable[[HttpAnswer], Read]
    ) -> tuple[Sent, Read]:
        """Send one request once, when the host's limits allow it, and record it.

        Args:
            request: what to send.
            number: which try of it this is, from 1.
            patience: longest sleep for a host that must be left alone, in seconds.
            read: says what an answer's body is.

        Raises:
            HostBusy: nothing was sent, since the host must be left alone for now.
            WikiRefused: the host may not be connected to.
        """
        with about(request_id=uuid.uuid4().hex):
            return self._try_named(request, number, patience, read)

    def _try_named(
        self, request: Request, number: int, patience: float, read: Callable[[HttpAnswer], Read]
    ) -> tuple[Sent, Read]:
        # What was learnt is shared before the slot is free: the next request must obey it.
        try:
            with self.limits.turn(patience) as turn:
                self._safe_point()  # not before: the wait for a slot may be long
                started, sent_at = time.monotonic(), time.time()
                answer = self._ask(request, number)
                if answer.private_host is not None:
                    raise self.refuse(request, self._is_private(request, answer), PRIVATE_ADDRESS)
                reading = read(answer)
                decision = self._learn(answer, reading, started)
        except HostBusy as busy:
            self._note(self._row_unsent(request, number, busy))
            raise
        sent = Sent(turn, sent_at, answer, reading, decision)
        self._note(self._row_sent(request, number, sent))
        return sent, reading

    def _ask(self, request: Request, number: int) -> HttpAnswer:
        """Send a request; its span has the names of OpenTelemetry's conventions for HTTP clients."""
        place = urlsplit(request.shown_url)
        attributes = {
            "http.request.method": request.verb,
            "http.request.resend_count": number - 1 or None,
            "url.full": request.shown_url,
            "server.address": place.hostname,
            "server.port": place.port,
            "holocron.source": self.source,
            "holocron.request_id": request_id(),
        }
        with span(request.verb, "client", attributes) as made:
            answer = request.sent_by(self._http)
            _LOG.debug(
                "payload of a request",
                url=request.shown_url,
                parameters={name: shown(value) for name, value in request.parameters.items()},
                status=answer.status,
                body=shown(answer.body),
            )
            if answer.status is not None:
                made.set_attribute("http.response.status_code", answer.status)
            if answer.error:
                failed(made, answer.error.partition(":")[0], answer.error)
            elif answer.status and answer.status >= _CLIENT_ERROR:
                failed(made, str(answer.status), None)
        return answer

    def _note(self, row: Row) -> None:
        """Record the result of a request, and log it."""
        self._record(row)
        is_fine = row["outcome"] == "ok" or _is_rightly_absent(row)
        log, names = (_LOG.info, _LOGGED) if is_fine else (_LOG.warning, (*_LOGGED, "url"))
        log("asked a wiki", **{name: row[name] for name in names if row.get(name) is not None})

    def _is_private(self, request: Request, answer: HttpAnswer) -> str:
        return (
            f"source {self.source!r} may not ask {request.shown_url}: {answer.error}. If that host is of "
            f"your own network and meant to be asked, add it to {self.source}.yaml: "
            f"private_hosts: [{json.dumps(answer.private_host)}]"
        )

    def _learn(self, answer: HttpAnswer, reading: Reading, started: float) -> Decision:
        jitter = random.random()  # noqa: S311 - spreads clients in time, guards nothing
        challenged = not reading.is_expected and is_challenge(answer.headers, answer.body)
        slow_seconds = self.limits.politeness.slow_seconds
        of_headers = answer.headers_seconds

        def decide(state: HostState) -> Decision:
            now = self.limits.now()
            judged = Answer(
                # Counted back from now: the clock may have been set while the request was under way.
                sent_at=now - (time.monotonic() - started),
                status=answer.status,
                complete=answer.error is None,
                is_expected=reading.is_expected,
                is_challenge=challenged,
                api_error=reading.error_code,
                elapsed_seconds=answer.elapsed_seconds if of_headers is None else of_headers,
                headers=answer.headers,
            )
            return judge(state, judged, now, jitter, slow_seconds)

        return self.limits.learn(decide)

    def unavailable(self, decision: Decision, problem: str) -> WikiUnavailable:
        """The error to raise after a failure that may pass."""
        wait = decision.wait_seconds or 0.0
        due_at = datetime.fromtimestamp(self.limits.now() + wait, UTC)
        reason = f"{problem}; {decision.note}" if decision.note else problem
        return WikiUnavailable(self.host, reason, due_at, decision.outcome)

    def _row(self, request: Request, number: int, at: float, outcome: str) -> dict[str, Any]:
        return {
            **self._labels,
            "attempt_id": request_id() or uuid.uuid4().hex,
            "verb": request.verb,
            "url": request.shown_url,
            "titles": request.titles,
            "attempt": number,
            "started_at": datetime.fromtimestamp(at, UTC),
            "status": None,
            "outcome": outcome,
            "latency_ms": 0.0,
            "bytes": 0,
            "limiter_wait_s": 0.0,
            "resolver": request.resolver,
        }

    def _row_sent(self, request: Request, number: int, sent: Sent) -> dict[str, Any]:
        state, decision = sent.decision.state, sent.decision
        return {
            **self._row(request, number, sent.sent_at, decision.outcome),
            "status": sent.answer.status,
            "latency_ms": sent.answer.elapsed_seconds * 1000,
            "bytes": len(sent.answer.body) + sent.answer.streamed_bytes,
            "limiter_wait_s": sent.turn.waited_seconds - sent.turn.held_seconds,
            "held_s": sent.turn.held_seconds,
            "retry_wait_s": decision.wait_seconds,
            "error": sent.reading.problem,
            "reason": _reason(sent.reading.reason, number),
            **_treatment(state, state.seen_at),
            "decision": decision.note,
        }

    def _row_unsent(self, request: Request, number: int, busy: HostBusy) -> dict[str, Any]:
        now = self.limits.now()
        return {
            **self._row(request, number, now, busy.hindrance),
            "retry_wait_s": max(busy.due_at.timestamp() - now, 0.0),
            "error": busy.reason,
            **_treatment(self.limits.state(), now),
            "decision": f"not sent before {busy.due_at.isoformat(timespec='seconds')}",
        }


def _is_rightly_absent(row: Row) -> bool:
    """Whether nothing is at the address, and its reader has no problem with that: as for robots.txt."""
    return row["outcome"] == "client_error" and row.get("error") is None


def _reason(reason: str | None, number: int) -> str | None:
    """What became of a file's request, by its number of tries."""
    return f"retry-{reason}" if reason and number > 1 else reason


def _treatment(state: HostState, now: float) -> dict[str, Any]:
    return {"pace": state.pace.factor, "breaker": state.breaker_state(now)}
