"""Obeying robots.txt as RFC 9309 says: parsed by a library, kept for a day, shared by all processes."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit

from filelock import FileLock, Timeout
from protego import Protego

from holocron_assets.crawl.errors import HostBusy, WikiRefused, WikiUnavailable
from holocron_assets.crawl.http.outcomes import MOST_REDIRECTS, HttpAnswer, is_challenge
from holocron_assets.crawl.http.polite_requests import PRIVATE_ADDRESS, PoliteRequests, Request
from holocron_assets.lake.files.parquet import replacing
from holocron_assets.lake.place.clock import utc_now

PRODUCT_TOKEN = "Holocron"  # noqa: S105 - the name that robots.txt may call us by, no secret
"""RFC 9309 section 2.2.1: part of the User-Agent header."""

_FRESH_SECONDS = 86_400.0  # section 2.4
_TRY_AGAIN_SECONDS = 3600.0
_ASKED_BY_ANOTHER = timedelta(seconds=30)
_MOST_BYTES = 500 * 1024  # section 2.5
_MOST_PAIRS = 500_000  # pairs of an agent and a rule for it
_THERE_IS_NONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})  # the body may be a page for people


@dataclass(frozen=True)
class RobotsFile:
    """A robots.txt as it was last read.

    Attributes:
        url: its address.
        text: its text; empty if the wiki has no robots.txt, which allows everything.
        read_at: when it was read, in seconds since 1970.
        tried_at: when it was last asked for.
    """

    url: str
    text: str
    read_at: float
    tried_at: float

    def is_due(self, now: float) -> bool:
        """Whether to ask for it again: after a day, then every hour while it cannot be reached."""
        return not (0 <= now - self.read_at < _FRESH_SECONDS or 0 <= now - self.tried_at < _TRY_AGAIN_SECONDS)


@dataclass(frozen=True)
class _Body:
    """The answer to a request for robots.txt. Any body that comes with a good status counts as one."""

    is_expected: bool
    problem: str | None
    error_code: None = None
    reason: None = None


class Robots:
    """The robots.txt that applies to one address. Safe to use from several threads."""

    def __init__(self, api_url: str, requests: PoliteRequests) -> None:
        """Ask for it with `requests`, before the first request to `api_url`."""
        self.url = urljoin(api_url, "/robots.txt")
        self._requests = requests
        self._cache = requests.limits.folder / "robots.json"
        self._known: RobotsFile | None = None
        self._rules = Protego()

    def refuse_unless_allowed(self, request: Request) -> None:
        """Return if robots.txt allows a request.

        Raises:
            WikiRefused: robots.txt forbids the request. The message says what to do.
            WikiUnavailable: it cannot be read, which forbids everything for now (section 2.3.1.4).
        """
        rules = self._current_rules()
        asked = f"{request.url}?{urlencode(request.parameters)}" if request.parameters else request.url
        # A long request is posted, and asks for the same: rules about parameters hold for it too.
        addresses = (asked,) if request.verb == "GET" else (asked, request.url)
        if not all(rules.can_fetch(address, PRODUCT_TOKEN) for address in addresses):
            raise self._requests.refuse(request, self._refusal(request))

    @property
    def crawl_delay(self) -> float:
        """Seconds between two requests that robots.txt asks for; 0 if it says nothing."""
        return float(self._current_rules().crawl_delay(PRODUCT_TOKEN) or 0.0)

    def _current_rules(self) -> Protego:
        known = self._known
        if known is None or known.is_due(time.time()):
            with self._asking():
                stored = _read(self._cache, self.url)
                known = self._renewed(stored) if stored is None or stored.is_due(time.time()) else stored
            self._rules = Protego.parse(known.text)
            self._known = known
            self._requests.limits.space_out(self._rules.crawl_delay(PRODUCT_TOKEN) or 0.0)
        return self._rules

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Let one process ask; the others wait here, and then read what it stored."""
        limits = self._requests.limits
        lock = FileLock(self._cache.with_suffix(".lock"))
        try:
            lock.acquire(timeout=limits.seconds_to_wait())
        except Timeout:
            due_at = utc_now() + _ASKED_BY_ANOTHER
            raise HostBusy(limits.host, f"another process asks for {self.url}", due_at, "slot") from None
        try:
            yield
        finally:
            lock.release()

    def _renewed(self, stored: RobotsFile | None) -> RobotsFile:
        """The current file; the stored one while the current one cannot be reached (section 2.4)."""
        now = time.time()
        try:
            known = RobotsFile(self.url, self._fetch(), read_at=now, tried_at=now)
        except HostBusy:
            raise
        except WikiUnavailable as error:
            if stored is None:
                reason = (
                    f"{self.url} cannot be read, and until it can everything is forbidden "
                    f"(RFC 9309 section 2.3.1.4): {error.reason}"
                )
                raise WikiUnavailable(error.host, reason, error.due_at, "robots_unreachable") from error
            known = replace(stored, tried_at=now)
        with replacing(self._cache) as aside:
            aside.write_text(json.dumps(asdict(known)), encoding="utf-8")
        return known

    def _fetch(self) -> str:
        """The text of robots.txt; empty if the wiki has none (section 2.3.1.3).

        Redirects are followed to other hosts too, as section 2.3.1.2 asks. The rules apply to the host that
        was asked first. All requests count for that host: they are at most six a day.

        Raises:
            WikiRefused: the file, or a redirect of it, is at an address that is not public.
        """
        url: str | None = self.url
        for _ in range(1 + MOST_REDIRECTS):
            if url is None:
                break
            try:
                answer = self._requests.send(Request("GET", url, {}, shown_url=url), _read_body)[0]
            except WikiRefused as refused:
                if refused.outcome == PRIVATE_ADDRESS:
                    raise  # the file may exist, though its text is not known
                break
            if answer.status and answer.status < HTTPStatus.MULTIPLE_CHOICES:
                return self._text(answer.body)
            url = _redirect(url, answer.headers.get("location", ""))
        return ""

    def _text(self, body: bytes) -> str:
        if len(body) > _MOST_BYTES:
            # The limit may cut a line, which would then mean something else.
            body = body[:_MOST_BYTES].rpartition(b"\n")[0]
        text = body.decode("utf-8-sig", "replace")
        if _is_bomb(text):
            due_at = utc_now() + timedelta(seconds=_TRY_AGAIN_SECONDS)
            raise WikiUnavailable(
                self._requests.host, f"{self.url} names too many agents for its rules", due_at, "not_api"
            )
        return text

    def _refusal(self, request: Request) -> str:
        return (
            f"{self.url} forbids {PRODUCT_TOKEN!r} to ask for {request.shown_url}. Leave this wiki to its "
            "people, or read a dump of it. If its operators permit you to crawl it in writing, set "
            f"obey_robots: false under politeness in {self._requests.source}.yaml"
        )


