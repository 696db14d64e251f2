"""Where a crawl starts: the wiki's data about itself, and the titles that the crawl begins with."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from holocron_assets.crawl.dumps.export import read_site
from holocron_assets.crawl.dumps.listing import (
    DUMP,
    NO_DUMP,
    Mask,
    dump_mark,
    list_dump,
    listing_lock,
    winners,
)
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.wiki_seeds import journal_to_go_on, list_wiki, listed_titles
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import Footer, read_footer, read_partition, write_partition
from holocron_assets.lake.files.streams import write_stream
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import SEED_TITLES, SITES
from holocron_assets.lake.titles import InvalidTitle, Site

SEEDS_VERSION = "2"
_PROBLEM = "problem"
_COUNTS = ("listed", "repeated", "elsewhere")

_Titles = Callable[[], Iterator["_Title"]]


@dataclass(frozen=True)
class SeedListing:
    """The result of listing a source's seeds.

    Attributes:
        footer: the footer of the partition that was written.
        problem: why the list is incomplete, with the name of the file or title; None when it is whole.
    """

    footer: Footer
    problem: str | None

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of titles that were `listed` or `repeated`, and of pages that are `elsewhere`.

        Elsewhere are the pages of a dump that are in namespaces which are not wanted.
        """
        return {name: int(self.footer.inputs[name]) for name in _COUNTS}


class _Title(NamedTuple):
    """A title that was listed. If it is listed twice, the one with the higher rank counts."""

    title: str
    namespace: int
    origin: str
    rank: int
    ordinal: int | None = None
    revision_id: int | None = None


def fingerprint(source: Source) -> dict[str, str]:
    """A text of all that a source's seeds depend on: its settings, and the dump's size and time of change."""
    settings = source.model_dump(include={"kind", "address", "namespaces", "seeds"}, mode="json")
    found = {"settings": content_hash(json.dumps(settings, sort_keys=True))}
    if source.kind == "mediawiki_dump":
        found[DUMP] = dump_mark(Path(source.origin))
    return found


def seeds_are_stale(lake: Lake, source: Source) -> bool:
    """Whether the seeds were never listed, or were listed from other settings or another dump.

    The seeds of a dump that broke off stay stale, so that each run fails and says so, until the file is
    replaced. The seeds of a dump that was listed and later removed are not stale: nothing replaces them.
    """
    footer, site = read_footer(lake, SEED_TITLES, source.name), read_footer(lake, SITES, source.name)
    if footer is None or footer.code_version != SEEDS_VERSION or site is None:
        return True
    is_of_another_dump = site.inputs.get(DUMP) != footer.inputs.get(DUMP)
    return is_of_another_dump or _PROBLEM in footer.inputs or not _lists(footer, source)


def seeds_are_usable(lake: Lake, source: Source) -> bool:
    """Whether the seeds are those of the present settings and dump, whole or cut off."""
    footer = read_footer(lake, SEED_TITLES, source.name)
    return footer is not None and lake.has(SITES, source.name) and _lists(footer, source)


def _lists(footer: Footer, source: Source) -> bool:
    now = fingerprint(source)
    if now.get(DUMP) == NO_DUMP:
        now[DUMP] = footer.inputs.get(DUMP, NO_DUMP)
    return {name: footer.inputs.get(name) for name in now} == now


def load_site(lake: Lake, source_name: str) -> Site:
    """The title rules of a source's wiki.

    Raises:
        MissingPartitionError: the wiki was not asked yet. Job `list_seeds` asks it.
    """
    return Site.from_row(read_partition(lake, SITES, source_name)[0])


def store_site(lake: Lake, source: Source, client: WikiClient | None) -> tuple[Footer, Row]:
    """Ask the wiki about itself and write table `sites`.

    Args:
        lake: where the row goes.
        source: the source of the wiki to ask.
        client: asks the wiki; None for a dump.

    Raises:
        DumpError: the dump is missing or no export.
        WikiUnavailable, WikiRefused: the wiki gave no answer.
    """
    if client is not None:
        row = client.site()
        return write_partition(lake, SITES, source.name, [row]), row
    marks = {DUMP: dump_mark(Path(source.origin))}
    row = {**read_site(Path(source.origin), source.name), "fetched_at": _first_seen(lake, source, marks)}
    return write_partition(lake, SITES, source.name, [row], inputs=marks), row


def _first_seen(lake: Lake, source: Source, marks: Mapping[str, str]) -> datetime:
    """When this version of a dump's file was first seen: pages read before are of another version."""
    standing = read_footer(lake, SITES, source.name)
    if standing is None or standing.inputs != marks:
        return utc_now()
    seen: datetime = read_partition(lake, SITES, source.name)[0]["fetched_at"]
    return seen


