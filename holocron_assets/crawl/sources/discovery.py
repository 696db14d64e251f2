"""What a wiki says of itself before it is a source: where its API is, its size, and how fast to ask it.

At most a page, a few addresses of an API and one question to the API are asked for, and robots.txt.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit

from pydantic import BaseModel, ValidationError

from holocron_assets.crawl.errors import WikiRefused
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.http.outcomes import MOST_REDIRECTS, HttpAnswer
from holocron_assets.crawl.http.polite_requests import PoliteRequests, Request
from holocron_assets.crawl.mediawiki.client import MOST_TITLES
from holocron_assets.crawl.mediawiki.values import Number
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.politeness.robots import Robots
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.crawl.sources.source import host_of
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.schema import Row

DISCOVERY = "discovery"
"""Partition of `http_attempts` for these requests."""

_QUESTION = {
    "action": "query",
    "format": "json",
    "formatversion": "2",
    "meta": "siteinfo",
    "siprop": "general|namespaces|statistics|extensions|rightsinfo",
}
_API_PATHS = ("/api.php", "/w/api.php", "/wiki/api.php", "/mediawiki/api.php")
"""Where MediaWiki's API usually is, for wikis whose pages do not name it."""

_PRIVATE = "readapidenied"
_API_LINK = re.compile(rb"<link[^>]+EditURI[^>]*>", re.IGNORECASE)
_HREF = re.compile(rb"href=[\"']([^\"'>]+)[\"']")
_TITLES_A_LISTING = 500
_USUAL_PACE = 1.0
"""Requests a second where the wiki does not ask for fewer."""

PAGES_A_SECOND = 80
"""How many pages of an export two cores take in, to promoted entities (docs/measurements.md)."""

BYTES_A_PAGE = (3_000, 50_000)
"""What a page takes in the lake: a short one, and one of 20 KB of wikitext (docs/measurements.md)."""


class NoWikiError(PermanentError):
    """No MediaWiki answers at an address. The message says what was tried."""


class ContactError(PermanentError):
    """What a person gave as a contact is neither an e-mail nor a web address."""


class _General(BaseModel):
    sitename: str
    lang: str | None = None
    generator: str | None = None
    base: str | None = None


class _Namespace(BaseModel):
    id: Number
    name: str
    content: bool = False


class _Statistics(BaseModel):
    pages: Number = 0
    articles: Number = 0
    images: Number = 0


class _Extension(BaseModel):
    name: str = ""


class _Rights(BaseModel):
    url: str = ""
    text: str = ""


class _SiteInfo(BaseModel):
    general: _General
    namespaces: dict[str, _Namespace]
    statistics: _Statistics = _Statistics()
    extensions: list[_Extension] = []
    rightsinfo: _Rights = _Rights()


@dataclass(frozen=True)
class FoundWiki:
    """A wiki, as it describes itself.

    Attributes:
        api_url: address of its API.
        info: what the API says.
        pace: requests a second that its robots.txt allows, at most one.
    """

    api_url: str
    info: _SiteInfo
    pace: float

    @property
    def name(self) -> str:
        """A name for its source, made of the wiki's own, or of its host's."""
        for text in (self.info.general.sitename, urlsplit(self.api_url).hostname or ""):
            name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_0123456789")[:40].rstrip("_")
            if name:
                return name
        return "wiki"

    @property
    def content_namespaces(self) -> list[int]:
        """Numbers of the namespaces that hold articles."""
        return [one.id for one in self.info.namespaces.values() if one.content] or [0]

    @property
    def extensions(self) -> list[str]:
        """Names of its extensions, sorted."""
        return sorted({one.name for one in self.info.extensions if one.name})

    @property
    def licence(self) -> str:
        """The licence of its texts, as it states it."""
        rights = self.info.rightsinfo
        return " ".join(filter(None, (rights.text, rights.url))) or "it states none: ask its people"

    @property
    def requests(self) -> int:
        """Requests of a crawl of all articles: lists of titles, and fifty pages each."""
        articles = self.info.statistics.articles
        return math.ceil(articles / _TITLES_A_LISTING) + math.ceil(articles / MOST_TITLES)

    @property
    def crawl_hours(self) -> float:
        """Hours that these requests take at the proposed pace."""
        return self.requests / self.pace / 3600

    @property
    def import_hours(self) -> float:
        """Hours that reading an export of the articles takes on two cores."""
        return self.info.statistics.articles / PAGES_A_SECOND / 3600

    @property
    def lake_bytes(self) -> tuple[int, int]:
        """Bytes of the lake, if all articles are short, and if all are long."""
        short, long = BYTES_A_PAGE
        return self.info.statistics.articles * short, self.info.statistics.articles * long