def _read_body(answer: HttpAnswer) -> _Body:
    is_none = answer.status in _THERE_IS_NONE
    walled = not is_none and is_challenge(answer.headers, answer.body)
    failed = answer.status is None or (answer.status >= HTTPStatus.BAD_REQUEST and not is_none)
    problem = answer.error or (f"HTTP {answer.status}" if failed or walled else None)
    return _Body(is_expected=not walled, problem=problem)


def _redirect(url: str, location: str) -> str | None:
    """The address that a redirect leads to; None if no request can be sent there."""
    try:
        target = urlsplit(urljoin(url, location))
        usable = location and target.scheme in {"http", "https"} and target.hostname and target.port != 0
    except ValueError:
        return None
    # A name and password in the address would be sent to the host in it.
    return target.geturl() if usable and target.username is None else None


def _is_bomb(text: str) -> bool:
    """Whether thousands of rules apply to thousands of agents at once: the parser stores each pair."""
    pairs = agents = 0
    after_a_rule = False
    for line in text.splitlines():
        rule = line.strip().lower()
        if rule.startswith("user"):
            agents = 1 if after_a_rule else agents + 1
            after_a_rule = False
        elif rule:
            pairs += agents
            after_a_rule = after_a_rule or rule.startswith(("allow:", "disallow:"))
    return pairs > _MOST_PAIRS


def _read(path: Path, url: str) -> RobotsFile | None:
    """The stored file of `url`; None if none is stored, or if it cannot be read."""
    try:
        stored = RobotsFile(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return stored if stored.url == url else None
