"""Where a batch's pages are read from: a wiki's API, or a dump."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holocron_assets.crawl import api_pages, dump_pages
from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.crawl.fetch import PERHAPS_A_PAGES_FAULT, Group, GroupError, PageReader
from holocron_assets.crawl.http import HttpClient
from holocron_assets.crawl.http_log import HttpLog
from holocron_assets.crawl.limits import HostLimits
from holocron_assets.crawl.sources import Source
from holocron_assets.crawl.wiki_client import MOST_TITLES, WikiClient
from holocron_assets.crawl.xml_dump import read_pages
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row


class WikiReader:
    """Reads pages from a wiki, 50 a request; ten, then one, once a request with them failed."""

    group_sizes: Sequence[int] = (MOST_TITLES, 10, 1)

    def __init__(self, client: WikiClient, source: Source, extract: api_pages.Extract) -> None:
        """Read `source` through `client`; `extract` finds links and redirect target in a text."""
        self.groups_at_once = source.politeness.requests_in_flight
        self._client = client
        self._with_links = source.links_from == "api"
        self._extract = extract
        self._wiki_works = False

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of table `pages` (see `PageReader.read`)."""
        try:
            fetched = self._client.fetch_pages([page["title"] for page in group], with_links=self._with_links)
        except WikiUnavailable as error:
            if error.outcome in PERHAPS_A_PAGES_FAULT and self._wiki_answers():
                raise GroupError(str(error)) from error
            raise
        self._wiki_works = True
        return [
            api_pages.page_row(
                fetched.pages[page["title"]],
                api_pages.Asked(
                    **_asked(page),
                    attempts=1,  # `fetch` adds those made before
                    http_status=fetched.http_status,
                    fetched_at=fetched.fetched_at,
                    run_id=run_id,
                ),
                self._extract,
            )
            for page in group
        ]

    def _wiki_answers(self) -> bool:
        """Whether the wiki works for others than the group that failed, which is then at fault."""
        if not self._wiki_works:
            try:
                self._client.site()
            except WikiUnavailable:
                return False
            self._wiki_works = True
        return True


class DumpReader:
    """Reads pages from an XML export, a batch in one pass."""

    groups_at_once = 1

    def __init__(self, path: Path, batch_size: int, extract: api_pages.Extract) -> None:
        """Read the export at `path`; `extract` finds links and redirect target in a text."""
        self.group_sizes: Sequence[int] = (batch_size, 20, 1)
        self._path = path
        self._extract = extract

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of table `pages` (see `PageReader.read`)."""
        wanted = {page["ordinal"]: page for page in group}
        found = {
            page.ordinal: page
            for page in read_pages(self._path, min(wanted), max(wanted) + 1)
            if page.ordinal in wanted
        }
        return [
            dump_pages.page_row(
                found.get(ordinal),
                dump_pages.Asked(**_asked(page), fetched_at=utc_now(), run_id=run_id),
                self._extract,
            )
            for ordinal, page in wanted.items()
        ]


def _asked(wanted: Row) -> dict[str, Any]:
    """What a manifest says of a page, as its row of table `pages` will."""
    kept = {name: wanted[name] for name in ("source", "batch", "position", "depth", "discovered_from")}
    return {**kept, "requested_title": wanted["title"]}


@contextmanager
def wiki_client(lake: Lake, source: Source, scope: str, politeness_folder: Path) -> Iterator[WikiClient]:
    """A client of a source's wiki, whose requests are recorded under `scope`.

    Args:
        lake: takes the `http_attempts` rows.
        source: the wiki and its limits.
        scope: what the requests serve; it names the partition of `http_attempts`.
        politeness_folder: what all processes of this machine share about hosts.
    """
    politeness = source.politeness
    agent = f"Holocron/{version('holocron-assets')} ({politeness.contact})"
    with (
        HttpClient(agent, deadline_seconds=politeness.timeout_seconds) as http,
        HostLimits(source.host or "", politeness, politeness_folder) as limits,
        HttpLog(lake, scope) as log,
    ):
        yield WikiClient(
            source.address,
            http,
            limits,
            log.record,
            source=source.name,
            scope=scope,
            maxlag=politeness.maxlag,
        )


@contextmanager
def page_reader(
    lake: Lake, source: Source, batch: str, extract: api_pages.Extract, politeness_folder: Path
) -> Iterator[PageReader]:
    """The reader of one batch of a source (see `wiki_client` for the arguments)."""
    if source.kind == "mediawiki_dump":
        yield DumpReader(Path(source.origin), source.batch_size, extract)
        return
    with wiki_client(lake, source, batch, politeness_folder) as client:
        yield WikiReader(client, source, extract)
