"""A polite client of one MediaWiki API. Every request that it sends leaves a row of table `http_attempts`."""

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.http.polite_requests import PoliteRequests
from holocron_assets.crawl.mediawiki import changes as api_changes
from holocron_assets.crawl.mediawiki import sites as api_sites
from holocron_assets.crawl.mediawiki.answers import ApiAnswer, JsonObject
from holocron_assets.crawl.mediawiki.files import (
    FILE_PROPERTIES,
    ReportedFile,
    described_files,
    listed_files,
)
from holocron_assets.crawl.mediawiki.requests import ApiRequests
from holocron_assets.crawl.mediawiki.titles import AnsweredPages, unsendable
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now

MOST_TITLES = 50
# 50,000 links of one page come in a hundred answers.
_MOST_ANSWERS_A_TITLE = 200
_LONGEST_CONTINUE = 10_000
_DRAWN = 10  # enough that one of them is a page outside a group of suspects, even of a small wiki

# A link may be in another variant of the wiki's language (Chinese, Serbian) than the title of its page.
_ANY_VARIANT = {"converttitles": "1"}
_PAGE_PROPERTIES = {
    "rvprop": "ids|timestamp|sha1|size|content|contentmodel",
    "rvslots": "main",
    "cllimit": "max",
    **_ANY_VARIANT,
}
_CHANGE_PARAMETERS = {
    "list": "recentchanges",
    "rctype": "edit|new|log",
    "rcprop": "title|ids|timestamp|loginfo",
    "rcdir": "newer",
    "curtimestamp": "1",
}

Continuation = Mapping[str, str]
"""Where a listing continues, in the wiki's own words. All values are strings, so a journal can hold it."""


@dataclass(frozen=True)
class FetchedPages:
    """A wiki's answer for some titles.

    Attributes:
        pages: a page object for each title asked for, or None where the wiki left it out.
        http_status: status of the last answer; None when nothing had to be asked.
        fetched_at: just before the first request. An answer may be of any moment since: what changes later is
            read again.
    """

    pages: Mapping[str, JsonObject | None]
    http_status: int | None
    fetched_at: datetime


@dataclass(frozen=True)
class PageRevisions:
    """The revisions of some pages, as a wiki states them.

    Attributes:
        pages: a page object for each title asked for, or None where the wiki left it out.
        wiki_time: when the wiki answered, by its own clock.
    """

    pages: Mapping[str, JsonObject | None]
    wiki_time: datetime


