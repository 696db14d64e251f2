"""Fetching one candidate: within its limits, through its redirects, until its bytes are in the store."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from urllib.parse import urljoin

from holocron_assets.crawl.errors import HostBusy, WikiRefused, WikiUnavailable
from holocron_assets.crawl.files.artifact import Candidate
from holocron_assets.crawl.files.transfers import kinds
from holocron_assets.crawl.files.transfers.addresses import RedirectError, is_login, redirected
from holocron_assets.crawl.files.transfers.answers import Asked, Verdict
from holocron_assets.crawl.files.transfers.freshness import fresh_until
from holocron_assets.crawl.files.transfers.hosts import Hosts
from holocron_assets.crawl.files.transfers.parts import Part
from holocron_assets.crawl.files.transfers.receiving import FileReading, HeadReception, Reception, Wanted
from holocron_assets.crawl.files.transfers.transfer import Held, Transfer, asked_for, request_headers
from holocron_assets.crawl.http.client import HttpClient, Verb
from holocron_assets.crawl.http.outcomes import MOST_REDIRECTS, HttpAnswer, is_challenge, may_be_a_wall
from holocron_assets.crawl.http.polite_requests import PATIENCE_SECONDS, Request, Sent
from holocron_assets.crawl.http.streaming import Receiver
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.clock import utc_now

WALL = "wall"
"""Reason of a candidate whose host answers nothing else either: a firewall refuses us."""

_MOST_TRIES = 3


@dataclass(frozen=True, kw_only=True)
class FileRequest(Request):
    """A request whose body goes to a receiver.

    Attributes:
        headers: sent in addition to the client's own.
        receiver: takes the answer.
    """

    headers: Mapping[str, str]
    receiver: Receiver

    def sent_by(self, http: HttpClient) -> HttpAnswer:
        """Send it and stream its answer (see `HttpClient.stream`)."""
        return http.stream(self.verb, self.url, self.headers, self.receiver)


Turns = Callable[[str, float], AbstractContextManager[object]]
"""Waits until the limits of a resolver, named by its label, allow a request; at most so many seconds."""


@dataclass(frozen=True)
class _Try:
    """One try at a candidate, over all its redirects."""

    verb: Verb
    number: int
    headers: Mapping[str, str]
    receive: Callable[[Wanted, str], Reception | HeadReception]
    patience: float = PATIENCE_SECONDS


class Fetching:
    """Fetches candidates into a store. Safe for threads."""

    def __init__(self, hosts: Hosts, store: FileStore, turns: Turns) -> None:
        """Fetch from `hosts`, within the limits of resolvers that `turns` gives."""
        self._hosts, self._store, self._turns = hosts, store, turns

    def fetch(self, candidate: Candidate, wanted: Wanted, held: Held | None, *, head: bool) -> Transfer:
        """Fetch one address, at most three times, as long as the waits in between stay within 10 s in all.

        Args:
            candidate: the address.
            wanted: what its bytes must be.
            held: what the store holds of the artifact, for a conditional request.
            head: whether size and type are asked for first, with HEAD.

        Raises:
            HostBusy: nothing was sent, since the host must be left alone for now.
            WikiUnavailable: the host's robots.txt cannot be read.
            StoreError: the store of a shared lake did not take the bytes.
            OSError: this machine's disk did not take them.
        """
        made = Transfer(candidate)
        held = held if held and held.url == candidate.url else None
        try:
            if held and held.fresh_until and held.fresh_until > utc_now():
                self._take_from_cache(made, wanted, held)
            elif not head or self._is_worth_asking(made, wanted):
                with Part(self._store, candidate.url) as part:
                    self._get(made, wanted, part, held)
        except WikiRefused as refused:
            made.verdict = Verdict("refused", refused.outcome.replace("_", "-"), refused.reason)
        except RedirectError as error:
            made.verdict = Verdict("refused", error.reason, str(error))
        return made

    def works(self, url: str) -> bool:
        """Whether the host of an address answers at all, by its robots.txt: then a file may be at fault."""
        place = urljoin(url, "/robots.txt")
        with self._hosts.using(url) as host:
            try:
                host.requests.send(Request("GET", place, {}, shown_url=place), _any_answer)
            except WikiUnavailable:
                return False
            except WikiRefused:
                return True  # it says that it has none
        return True

    def _take_from_cache(self, made: Transfer, wanted: Wanted, held: Held) -> None:
        url = made.candidate.url
        with self._hosts.using(url) as host:
            request = Request("GET", url, {}, url, resolver=made.candidate.resolver)
            host.requests.answered_by_cache(request, "cache-hit")
        made.verdict = Verdict("unchanged", "cache-hit")
        made.take_held(held, wanted, self._store)
        made.fresh_until = held.fresh_until

    def _is_worth_asking(self, made: Transfer, wanted: Wanted) -> bool:
        """Ask for size and type; a server that answers no HEAD is asked for the file all the same."""
        headers = request_headers(Asked(), None, wanted)
        self._follow(made, wanted, _Try("HEAD", 1, headers, lambda here, _: HeadReception(here)))
        return made.verdict.kind != "missing" and made.verdict.reason not in {"too-large", "type-excluded"}

    def _get(self, made: Transfer, wanted: Wanted, part: Part, held: Held | None) -> None:
        """Ask until an answer is of use, or another request would not help now."""
        patience = PATIENCE_SECONDS
        for number in range(1, _MOST_TRIES + 1):
            asked = asked_for(part, held)
            made.resumed_from = asked.start
            headers = request_headers(asked, held, wanted)
            receive = partial(_received, part, asked)
            sent, url = self._follow(made, wanted, _Try("GET", number, headers, receive, patience))
            patience -= sent.turn.held_seconds
            if not _helps_at_once(made.verdict, sent, part) or (sent.decision.wait_seconds or 0) > patience:
                break
            if made.verdict.reason.endswith("-304"):
                held = None  # the condition was answered wrongly: all is asked for
        if made.is_ok:
            self._settle(made, wanted, part, held)
        elif made.verdict.kind == "wrong" and sent.decision.wait_seconds is not None:
            # The host keeps its hold; this says only when this file is worth another request.
            made.due_at = utc_now() + timedelta(seconds=sent.decision.wait_seconds)
            made.host_outcome = sent.decision.outcome
        elif may_be_a_wall(made.status, made.headers) and (due_at := self._walled_until(url)):
            problem = f"HTTP {made.status}, and nothing shows that its host answers anything else"
            made.verdict, made.due_at, made.host_outcome = Verdict("wrong", WALL, problem), due_at, "not_api"

    def _walled_until(self, url: str) -> datetime | None:
        """When a host may be asked again; None if its robots.txt comes, so that it refuses one file alone.

        A host that answered is not asked again within five minutes, and one that is held is not asked at all.
        """
        place = urljoin(url, "/robots.txt")
        with self._hosts.using(url) as host, host.proving:
            if host.has_just_answered():
                return None
            request = Request("GET", place, {}, shown_url=place)
            try:
                decision = host.requests.attempt(request, 1, 0.0, _no_wall)[0].decision
            except HostBusy as busy:
                return busy.due_at
            if decision.wait_seconds is None:
                host.answered_at = monotonic()
                return None
        return utc_now() + timedelta(seconds=decision.wait_seconds)

    def _follow(self, made: Transfer, wanted: Wanted, plan: _Try) -> tuple[Sent, str]:
        """Send a request, and one for each redirect, each within the limits of its own host.

        Returns:
            The last request, and its address.

        Raises:
            RedirectError: a redirect must not be followed.
        """
        url = made.candidate.url
        for hop in range(1 + MOST_REDIRECTS):
            is_led_to_a_login = hop > 0 and is_login(url)
            may_be_html = wanted.may_be_html and not is_led_to_a_login
            reception = plan.receive(
                replace(wanted, may_be_html=may_be_html, is_login=is_led_to_a_login), url
            )
            sent = self._ask(made.candidate.resolver, url, hop, plan, reception)
            made.note(plan.verb, reception, sent)
            if made.verdict.kind != "moved":
                return sent, url
            url = redirected(url, reception.headers["location"])
        raise RedirectError("redirect-loop", f"it redirects more than {MOST_REDIRECTS} times")

    def _ask(
        self, resolver: str, url: str, hop: int, plan: _Try, reception: Reception | HeadReception
    ) -> Sent:
        # The query of a redirect may be a permission that is nobody else's business.
        shown = url.partition("?")[0] if hop else url
        request = FileRequest(
            plan.verb, url, {}, shown, resolver=resolver, headers=plan.headers, receiver=reception
        )
        with self._hosts.using(url) as host:
            if robots := host.robots_of(url):
                robots.refuse_unless_allowed(request)
            with self._turns(
                resolver, plan.patience
            ):  # always before the host's turn, so that none waits for ever
                return host.requests.attempt(request, plan.number, plan.patience, reception.read)[0]

    def _settle(self, made: Transfer, wanted: Wanted, part: Part, held: Held | None) -> None:
        """Make the bytes an object, after the host's turn is over."""
        made.fresh_until = fresh_until(made.headers, utc_now())
        if made.verdict.kind == "unchanged":
            assert held  # noqa: S101 - only a conditional request is answered so
            made.take_held(held, wanted, self._store)
            return
        made.sha256, made.sha1, made.size_bytes = part.sha256, part.sha1, part.size
        made.mime = kinds.type_of(part.head, made.stated_types(wanted))
        part.publish()
        made.stored_at = utc_now()


def _any_answer(answer: HttpAnswer) -> FileReading:
    challenged = is_challenge(answer.headers, answer.body)
    return FileReading(not challenged, answer.error, None)


def _no_wall(answer: HttpAnswer) -> FileReading:
    walled = may_be_a_wall(answer.status, answer.headers) or is_challenge(answer.headers, answer.body)
    return FileReading(not walled, answer.error or (f"HTTP {answer.status}" if walled else None), None)


def _received(part: Part, asked: Asked, wanted: Wanted, url: str) -> Reception:
    return Reception(wanted, part, asked, url)


def _helps_at_once(verdict: Verdict, sent: Sent, part: Part) -> bool:
    """Whether another request may help now: a host's failure that may pass, or a range that did not fit."""
    if verdict.kind != "wrong":
        return False
    is_continued = verdict.is_resumable and part.side is not None
    fits_no_more = verdict.reason.startswith("range-") or verdict.reason.endswith("-304")
    return sent.decision.retry or is_continued or fits_no_more
