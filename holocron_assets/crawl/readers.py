"""Where a batch's pages are read from: a wiki's API, or a dump."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holocron_assets.crawl.dumps import pages as dump_pages
from holocron_assets.crawl.dumps.export import DumpError, DumpPage
from holocron_assets.crawl.dumps.listing import discard_copy, usable_index
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.fetch import BatchReader, GroupError
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.http.log import HttpLog, Tally
from holocron_assets.crawl.mediawiki import pages as api_pages
from holocron_assets.crawl.mediawiki.client import MOST_TITLES, FetchedPages, WikiClient
from holocron_assets.crawl.page_rows import Asked, Extract
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.waiting import Group
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.telemetry.context import about

PERHAPS_A_PAGES_FAULT = frozenset(
    {"server_error", "network_error", "api_error", "not_api", "client_error", "robots"}
)
"""Outcomes that one of the requested pages may have caused; robots.txt too may forbid a single page."""
# Not less: otherwise an answer that is only slow would count as a failure of the host, for crawls too.
_HURRIED_ANSWER_SECONDS = 30.0


class WikiReader:
    """Reads pages from a wiki, 50 a request. After a failure it reads them ten, then one at a time."""

    group_sizes: Sequence[int] = (MOST_TITLES, 10, 1)

    def __init__(self, client: WikiClient, source: Source, extract: Extract) -> None:
        """Read `source` through `client`; `extract` finds links and redirect target in a text."""
        self.groups_at_once = source.politeness.requests_in_flight
        self._client = client
        self._with_links = source.links_from == "api"
        self._namespaces = source.namespaces
        self._extract = extract

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of table `pages` (see `BatchReader.read`)."""
        with about(page=group[0]["title"] if len(group) == 1 else None, pages=len(group)):
            return self._read(group, run_id)

    def _read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        try:
            fetched = self._client.fetch_pages([page["title"] for page in group], with_links=self._with_links)
        except (WikiUnavailable, WikiRefused) as error:
            if error.outcome in PERHAPS_A_PAGES_FAULT and self._can_read_others_than(group):
                raise GroupError(str(error)) from error
            raise
        return [self._row(page, fetched, run_id) for page in group]

    def reads_others_than(self, group: Group) -> bool:
        """Whether a page chosen at random is read (see `BatchReader.reads_others_than`)."""
        try:
            self._read_others_than(group)
        except WikiRefused:
            return False
        return True

    def give_up(self) -> None:
        """Stop what is being read (see `BatchReader.give_up`)."""
        self._client.give_up()

    def _row(self, wanted: Row, fetched: FetchedPages, run_id: str) -> dict[str, Any]:
        asked = replace(_asked(wanted, fetched.fetched_at, run_id), http_status=fetched.http_status)
        row = api_pages.page_row(fetched.pages[wanted["title"]], asked, self._extract)
        return _in_namespace(row, wanted)

    def _can_read_others_than(self, group: Group) -> bool:
        """Whether the wiki returns pages chosen at random, so that the group is at fault.

        Its front page or statistics would not be enough: they may work while texts cannot be read.

        Raises:
            WikiRefused: the wiki refuses these as well, so the request is wrong and no page is at fault.
        """
        try:
            self._read_others_than(group)
        except WikiUnavailable:
            return False
        return True

    def _read_others_than(self, group: Group) -> None:
        suspects = {page["title"] for page in group}
        # If the group holds all pages of a small wiki, none is left: smaller groups show which is at fault.
        others = self._client.draw_others(self._namespaces, suspects)
        self._client.fetch_pages(others[:1], with_links=self._with_links)


