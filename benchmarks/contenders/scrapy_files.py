"""Scrapy's contender for files: its FilesPipeline, which keeps a file in memory and writes it unsynced.

Run in benchmarks/: python -m contenders.scrapy_files FOLDER IN_FLIGHT FILE_OF_URLS
"""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import CrawlerProcess

from contenders.report import Stopwatch

_HOURS = 7200


class FileSpider(Spider):
    """Gives one item with all addresses; the pipeline fetches them."""

    name = "files"

    def __init__(self, urls: list[str]) -> None:
        """Fetch so many files."""
        super().__init__()
        self._urls = urls

    async def start(self) -> AsyncIterator[dict[str, Any]]:
        """One item for each file."""
        for url in self._urls:
            yield {"file_urls": [url]}


def main() -> None:
    """Fetch the files, and report."""
    folder, in_flight, names = sys.argv[1:]
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": int(in_flight),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(in_flight),
            "CONCURRENT_ITEMS": int(in_flight) * 4,
            "DOWNLOAD_DELAY": 0,
            "DOWNLOAD_MAXSIZE": 0,
            "DOWNLOAD_WARNSIZE": 0,
            "DOWNLOAD_TIMEOUT": _HOURS,
            "FILES_STORE": f"{folder}/files",
            "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
            "LOG_LEVEL": "ERROR",
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "USER_AGENT": "file-spider (bench@example.org)",
        }
    )
    crawler = process.create_crawler(FileSpider)
    stopwatch = Stopwatch()
    crawler.signals.connect(stopwatch.start, signals.engine_started)
    # Its engine notices only every five seconds that nothing is left to do.
    crawler.signals.connect(stopwatch.stop, signals.item_scraped)
    process.crawl(crawler, urls=Path(names).read_text().split())
    process.start()
    stopwatch.report(Path(folder), pages=sum(1 for one in Path(folder).glob("files/full/*")))


if __name__ == "__main__":
    main()
