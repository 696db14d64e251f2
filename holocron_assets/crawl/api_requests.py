"""Asking a MediaWiki API politely: wait for a turn, send, judge, record, and try again if it is soon."""

import itertools
import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from holocron_assets.crawl.api_answers import ApiAnswer, read_answer
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.http import HttpAnswer, HttpClient, Verb
from holocron_assets.crawl.limits import HostLimits, Turn
from holocron_assets.crawl.politeness import Answer, Decision, judge
from holocron_assets.lake.schema import Row

# Servers, and what stands before them, refuse addresses from about 8,190 bytes on.
_LONGEST_URL = 6000
# Longer waits are not slept through: the caller stores when to come back.
_PATIENCE_SECONDS = 10.0
# After the third failure the host is held for less than our patience: who blames the request can still ask
# for something else, and see whether the host answers that.
_MOST_TRIES = 3


@dataclass(frozen=True)
class _Attempt:
    """One request that was sent, and what came of it."""

    number: int
    verb: Verb
    parameters: Mapping[str, str]
    turn: Turn
    sent_at: float
    http: HttpAnswer
    api: ApiAnswer
    decision: Decision


class ApiRequests:
    """Sends requests to one API. Safe to use from several threads if `record` is."""

    def __init__(  # noqa: PLR0913 - the four parts it joins, and two labels for its rows
        self,
        api_url: str,
        http: HttpClient,
        limits: HostLimits,
        record: Callable[[Row], None],
        *,
        source: str,
        scope: str,
    ) -> None:
        """Send to `api_url` within `limits`, and give `record` a row of table `http_attempts` each time."""
        self.host = limits.host
        self._api_url = api_url
        self._http = http
        self._limits = limits
        self._record = record
        self._labels = {"source": source, "scope": scope, "host": limits.host}

    def ask(self, parameters: Mapping[str, str]) -> tuple[ApiAnswer, int | None]:
        """Send one request, three times at most, while the waits between stay within 10 s in all.

        Args:
            parameters: the API's parameters, all of them.

        Returns:
            The API's answer and its HTTP status.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        patience = _PATIENCE_SECONDS
        for number in itertools.count(1):
            attempt = self._send(number, parameters, patience)
            self._record(self._row(attempt))
            decision, problem = attempt.decision, attempt.api.problem or f"HTTP {attempt.http.status}"
            if decision.outcome == "ok":
                break
            if decision.wait_seconds is None:
                raise WikiRefused(self.host, problem, decision.outcome)
            patience -= attempt.turn.held_seconds
            if decision.wait_seconds > patience or number == _MOST_TRIES:
                due_at = datetime.fromtimestamp(time.time() + decision.wait_seconds, UTC)
                raise WikiUnavailable(self.host, problem, due_at, decision.outcome)
        return attempt.api, attempt.http.status

    def _send(self, number: int, parameters: Mapping[str, str], patience: float) -> _Attempt:
        # POST only where it must be: caches serve GET.
        long = len(self._api_url) + len(urlencode(parameters)) >= _LONGEST_URL
        verb: Verb = "POST" if long else "GET"
        # What was learnt is shared before the slot is free: the next request must heed it.
        with self._limits.turn(patience) as turn:
            sent_at = time.time()
            http = self._http.send(verb, self._api_url, parameters)
            api = read_answer(http)
            answer = Answer(
                sent_at=sent_at,
                status=http.status,
                complete=http.error is None,
                is_api=api.content is not None,
                api_error=api.error_code,
                headers=http.headers,
            )
            jitter = random.random()  # noqa: S311 - spreads clients in time, guards nothing
            decision = self._limits.learn(lambda state: judge(state, answer, time.time(), jitter))
        return _Attempt(number, verb, parameters, turn, sent_at, http, api, decision)

    def _row(self, attempt: _Attempt) -> dict[str, Any]:
        titles = attempt.parameters.get("titles")
        shown = {name: value for name, value in attempt.parameters.items() if name != "titles"}
        return {
            **self._labels,
            "attempt_id": uuid.uuid4().hex,
            "verb": attempt.verb,
            "url": f"{self._api_url}?{urlencode(shown)}",
            "titles": titles.count("|") + 1 if titles else 0,
            "attempt": attempt.number,
            "started_at": datetime.fromtimestamp(attempt.sent_at, UTC),
            "status": attempt.http.status,
            "outcome": attempt.decision.outcome,
            "latency_ms": attempt.http.elapsed_seconds * 1000,
            "bytes": len(attempt.http.body),
            "limiter_wait_s": attempt.turn.waited_seconds - attempt.turn.held_seconds,
            "retry_wait_s": attempt.decision.wait_seconds,
            "error": attempt.api.problem,
        }