class DumpReader:
    """Reads pages from an XML export, each from the place where it starts."""

    groups_at_once = 1

    def __init__(
        self,
        lake: Lake,
        source: Source,
        extract: Extract,
        safe_point: Callable[[], object] = lambda: None,
    ) -> None:
        """Read the export of `source`; `extract` finds links and redirect target in a text."""
        self.group_sizes: Sequence[int] = (source.batch_size, 20, 1)
        self._lake = lake
        self._source = source
        self._extract = extract
        self._safe_point = safe_point

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of table `pages` (see `BatchReader.read`)."""
        self._safe_point()
        # Taken before the export is opened: if it is replaced meanwhile, this time is before the new export.
        begun_at = utc_now()
        # A batch that was cut while the source was a wiki has no places in an export.
        places = {page["ordinal"] for page in group} - {None}
        found = {page.ordinal: page for page in self._pages(places)}
        return [self._row(page, found.get(page["ordinal"]), begun_at, run_id) for page in group]

    def reads_others_than(self, group: Group) -> bool:  # noqa: ARG002 - an export refuses nothing
        """Read nothing (see `BatchReader.reads_others_than`)."""
        return False

    def give_up(self) -> None:
        """Do nothing: reading an export does not wait (see `BatchReader.give_up`)."""

    def _pages(self, ordinals: Iterable[int]) -> list[DumpPage]:
        index = usable_index(self._lake, self._source)
        try:
            return list(index.read(ordinals))
        except DumpError:
            if index.copy is None:
                raise
            discard_copy(self._lake, self._source, index)
            return list(usable_index(self._lake, self._source).read(ordinals))

    def _row(self, wanted: Row, found: DumpPage | None, begun_at: datetime, run_id: str) -> dict[str, Any]:
        asked = _asked(wanted, begun_at, run_id)
        return _in_namespace(dump_pages.page_row(found, asked, self._extract), wanted)


def _asked(wanted: Row, fetched_at: datetime, run_id: str) -> Asked:
    """A manifest's data about a page, as columns of table `pages`."""
    kept = {name: wanted[name] for name in ("source", "batch", "position", "depth", "discovered_from")}
    return Asked(**kept, requested_title=wanted["title"], fetched_at=fetched_at, run_id=run_id)


def _in_namespace(row: dict[str, Any], wanted: Row) -> dict[str, Any]:
    """The row, in the namespace of the requested title if no page names another."""
    return {**row, "namespace": wanted["namespace"]} if row["status"] in {"failed", "invalid"} else row


@contextmanager
def wiki_client(  # noqa: PLR0913 - a client has several independent settings
    lake: Lake,
    source: Source | FileSource,
    scope: str,
    politeness_folder: Path,
    *,
    patience_seconds: float | None = None,
    tally: Tally | None = None,
    safe_point: Callable[[], object] = lambda: None,
) -> Iterator[WikiClient]:
    """A client of a source's wiki, whose requests are recorded under `scope`.

    Args:
        lake: takes the `http_attempts` rows.
        source: the wiki and its limits.
        scope: what the requests serve; it names the partition of `http_attempts`.
        politeness_folder: what all processes of this machine share about hosts.
        patience_seconds: after this time no request is sent any more, and the last answer may take 30 s.
            For a caller that must be done within a minute.
        tally: counts the requests too.
        safe_point: called before each request is sent; it raises if no request may be sent any more.
    """
    politeness = source.politeness
    patience, deadline = math.inf, politeness.timeout_seconds
    if patience_seconds is not None:
        patience, deadline = patience_seconds, min(deadline, _HURRIED_ANSWER_SECONDS)
    agent = f"Holocron/{version('holocron-assets')} ({politeness.contact})"
    with (
        HttpClient(agent, deadline_seconds=deadline, private_hosts=source.private_hosts) as http,
        HostLimits(
            source.host or "",
            politeness,
            politeness_folder,
            patience_seconds=patience,
        ) as limits,
        HttpLog(lake, scope, tally) as log,
    ):
        yield WikiClient(
            source.address,
            http,
            limits,
            log.record,
            source=source.name,
            scope=scope,
            maxlag=politeness.maxlag,
            safe_point=safe_point,
        )


@contextmanager
def page_reader(  # noqa: PLR0913 - the same
    lake: Lake,
    source: Source,
    batch: str,
    extract: Extract,
    politeness_folder: Path,
    *,
    tally: Tally | None = None,
    safe_point: Callable[[], object] = lambda: None,
) -> Iterator[BatchReader]:
    """The reader of one batch of a source (see `wiki_client` for the arguments)."""
    if source.kind == "mediawiki_dump":
        yield DumpReader(lake, source, extract, safe_point)
        return
    with wiki_client(lake, source, batch, politeness_folder, tally=tally, safe_point=safe_point) as client:
        yield WikiReader(client, source, extract)