def store_seeds(
    lake: Lake, source: Source, client: WikiClient | None, safe_point: Callable[[], object] = lambda: None
) -> SeedListing:
    """List a source's seeds and write table `seed_titles`.

    Titles are written to a journal as they come, so that a killed listing goes on where it was, unless the
    source's settings or its dump have changed, or a check of all pages began since. A dump that was listed
    and has not changed is not read again.
    Seven million titles take 300 MB of memory, and 500 MB if half of them are listed twice.

    Args:
        lake: where the site is read and the seeds go.
        source: what to list.
        client: asks the wiki; None for a dump.
        safe_point: called now and then while a dump is read; it raises if the reading must stop.

    Returns:
        The listing. A dump that breaks off in the middle gives the pages before the break, and a problem. A
        wiki with a seed that cannot be a title gives the other titles, and a problem.

    Raises:
        DumpError: the dump is missing, no export, or broken before its first wanted page.
        PermanentError: a category's name is not valid.
        WikiUnavailable, WikiRefused: the wiki gave no answer.
    """
    site, marks = load_site(lake, source.name), fingerprint(source)
    if client is None:
        with listing_lock(lake, source):
            return _standing(lake, source, marks) or _from_dump(lake, source, marks, safe_point)
    return _from_wiki(lake, source, site, client, marks)


def listing_of(lake: Lake, source_name: str) -> SeedListing | None:
    """The result of a source's last listing of seeds; None if the present code has not listed them.

    It does not repeat a wiki's problems: a later listing may be whole.
    """
    footer = read_footer(lake, SEED_TITLES, source_name)
    if footer is None or footer.code_version != SEEDS_VERSION:
        return None
    return SeedListing(footer, footer.inputs.get(_PROBLEM))


def _standing(lake: Lake, source: Source, marks: Mapping[str, str]) -> SeedListing | None:
    """The seeds of a dump, if they were listed from its present file."""
    listing = listing_of(lake, source.name)
    is_there = marks[DUMP] != NO_DUMP
    return listing if listing and is_there and marks.items() <= listing.footer.inputs.items() else None


def _from_dump(
    lake: Lake, source: Source, marks: Mapping[str, str], safe_point: Callable[[], object]
) -> SeedListing:
    listing = list_dump(lake, source, safe_point)

    def titles() -> Iterator[_Title]:
        for ordinal, title, namespace, revision_id in listing.listed():
            if namespace in source.namespaces:
                yield _Title(title, namespace, "dump", revision_id or 0, ordinal, revision_id)

    counting = _counting(source, titles)
    if listing.error and not len(counting):
        raise listing.error
    problem = {_PROBLEM: str(listing.error)} if listing.error else {}
    inputs = {**marks, "elsewhere": str(listing.pages - len(counting)), **problem}
    footer = _write(lake, source, titles, counting, inputs)
    listing.journal.remove()
    return SeedListing(footer, problem.get(_PROBLEM))


def _from_wiki(
    lake: Lake, source: Source, site: Site, client: WikiClient, marks: Mapping[str, str]
) -> SeedListing:
    journal, begun = journal_to_go_on(lake, source.name, {**marks, "version": SEEDS_VERSION})
    with journal:
        list_wiki(source, site, client, journal)
    problems: list[str] = []

    def titles() -> Iterator[_Title]:
        problems.clear()
        for place, (origin, text) in enumerate(listed_titles(source, journal)):
            try:
                page = site.parse_title(text)
            except InvalidTitle as error:
                problems.append(f"source {source.name!r}, seed of {origin}: {error}")
            else:
                yield _Title(page.title, page.namespace, origin, -place)

    footer = _write(lake, source, titles, _counting(source, titles), {**marks, **begun, "elsewhere": "0"})
    journal.remove()
    return SeedListing(footer, "; ".join(problems) or None)


def _counting(source: Source, titles: _Titles) -> Mask:
    """Which of the listed titles count, so that each title counts once."""
    return winners((title_key(source.name, listed.title), listed.rank) for listed in titles())


def _write(lake: Lake, source: Source, titles: _Titles, counting: Mask, inputs: Mapping[str, str]) -> Footer:
    now = utc_now()
    rows = (
        {
            "source": source.name,
            "title": listed.title,
            "title_key": title_key(source.name, listed.title),
            "namespace": listed.namespace,
            "origin": listed.origin,
            "ordinal": listed.ordinal,
            "revision_id": listed.revision_id,
            "listed_at": now,
        }
        for listed in compress(titles(), counting)
    )
    repeated = len(counting) - int(counting.sum())
    counts = {"listed": str(len(counting)), "repeated": str(repeated)}
    return write_stream(
        lake, SEED_TITLES, source.name, rows, code_version=SEEDS_VERSION, inputs={**inputs, **counts}
    )
