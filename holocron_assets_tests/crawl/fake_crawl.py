"""A client of a fake wiki, with the rows that it recorded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fake_mediawiki import FakeWiki

from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import HTTP_ATTEMPTS

AGENT = "Holocron-tests/1"


class Crawl:
    """A client of a fake wiki, and the rows it recorded."""

    def __init__(self, wiki: FakeWiki, http: HttpClient, state_folder: Path, **politeness: Any) -> None:
        self.wiki, self.http = wiki, http
        self.attempts: list[Row] = []
        said = {"requests_per_second": 100.0, "requests_in_flight": 4, "obey_robots": False, **politeness}
        self.limits = HostLimits(wiki.host, Politeness(**said), state_folder)
        self.restart()

    def restart(self) -> None:
        """Know nothing any more but what is shared among processes."""
        self.client = WikiClient(
            self.wiki.api_url,
            self.http,
            self.limits,
            self.attempts.append,
            source="sample",
            scope="sample-000001",
        )

    def outcomes(self) -> list[str]:
        """Outcomes of the requests so far; their rows must fit the table."""
        HTTP_ATTEMPTS.to_arrow(self.attempts, "sample-000001")
        return [attempt["outcome"] for attempt in self.attempts]

    def fetch(self, *titles: str, with_links: bool = False) -> Mapping[str, Any]:
        return self.client.fetch_pages(titles, with_links=with_links).pages


@contextmanager
def crawling(state_folder: Path, **politeness: Any) -> Iterator[Crawl]:
    """A fake wiki and a client of it, whose requests may take 1.5 s. By default, it reads no robots.txt."""
    with FakeWiki() as wiki, HttpClient(AGENT, deadline_seconds=1.5, private_hosts=["127.0.0.1"]) as http:
        crawl = Crawl(wiki, http, state_folder, **politeness)
        with crawl.limits:
            yield crawl


def page_object(title: str, text: str | None = "text", **more: Any) -> dict[str, Any]:
    revision = {"revid": 7, "timestamp": "2026-01-01T00:00:00Z", "slots": {"main": {"content": text}}}
    return {
        "ns": 0,
        "title": title,
        "pageid": 1,
        **({} if text is None else {"revisions": [revision]}),
        **more,
    }


def linked(*titles: str) -> list[dict[str, Any]]:
    return [{"ns": 0, "title": title} for title in titles]