_SOURCE = """\
# {site}: {articles:,} articles{language}. See sample.yaml for every key.
# {generator}. Licence: {licence}.
# Nothing asks this wiki for anything more until somebody runs `holocron sources enable {name}`.
name: {name}
enabled: false
kind: mediawiki_api
address: {address}
{private}
# Namespaces that hold articles, as the wiki says: {spaces}.
namespaces: {namespaces}

# Where the crawl starts: every page. Or name pages (titles: [...]) or categories, and links to follow: depth.
seeds:
  all_pages: true

politeness:
  # Sent with every request, so that the wiki's operators can reach you.
  contact: {contact}
  # {why_pace}
  requests_per_second: {pace}
  requests_in_flight: 1

# How it is kept current: minutes between two readings of its list of recent changes.
changes:
  every_minutes: 5
"""


def source_text(wiki: FoundWiki, name: str, *, contact: str, private_hosts: Sequence[str] = ()) -> str:
    """The file of a source for a wiki, with comments.

    Args:
        wiki: the wiki.
        name: the source's name.
        contact: e-mail or web address that is sent with every request.
        private_hosts: hosts that may be asked although their addresses are not public.
    """
    info, general = wiki.info, wiki.info.general
    named = {one.id: one.name or "articles" for one in info.namespaces.values()}
    slow = wiki.pace < _USUAL_PACE
    return _SOURCE.format(
        site=_line(general.sitename),
        articles=info.statistics.articles,
        language=f", in {_line(general.lang)}" if general.lang else "",
        generator=_line(general.generator or "MediaWiki"),
        licence=_line(wiki.licence),
        name=name,
        address=json.dumps(wiki.api_url),
        private=f"private_hosts: {json.dumps(list(private_hosts))}\n" if private_hosts else "",
        spaces=_line(", ".join(f"{number} {named.get(number, '')}" for number in wiki.content_namespaces)),
        namespaces=wiki.content_namespaces,
        contact=json.dumps(contact),
        why_pace="As its robots.txt asks." if slow else "Its robots.txt asks for no pause; one is polite.",
        pace=round(wiki.pace, 4),
    )


def _line(text: str) -> str:
    """A wiki's text in a comment: one line, and not too long."""
    return " ".join(text.split())[:200]


def page_address(address: str) -> str:
    """The address of a page of a wiki, as a person gives it, with its scheme.

    Raises:
        NoWikiError: it is none.
    """
    url = address if "://" in address else f"https://{address}"
    try:
        parts = urlsplit(url)
        usable = parts.hostname and parts.port != 0 and parts.scheme in {"http", "https"}
    except ValueError:  # brackets without an end, or a port that is no number
        usable = False
    if not usable:
        raise NoWikiError(f"{address!r} is no address of a web page, such as https://wiki.example.org")
    return url


def find_wiki(
    address: str,
    *,
    contact: str,
    politeness_folder: Path,
    record: Callable[[Row], None],
    private_hosts: Sequence[str] = (),
) -> FoundWiki:
    """Find a wiki's API from the address of any of its pages, and ask what the wiki says of itself.

    Args:
        address: a page, the wiki's start, or `api.php`; without a scheme, https counts.
        contact: e-mail or web address that is sent with every request.
        politeness_folder: what all processes of this machine share about hosts.
        record: takes a row of table `http_attempts` for each request.
        private_hosts: hosts that may be asked although their addresses are not public.

    Raises:
        NoWikiError: no MediaWiki answers there.
        ContactError: the contact is none.
        WikiRefused: robots.txt forbids to ask, or the address may not be connected to.
        WikiUnavailable: the host does not answer for now.
    """
    url = page_address(address)
    try:
        politeness = Politeness(contact=contact)
    except ValidationError as error:
        raise ContactError(f"contact {contact!r} {error.errors()[0]['ctx']['error']}") from error
    with ExitStack() as stack:
        hosts = _Hosts(politeness, politeness_folder, record, private_hosts, stack)
        tried: dict[str, str] = {}
        for api_url in _candidates(url, hosts):
            if found := _found_from(api_url, hosts, tried):
                return found
    raise NoWikiError(
        f"no MediaWiki answers for {address}: asked were {', '.join(tried.values())}. Open the wiki's page "
        "Special:Version, which names its `api.php`, and give that address"
    )


