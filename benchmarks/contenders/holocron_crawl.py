"""Holocron as a contender: a whole wiki listed, cut into batches and fetched, as it does it for any source.

Run in benchmarks/: python -m contenders.holocron_crawl FOLDER API_URL IN_FLIGHT
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contenders.report import Stopwatch
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.readers import page_reader, wiki_client
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.crawl.sources.seeds import load_site, store_seeds, store_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.signals.links import link_extractor

_SOURCE_FILE = """\
name: bench
enabled: true
kind: mediawiki_api
address: {api_url}
private_hosts: [127.0.0.1]
seeds: {{all_pages: true}}
politeness:
  contact: bench@example.org
  requests_per_second: 100
  requests_in_flight: {in_flight}
"""


@dataclass(frozen=True)
class Place:
    """A fresh Holocron in a folder, with one source.

    Attributes:
        folder: takes everything, the report too.
        source: the wiki.
    """

    folder: Path
    source: Source

    @property
    def lake(self) -> Lake:
        """Its lake."""
        return Lake(self.folder / "data")

    @property
    def sources_folder(self) -> Path:
        """Its source files."""
        return self.folder / "sources"

    @property
    def state_folder(self) -> Path:
        """What is known of hosts."""
        return self.folder / "state"


def place_from_arguments() -> Place:
    """What the command line asks for."""
    folder, api_url, in_flight = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    source_file = folder / "sources" / "bench.yaml"
    source_file.parent.mkdir()
    source_file.write_text(_SOURCE_FILE.format(api_url=api_url, in_flight=in_flight))
    return Place(folder, load_source(source_file))


def crawl(place: Place, fetch: Callable[[str], object]) -> None:
    """List the wiki and fetch all of its batches, each with `fetch`; report."""
    lake, source = place.lake, place.source
    stopwatch, pages = Stopwatch(), 0
    with wiki_client(lake, source, f"{source.name}-seeds", place.state_folder) as client:
        store_site(lake, source, client)
        store_seeds(lake, source, client)
    while batches := cut_batches(lake, source, now=utc_now()):
        for batch in batches:
            fetch(batch)
            footer = read_footer(lake, PAGES, batch)
            pages += footer.rows if footer else 0
    stopwatch.report(place.folder, pages=pages)


def main() -> None:
    """Crawl by calling what asset `pages` calls."""
    place = place_from_arguments()

    def fetch(batch: str) -> None:
        extract = link_extractor(load_site(place.lake, place.source.name))
        with page_reader(place.lake, place.source, batch, extract, place.state_folder) as reader:
            fetch_batch(place.lake, batch, reader, "bench")

    crawl(place, fetch)


if __name__ == "__main__":
    main()
