"""Reading sitemaps over HTTP, as politely as everything else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.files.transfers.addresses import RedirectError, redirected
from holocron_assets.crawl.files.transfers.hosts import Hosts, hosts_of
from holocron_assets.crawl.http.client import BodyTooLargeError
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.http.outcomes import MOST_REDIRECTS, HttpAnswer
from holocron_assets.crawl.http.polite_requests import Request
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.lists import LARGEST_SITEMAP, ListError, ReadUrl
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake


@dataclass(frozen=True)
class _Body:
    """The answer to a request for a sitemap. Whether it is one is found when it is read."""

    is_expected: bool
    problem: str | None
    error_code: None = None
    reason: None = None


@contextmanager
def sitemap_reader(
    lake: Lake,
    source: FileSource,
    politeness_folder: Path,
    *,
    tally: Tally | None = None,
    safe_point: Callable[[], object] = lambda: None,
) -> Iterator[ReadUrl]:
    """What reads the sitemaps of a source (see `hosts_of` for the arguments)."""
    scope = f"{source.name}-sitemaps-{utc_now():%Y%m%d}"
    opening = hosts_of(
        lake,
        source,
        scope,
        politeness_folder,
        tally=tally,
        safe_point=safe_point,
        body_limit_bytes=LARGEST_SITEMAP,
    )
    with opening as (_, hosts):
        yield lambda url: _read(hosts, url)


def _read(hosts: Hosts, url: str) -> bytes:
    """The body at an address, after at most five redirects.

    Raises:
        ListError: there is none, or a redirect must not be followed.
        WikiUnavailable, WikiRefused: its host gave no answer, or may not be asked.
    """
    asked = url
    for _ in range(1 + MOST_REDIRECTS):
        request = Request("GET", asked, {}, shown_url=asked, stays_too_large=True)
        answer = _answer(hosts, request)
        if answer.status and answer.status < HTTPStatus.MULTIPLE_CHOICES:
            return answer.body
        try:
            asked = redirected(asked, answer.headers.get("location", ""))
        except RedirectError as error:
            raise ListError(f"the sitemap {url} cannot be read: {error}") from error
    raise ListError(f"the sitemap {url} redirects more than {MOST_REDIRECTS} times")


def _answer(hosts: Hosts, request: Request) -> HttpAnswer:
    with hosts.using(request.url) as host:
        if robots := host.robots_of(request.url):
            robots.refuse_unless_allowed(request)
        try:
            return host.requests.send(request, _body_of)[0]
        except WikiUnavailable as error:
            if isinstance(error.__cause__, BodyTooLargeError):
                raise ListError(f"{request.url} is no sitemap: {error.__cause__}") from error
            raise
        except WikiRefused as error:
            if error.outcome == "client_error":  # all others name the address
                raise ListError(f"the sitemap {request.url} cannot be read: {error.reason}") from error
            raise


def _body_of(answer: HttpAnswer) -> _Body:
    failed = answer.status is None or answer.status >= HTTPStatus.BAD_REQUEST
    problem = answer.error or (f"HTTP {answer.status}" if failed else None)
    return _Body(is_expected=not failed, problem=problem)