class _Hosts:
    """Asks the hosts that a wiki's address leads to, each within the limits of politeness."""

    def __init__(
        self,
        politeness: Politeness,
        folder: Path,
        record: Callable[[Row], None],
        private_hosts: Sequence[str],
        stack: ExitStack,
    ) -> None:
        agent = f"Holocron/{version('holocron-assets')} ({politeness.contact})"
        self.http = stack.enter_context(HttpClient(agent, private_hosts=private_hosts))
        self.record = record
        self._politeness = politeness
        self._folder, self._stack = folder, stack
        self._limits: dict[str, HostLimits] = {}

    def limits(self, url: str) -> HostLimits:
        host = host_of(url)
        if host not in self._limits:
            limits = HostLimits(host, self._politeness, self._folder)
            self._limits[host] = self._stack.enter_context(limits)
        return self._limits[host]

    def requests(self, url: str) -> PoliteRequests:
        return PoliteRequests(self.http, self.limits(url), self.record, source="new", scope=DISCOVERY)

    def page(self, url: str) -> tuple[str, bytes]:
        """A page and its address, after redirects."""
        for _ in range(1 + MOST_REDIRECTS):
            requests, request = self.requests(url), Request("GET", url, {}, shown_url=url)
            Robots(url, requests).refuse_unless_allowed(request)
            answer = requests.send(request, _Page)[0]
            location = _location(answer)
            if not location:
                return url, answer.body
            url = urljoin(url, location)
        raise NoWikiError(f"{url} leads on without end: give the address that a browser ends at")


class _Page:
    """An answer that may be any page."""

    error_code = None
    reason = None

    def __init__(self, answer: HttpAnswer) -> None:
        self.is_expected = True
        is_bad = answer.status is None or answer.status >= HTTPStatus.BAD_REQUEST
        self.problem = answer.error or (f"HTTP {answer.status}" if is_bad else None)


def _location(answer: HttpAnswer) -> str:
    """Where a redirect leads, as it says; empty for other answers."""
    is_redirect = answer.status is not None and answer.status >= HTTPStatus.MULTIPLE_CHOICES
    return answer.headers.get("location", "") if is_redirect else ""


def _candidates(url: str, hosts: _Hosts) -> Iterator[str]:
    """Addresses at which the API may be: the given one, the one that its page names, and the usual ones."""
    if urlsplit(url).path.endswith("/api.php"):
        yield url.partition("?")[0]
        return
    place, body = url, b""
    try:
        place, body = hosts.page(url)
    except WikiRefused as error:
        if error.outcome != "client_error":
            raise
    named = [
        urljoin(place, href[1].decode(errors="replace")).partition("?")[0]
        for link in _API_LINK.findall(body)
        if (href := _HREF.search(link))
    ]
    yield from dict.fromkeys([*named, *(urljoin(place, path) for path in _API_PATHS)])


def _found_from(api_url: str, hosts: _Hosts, tried: dict[str, str]) -> FoundWiki | None:
    """The wiki whose API is at an address, or at another `api.php` that the address redirects to.

    Args:
        api_url: the address.
        hosts: asks it.
        tried: what was asked before, and in what words to say so; takes what is asked now.
    """
    following: str | None = api_url
    for _ in range(1 + MOST_REDIRECTS):
        if following is None or following in tried:
            return None
        asked = tried[following] = following
        found = _described(asked, hosts)
        if not isinstance(found, str):
            return found
        tried[asked] = f"{asked} (which leads on to {_line(found)!r})"
        following = _other_api(asked, found)
    return None


def _other_api(api_url: str, location: str) -> str | None:
    """The address of an `api.php` that a redirect leads to; None if it leads elsewhere."""
    try:
        url = page_address(urljoin(api_url, location).partition("#")[0].partition("?")[0])
    except (NoWikiError, ValueError):
        return None
    return url if urlsplit(url).path.endswith("/api.php") else None


def _described(api_url: str, hosts: _Hosts) -> FoundWiki | str | None:
    """The wiki whose API is at an address; where a redirect leads; None if there is no API."""
    requests, robots = hosts.requests(api_url), Robots(api_url, hosts.requests(api_url))
    request = Request("GET", api_url, _QUESTION, shown_url=f"{api_url}?{urlencode(_QUESTION)}")
    robots.refuse_unless_allowed(request)
    try:
        answer = requests.send(request, _Page)[0]
        if location := _location(answer):
            return location
        said = json.loads(answer.body)
        if said.get("error", {}).get("code") == _PRIVATE:
            raise NoWikiError(
                f"{api_url} is the API of a private wiki: only people who log in may read it, and Holocron "
                "does not log in. Ask its operators for an export: a source of kind mediawiki_dump reads it"
            )
        info = _SiteInfo.model_validate(said["query"])
    except WikiRefused as error:
        if error.outcome != "client_error":
            raise
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    delay = robots.crawl_delay
    return FoundWiki(api_url, info, min(_USUAL_PACE, 1 / delay) if delay else _USUAL_PACE)
