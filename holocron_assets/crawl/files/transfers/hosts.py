"""The hosts that files come from: each with its limits and its robots.txt; few are open at once."""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from time import monotonic

from holocron_assets.crawl.http.client import BODY_LIMIT_BYTES, HttpClient
from holocron_assets.crawl.http.log import HttpLog, Tally
from holocron_assets.crawl.http.polite_requests import PoliteRequests
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.politeness.robots import Robots
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.crawl.sources.source import host_of
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake

_MOST_OPEN = 64
"""Each open host has files open; a list may name thousands of hosts."""

_MOMENT_SECONDS = 300.0


@dataclass
class Host:
    """One host.

    Attributes:
        requests: sends requests to it, within its limits.
        robots: its robots.txt, by scheme; empty if it is not obeyed.
        users: threads that ask it now.
        answered_at: when it last answered something else than a file, by the monotonic clock.
        proving: held by the thread that asks for that.
    """

    requests: PoliteRequests
    robots: dict[str, Robots] = field(default_factory=dict)
    users: int = 0
    answered_at: float = -math.inf
    proving: Lock = field(default_factory=Lock)

    def has_just_answered(self) -> bool:
        """Whether it answered something else than a file a moment ago, so that no firewall refuses us."""
        return monotonic() - self.answered_at < _MOMENT_SECONDS

    def robots_of(self, url: str) -> Robots | None:
        """The robots.txt that applies to an address; None if it is not obeyed (RFC 9309 section 2.3)."""
        if not self.requests.limits.politeness.obey_robots:
            return None
        scheme = url.partition(":")[0]
        if scheme not in self.robots:
            self.robots[scheme] = Robots(url, self.requests)
        return self.robots[scheme]


class Hosts:
    """Opens hosts when they are asked, and closes those that are not used. Safe for threads."""

    def __init__(  # noqa: PLR0913 - what its hosts are made of
        self,
        http: HttpClient,
        politeness: Politeness,
        state_folder: Path,
        record: Callable[[Row], None],
        *,
        source: str,
        scope: str,
        safe_point: Callable[[], object],
    ) -> None:
        """Ask all hosts with the same politeness (see `PoliteRequests` for the arguments)."""
        self._http, self._politeness, self._state_folder = http, politeness, state_folder
        self._record, self._source, self._scope, self._safe_point = record, source, scope, safe_point
        self._open: OrderedDict[str, Host] = OrderedDict()
        self._opening = Lock()

    @contextmanager
    def using(self, url: str) -> Iterator[Host]:
        """The host of an address, which stays open until the block ends."""
        name = host_of(url)
        with self._opening:
            host = self._open.get(name) or self._opened(name)
            self._open.move_to_end(name)
            host.users += 1
        try:
            yield host
        finally:
            with self._opening:
                host.users -= 1
                self._close_all_but(_MOST_OPEN)

    @contextmanager
    def wiki(self, api_url: str) -> Iterator[WikiClient]:
        """A client of a wiki's API, whose host stays open until the block ends."""
        with self.using(api_url) as host:
            yield WikiClient(
                api_url,
                self._http,
                host.requests.limits,
                self._record,
                source=self._source,
                scope=self._scope,
                maxlag=self._politeness.maxlag,
                safe_point=self._safe_point,
            )

    def close(self) -> None:
        """Close all hosts that nobody uses."""
        with self._opening:
            self._close_all_but(0)

    def _opened(self, name: str) -> Host:
        limits = HostLimits(name, self._politeness, self._state_folder)
        requests = PoliteRequests(
            self._http,
            limits,
            self._record,
            source=self._source,
            scope=self._scope,
            safe_point=self._safe_point,
        )
        self._open[name] = Host(requests)
        return self._open[name]

    def _close_all_but(self, kept: int) -> None:
        idle = [name for name, host in self._open.items() if not host.users]
        with ExitStack() as closing:
            for name in idle[: max(len(self._open) - kept, 0)]:
                closing.enter_context(self._open.pop(name).requests.limits)


@contextmanager
def hosts_of(  # noqa: PLR0913 - the same as for `page_reader`
    lake: Lake,
    source: FileSource,
    scope: str,
    politeness_folder: Path,
    *,
    tally: Tally | None = None,
    safe_point: Callable[[], object] = lambda: None,
    body_limit_bytes: int = BODY_LIMIT_BYTES,
) -> Iterator[tuple[HttpClient, Hosts]]:
    """What asks the hosts of a source of files, with a request log of its own.

    Args:
        lake: takes the `http_attempts` rows.
        source: the source, and its limits.
        scope: the rows of `http_attempts` are recorded under it.
        politeness_folder: what all processes of this machine share about hosts.
        tally: counts the requests too.
        safe_point: called before each request is sent; it raises if no request may be sent any more.
        body_limit_bytes: largest body of an answer that is no file, after decompression.
    """
    politeness = source.politeness
    agent = f"Holocron/{version('holocron-assets')} ({politeness.contact})"
    with (
        HttpClient(
            agent,
            deadline_seconds=politeness.timeout_seconds,
            body_limit_bytes=body_limit_bytes,
            private_hosts=source.private_hosts,
        ) as http,
        HttpLog(lake, scope, tally) as log,
    ):
        hosts = Hosts(
            http,
            politeness,
            politeness_folder,
            log.record,
            source=source.name,
            scope=scope,
            safe_point=safe_point,
        )
        try:
            yield http, hosts
        finally:
            hosts.close()