class WikiClient:
    """A polite client of one MediaWiki API, safe to use from several threads if `record` is."""

    def __init__(  # noqa: PLR0913 - four parts it is made of, and three values for its requests
        self,
        api_url: str,
        http: HttpClient,
        limits: HostLimits,
        record: Callable[[Row], None],
        *,
        source: str,
        scope: str,
        maxlag: int = 5,
        safe_point: Callable[[], object] = lambda: None,
    ) -> None:
        """Speak to the API at `api_url`.

        Args:
            api_url: address of `api.php`.
            http: sends the requests.
            limits: the limits of the API's host.
            record: takes a row of table `http_attempts` for each request that was sent, or refused before.
            source: name of the source, for the rows.
            scope: what the requests serve, for the rows: a batch, or 'seeds'.
            maxlag: seconds of database lag from which the wiki should refuse our requests.
            safe_point: called before each request is sent; it raises if no request may be sent any more.
        """
        polite = PoliteRequests(http, limits, record, source=source, scope=scope, safe_point=safe_point)
        self._requests = ApiRequests(api_url, polite)
        self._http = http
        self._source = source
        self._common = {"action": "query", "format": "json", "formatversion": "2", "maxlag": str(maxlag)}

    def give_up(self) -> None:
        """End the requests of other threads with CancelledError, and send none later."""
        self._http.give_up()

    def query(self, parameters: Mapping[str, str]) -> Iterator[JsonObject]:
        """Send a query (`action=query`) and follow it to its end.

        Yields:
            The `query` object of each answer.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        for answer, _ in self._follow(parameters):
            yield answer.query

    def site(self) -> Row:
        """The wiki's data about itself: a row of table `sites`.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this, or is too old for its pages to be read.
        """
        info: JsonObject = {}
        for part in self.query({"meta": "siteinfo", "siprop": api_sites.PROPERTIES}):
            info |= part
        try:
            row = api_sites.site_row(info, self._source, utc_now())
        except ValueError as error:
            raise self._misunderstood(error) from error
        if problem := api_sites.too_old(row["generator"]):
            raise WikiRefused(self._requests.host, problem, "api_error")
        return row

    def draw_others(self, namespaces: Iterable[int], suspects: Collection[str]) -> list[str]:
        """Titles of some pages that the wiki chooses at random, without those that may be at fault.

        Args:
            namespaces: numbers of the namespaces to choose from.
            suspects: titles to leave out.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        within = "|".join(map(str, namespaces))
        parameters = {"list": "random", "rnnamespace": within, "rnlimit": str(_DRAWN)}
        titles, _ = next(self._list("random", parameters, None))
        return [title for title in titles if title not in suspects]

    def list_all_pages(
        self, namespace: int, continue_from: Continuation | None = None
    ) -> Iterator[tuple[list[str], Continuation | None]]:
        """List every page of a namespace, redirects too.

        Args:
            namespace: its number.
            continue_from: what came with the last titles of an earlier listing.

        Yields:
            Titles, and where the listing continues; None at its end.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        parameters = {"list": "allpages", "apnamespace": str(namespace), "aplimit": "max"}
        return self._list("allpages", parameters, continue_from)

    def list_category_members(
        self, category: str, namespaces: Sequence[int], continue_from: Continuation | None = None
    ) -> Iterator[tuple[list[str], Continuation | None]]:
        """List the pages that are directly in a category; subcategories are not entered.

        Args:
            category: its name, without prefix.
            namespaces: numbers of the namespaces that are wanted.
            continue_from: what came with the last titles of an earlier listing.

        Yields:
            Titles (maybe none), and where the listing continues; None at its end.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        parameters = {
            "list": "categorymembers",
            "cmtitle": f"Category:{category}",
            "cmnamespace": "|".join(str(number) for number in namespaces),
            "cmlimit": "max",
        }
        return self._list("categorymembers", parameters, continue_from)

    def fetch_pages(self, titles: Sequence[str], *, with_links: bool) -> FetchedPages:
        """Fetch the newest revision of some pages. Redirects are pages of their own.

        Args:
            titles: at most 50.
            with_links: whether the wiki should list each page's links, which takes many more requests.

        Returns:
            A whole page object for each title: every continuation is followed.

        Raises:
            ValueError: too many titles.
            WikiUnavailable: no usable answer, for now. No page is at fault.
            WikiRefused: the wiki will not answer this. No page is at fault.
        """
        _refuse_too_many(titles)
        refused = {title: reason for title in titles if (reason := unsendable(title))}
        asked = [title for title in dict.fromkeys(titles) if title not in refused]
        answered, asked_at = AnsweredPages(), utc_now()
        status = None
        parameters = _page_parameters(asked, with_links=with_links)
        for answer, answer_status in self._follow(parameters) if asked else ():
            status = answer_status
            try:
                answered.add(answer.query)
            except ValueError as error:
                raise self._misunderstood(error) from error
        if with_links:
            answered.complete_links()
        pages = {title: answered.find(title) for title in asked}
        for title, reason in refused.items():
            pages[title] = {"title": title, "invalid": True, "invalidreason": reason}
        return FetchedPages(pages, status, asked_at)

    def list_changes(
        self, since: datetime, continue_from: Continuation | None = None
    ) -> Iterator[api_changes.ReportedChanges]:
        """List the recent changes of all pages, oldest first: edits, new pages and log entries.

        Args:
            since: from when on, by the wiki's clock.
            continue_from: what came with the last answer of an earlier listing.

        Yields:
            The changes that each answer reports.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        parameters = {**_CHANGE_PARAMETERS, "rclimit": "max", "rcstart": f"{since:%Y-%m-%dT%H:%M:%SZ}"}
        for answer, _ in self._follow({**parameters, **(continue_from or {})}):
            try:
                reported = api_changes.read_changes(answer)
            except ValueError as error:
                raise self._misunderstood(error) from error
            yield reported

    def oldest_change(self) -> api_changes.ReportedChanges:
        """The oldest entry that the list of recent changes holds; none if it is empty.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        answer, _ = next(self._follow({**_CHANGE_PARAMETERS, "rclimit": "1"}))
        try:
            return api_changes.read_changes(answer)
        except ValueError as error:
            raise self._misunderstood(error) from error

    def fetch_revision_ids(self, titles: Sequence[str]) -> PageRevisions:
        """Ask which revision some pages have, without their texts. Redirects are pages of their own.

        Args:
            titles: at most 50, all of them titles of pages.

        Raises:
            ValueError: too many titles.
            WikiUnavailable: no usable answer, for now. No page is at fault.
            WikiRefused: the wiki will not answer this. No page is at fault.
        """
        _refuse_too_many(titles)
        answered = AnsweredPages()
        parameters = {"prop": "info", "titles": "|".join(titles), "curtimestamp": "1", **_ANY_VARIANT}
        for answer, _ in self._follow(parameters):
            try:
                answered.add(answer.query)
                wiki_time = api_changes.read_wiki_time(answer)
            except ValueError as error:
                raise self._misunderstood(error) from error
        return PageRevisions({title: answered.find(title) for title in titles}, wiki_time)

    def list_files(
        self, continue_from: Continuation | None = None
    ) -> Iterator[tuple[list[ReportedFile], Continuation | None]]:
        """List every file of the wiki, by title.

        Args:
            continue_from: what came with the last files of an earlier listing.

        Yields:
            Files, and where the listing continues; None at its end.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this.
        """
        parameters = {"list": "allimages", "ailimit": "max", "aiprop": FILE_PROPERTIES}
        for answer, _ in self._follow({**parameters, **(continue_from or {})}):
            try:
                files = listed_files(answer.query.get("allimages", []))
            except ValueError as error:
                raise self._misunderstood(error) from error
            yield files, answer.next_continue

    def describe_files(self, titles: Sequence[str]) -> list[ReportedFile]:
        """Ask about some files, without fetching them.

        Args:
            titles: at most 50 titles of files.

        Returns:
            The files that exist, also those that the wiki has from a shared repository.

        Raises:
            ValueError: too many titles.
            WikiUnavailable: no usable answer, for now. No file is at fault.
            WikiRefused: the wiki will not answer this. No file is at fault.
        """
        _refuse_too_many(titles)
        asked = [title for title in dict.fromkeys(titles) if not unsendable(title)]
        answered = AnsweredPages()
        parameters = {"titles": "|".join(asked), "prop": "imageinfo", "iiprop": FILE_PROPERTIES}
        try:
            for answer, _ in self._follow(parameters) if asked else ():
                answered.add(answer.query)
                if len(asked) == 1:  # MediaWiki would go on with the file's earlier versions
                    break
            found = {title: answered.find(title) for title in asked}
            return described_files({**page, "title": title} for title, page in found.items() if page)
        except ValueError as error:
            raise self._misunderstood(error) from error

    def replaced_version(self, title: str) -> str | None:
        """The archive name of the version that a file's present one replaced; None if there was none.

        Raises:
            WikiUnavailable: no usable answer, for now. No file is at fault.
            WikiRefused: the wiki will not answer this. No file is at fault.
        """
        properties = f"{FILE_PROPERTIES}|archivename"
        parameters = {"titles": title, "prop": "imageinfo", "iiprop": properties, "iilimit": "2"}
        answer, _ = next(self._follow(parameters))
        try:
            files = described_files(answer.query.get("pages", []))
        except (ValueError, KeyError, TypeError) as error:
            raise self._misunderstood(error) from error
        return files[0].archivename if files else None

    def _list(
        self, name: str, parameters: Mapping[str, str], continue_from: Continuation | None
    ) -> Iterator[tuple[list[str], Continuation | None]]:
        for answer, _ in self._follow({**parameters, **(continue_from or {})}):
            try:
                titles = [str(item["title"]) for item in answer.query.get(name, [])]
            except (KeyError, TypeError) as error:
                raise self._misunderstood(error) from error
            yield titles, answer.next_continue

    def _follow(self, parameters: Mapping[str, str]) -> Iterator[tuple[ApiAnswer, int | None]]:
        """Ask, and follow every `continue` to its end. A query of titles has a limit of answers."""
        seen: set[str] = set()
        following: Continuation = {}
        titles = parameters.get("titles")
        for number in itertools.count(1):
            answer, status = self._requests.ask({**self._common, **parameters, **following})
            yield answer, status
            if answer.next_continue is None:
                return
            following = answer.next_continue
            place = json.dumps(following, sort_keys=True)
            if len(place) > _LONGEST_CONTINUE:
                raise self._unavailable(f"its continue has {len(place)} characters")
            if place in seen:
                raise self._unavailable(f"it repeats the same continue for ever: {place}")
            if titles and number >= _MOST_ANSWERS_A_TITLE * (titles.count("|") + 1):
                raise self._unavailable(f"its answers for these pages have no end after {number} of them")
            seen.add(place)

    def _misunderstood(self, error: Exception) -> WikiUnavailable:
        return self._unavailable(f"its answer is not built as MediaWiki's: {error!r}")

    def _unavailable(self, reason: str) -> WikiUnavailable:
        return WikiUnavailable(self._requests.host, reason, utc_now(), "not_api")


def _refuse_too_many(titles: Sequence[str]) -> None:
    if len(titles) > MOST_TITLES:
        raise ValueError(f"{len(titles)} titles in one request; a wiki takes {MOST_TITLES}")


def _page_parameters(titles: Sequence[str], *, with_links: bool) -> dict[str, str]:
    links = {"pllimit": "max"} if with_links else {}
    properties = "revisions|info|categories" + ("|links" if with_links else "")
    return {"titles": "|".join(titles), "prop": properties, **_PAGE_PROPERTIES, **links}
