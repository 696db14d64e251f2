"""Scrapy's contenders: a spider that lists a wiki and stores each page's fields as a line of JSON.

It asks the API for one page a request, as spiders usually do, or for as many as Holocron does.

Run in benchmarks/: python -m contenders.scrapy_crawl FOLDER API_URL IN_FLIGHT TITLES_IN_REQUEST
"""

import re
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse

from contenders.report import Stopwatch

_LINK = re.compile(r"\[\[([^\[\]|#]+)")
_COMMON = {"action": "query", "format": "json", "formatversion": "2"}
_LIST = {"list": "allpages", "apnamespace": "0", "aplimit": "max"}
_PAGE_PROPERTIES = {
    "prop": "revisions|info|categories",
    "rvprop": "ids|timestamp|sha1|size|content|contentmodel",
    "rvslots": "main",
    "cllimit": "max",
}

Produced = Iterator[Request | dict[str, Any]]


class WikiSpider(Spider):
    """Lists all pages and asks for each of them."""

    name = "wiki"

    def __init__(self, api_url: str, titles_in_request: int) -> None:
        """Ask the API at `api_url` for so many pages a request."""
        super().__init__()
        self._api_url, self._titles_in_request = api_url, titles_in_request

    async def start(self) -> AsyncIterator[Request]:
        """Begin with the first list."""
        yield self._ask(_LIST, self.parse_list)

    def parse_list(self, response: TextResponse) -> Produced:
        """Ask for the listed pages, and for the next list."""
        answer = response.json()
        if "continue" in answer:
            yield self._ask({**_LIST, **answer["continue"]}, self.parse_list)
        titles = [page["title"] for page in answer["query"]["allpages"]]
        for start in range(0, len(titles), self._titles_in_request):
            some = titles[start : start + self._titles_in_request]
            yield self._ask({"titles": "|".join(some), **_PAGE_PROPERTIES}, self.parse_pages)

    def parse_pages(self, response: TextResponse) -> Produced:
        """The fields of each page of an answer."""
        fetched_at = datetime.now(UTC).isoformat()
        for page in response.json()["query"]["pages"]:
            yield {**_fields(page), "http_status": response.status, "fetched_at": fetched_at}

    def _ask(self, parameters: dict[str, str], callback: Any) -> Request:
        return Request(f"{self._api_url}?{urlencode({**_COMMON, **parameters})}", callback=callback)


def _fields(page: dict[str, Any]) -> dict[str, Any]:
    """What Holocron stores of a page."""
    revision = page["revisions"][0]
    slot = revision["slots"]["main"]
    return {
        "page_id": page["pageid"],
        "namespace": page["ns"],
        "title": page["title"],
        "revision_id": revision["revid"],
        "revision_at": revision["timestamp"],
        "sha1": revision["sha1"],
        "size_bytes": revision["size"],
        "content_model": slot["contentmodel"],
        "wikitext": slot["content"],
        "categories": [category["title"].partition(":")[2] for category in page["categories"]],
        "links": list(dict.fromkeys(_LINK.findall(slot["content"]))),
    }


def main() -> None:
    """Crawl, and report."""
    folder, api_url, in_flight, titles_in_request = sys.argv[1:]
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": int(in_flight),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(in_flight),
            "DOWNLOAD_DELAY": 0,
            "FEEDS": {f"{folder}/pages.jsonl": {"format": "jsonlines", "encoding": "utf8"}},
            "LOG_LEVEL": "ERROR",
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "USER_AGENT": "wiki-spider (bench@example.org)",
        }
    )
    crawler = process.create_crawler(WikiSpider)
    stopwatches = []
    crawler.signals.connect(lambda: stopwatches.append(Stopwatch()), signals.engine_started, weak=False)
    process.crawl(crawler, api_url=api_url, titles_in_request=int(titles_in_request))
    process.start()
    pages = crawler.stats.get_value("item_scraped_count") if crawler.stats else 0
    stopwatches[0].report(Path(folder), pages=pages)


if __name__ == "__main__":
    main()
