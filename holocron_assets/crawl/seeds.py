"""Where a crawl starts: a source's own statement of its wiki, and the titles that it begins with."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from holocron_assets.crawl.errors import PermanentError, WikiRefused
from holocron_assets.crawl.sources import Source
from holocron_assets.crawl.wiki_client import Continuation, WikiClient
from holocron_assets.crawl.xml_dump import DumpError, ListedPage, list_pages, read_site
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.journal import Journal
from holocron_assets.lake.keys import content_hash, title_key
from holocron_assets.lake.parquet import Footer, read_footer, read_partition, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import SEED_TITLES, SITES
from holocron_assets.lake.titles import CATEGORY_NAMESPACE, InvalidTitle, Site

SEEDS_VERSION = "1"
_PROBLEM = "problem"
_NO_DUMP = "missing"


@dataclass(frozen=True)
class SeedListing:
    """What listing a source's seeds gave.

    Attributes:
        footer: of the partition written.
        rows: rows of table `seed_titles`.
        problem: why the list is incomplete, naming the file or title; None when it is whole.
    """

    footer: Footer
    rows: Sequence[Row]
    problem: str | None


def fingerprint(source: Source) -> dict[str, str]:
    """What a source's list of seeds depends on: its settings, and the dump's size and time of change."""
    settings = source.model_dump(include={"kind", "address", "namespaces", "seeds"}, mode="json")
    found = {"settings": content_hash(json.dumps(settings, sort_keys=True))}
    if source.kind == "mediawiki_dump":
        path = Path(source.origin)
        status = path.stat() if path.is_file() else None
        found["dump"] = f"{status.st_size}-{status.st_mtime_ns}" if status else _NO_DUMP
    return found


def seeds_are_stale(lake: Lake, source: Source) -> bool:
    """Whether the seeds were never listed, or were listed from other settings or another dump.

    A dump that broke off stays stale, so that each run fails and says so, until the file is mended. One that
    was listed and is not there any more is not stale: it was read, and nothing replaces it.
    """
    footer = read_footer(lake, SEED_TITLES, source.name)
    if footer is None or footer.code_version != SEEDS_VERSION or not lake.has(SITES, source.name):
        return True
    return _PROBLEM in footer.inputs or not _lists(footer, source)


def seeds_are_usable(lake: Lake, source: Source) -> bool:
    """Whether the seeds are those of the present settings and dump, be they whole or cut off."""
    footer = read_footer(lake, SEED_TITLES, source.name)
    return footer is not None and lake.has(SITES, source.name) and _lists(footer, source)


def _lists(footer: Footer, source: Source) -> bool:
    now = fingerprint(source)
    if now.get("dump") == _NO_DUMP:
        now["dump"] = footer.inputs.get("dump", _NO_DUMP)
    return {name: mark for name, mark in footer.inputs.items() if name != _PROBLEM} == now


def load_site(lake: Lake, source_name: str) -> Site:
    """The title rules of a source's wiki.

    Raises:
        MissingPartitionError: the wiki was not asked yet: job `list_seeds` does.
    """
    return Site.from_row(read_partition(lake, SITES, source_name)[0])


def store_site(lake: Lake, source: Source, client: WikiClient | None) -> tuple[Footer, Row]:
    """Ask what the wiki says of itself and write table `sites`.

    Args:
        lake: where it goes.
        source: whose wiki.
        client: asks the wiki; None for a dump.

    Raises:
        DumpError: the dump is missing or no export.
        WikiUnavailable, WikiRefused: the wiki gave no answer.
    """
    row = client.site() if client else read_site(Path(source.origin), source.name)
    return write_partition(lake, SITES, source.name, [row]), row


def store_seeds(lake: Lake, source: Source, client: WikiClient | None) -> SeedListing:
    """List a source's seeds and write table `seed_titles`.

    The wiki's lists are journaled page by page, so that a killed listing goes on where it was, unless the
    source's settings changed since.

    Args:
        lake: where the site is read and the seeds go.
        source: what to list.
        client: asks the wiki; None for a dump.

    Returns:
        The listing. A dump that breaks off in the middle gives the pages before the break, and a problem; so
        does a wiki of which a seed cannot be a title.

    Raises:
        DumpError: the dump is missing, no export, or broken before its first page that is wanted.
        PermanentError: a category cannot be called so.
        WikiUnavailable, WikiRefused: the wiki gave no answer.
    """
    site = load_site(lake, source.name)
    marks = fingerprint(source)
    if client is None:
        rows, problem = _from_dump(source)
    else:
        rows, problem = _from_wiki(source, site, client, _journal(lake, source, marks))
    if problem and client is None:
        marks[_PROBLEM] = problem
    footer = write_partition(lake, SEED_TITLES, source.name, rows, code_version=SEEDS_VERSION, inputs=marks)
    lake.journal(SEED_TITLES, source.name).unlink(missing_ok=True)
    return SeedListing(footer, rows, problem)


def _from_dump(source: Source) -> tuple[list[Row], str | None]:
    now = utc_now()
    rows: dict[int, Row] = {}
    problem = None
    try:
        for page in list_pages(Path(source.origin)):
            key = title_key(source.name, page.title)
            if page.namespace not in source.namespaces or _is_older(page, rows.get(key)):
                continue
            rows[key] = {
                "source": source.name,
                "title": page.title,
                "title_key": key,
                "namespace": page.namespace,
                "origin": "dump",
                "ordinal": page.ordinal,
                "revision_id": page.revision_id,
                "listed_at": now,
            }
    except DumpError as error:
        if not rows:
            raise
        problem = str(error)
    return list(rows.values()), problem


def _is_older(page: ListedPage, known: Row | None) -> bool:
    """Whether a page of the same title with a newer revision was listed already."""
    return known is not None and (page.revision_id or 0) < (known["revision_id"] or 0)


def _from_wiki(
    source: Source, site: Site, client: WikiClient, journal: Journal
) -> tuple[list[Row], str | None]:
    now = utc_now()
    rows: dict[int, Row] = {}
    problems: list[str] = []
    with journal:
        for origin, text in _listed_titles(source, site, client, journal):
            try:
                page = site.parse_title(text)
            except InvalidTitle as error:
                problems.append(f"source {source.name!r}, seed of {origin}: {error}")
                continue
            key = title_key(source.name, page.title)
            seed = {
                "source": source.name,
                "title": page.title,
                "title_key": key,
                "namespace": page.namespace,
                "origin": origin,
                "listed_at": now,
            }
            rows.setdefault(key, seed)
    return list(rows.values()), "; ".join(problems) or None


def _journal(lake: Lake, source: Source, marks: Mapping[str, str]) -> Journal:
    """The journal of the listing that these settings ask for; one of other settings is thrown away."""
    journal = Journal(lake.journal(SEED_TITLES, source.name))
    begun = next(journal.records(), None)
    if begun is not None and begun != {"listing": marks}:
        journal.path.unlink()
        begun = None
    if begun is None:
        journal.append({"listing": dict(marks)})
    return journal


def _listed_titles(
    source: Source, site: Site, client: WikiClient, journal: Journal
) -> Iterator[tuple[str, str]]:
    """Pairs of origin and title, those that the journal holds first."""
    known: dict[str, list[dict[str, Any]]] = {}
    for record in journal.records():
        known.setdefault(record.get("list", ""), []).append(record)
    yield from (("title", title) for title in source.seeds.titles)
    for category in source.seeds.categories:
        origin = f"category:{category}"
        members = partial(
            client.list_category_members, _category_name(source, site, category), source.namespaces
        )
        for titles in _journaled(origin, members, known.get(origin, []), journal):
            yield from ((origin, title) for title in titles)
    if source.seeds.all_pages:
        for namespace in source.namespaces:
            name, pages = f"all_pages:{namespace}", partial(client.list_all_pages, namespace)
            for titles in _journaled(name, pages, known.get(name, []), journal):
                yield from (("all_pages", title) for title in titles)


def _journaled(
    name: str,
    listing: Callable[[Continuation | None], Iterator[tuple[list[str], Continuation | None]]],
    known: Sequence[dict[str, Any]],
    journal: Journal,
) -> Iterator[list[str]]:
    """The titles of one list: what was listed before a kill, then the rest from where it stopped.

    Raises:
        WikiRefused: the wiki will not list this, or not from there: the journal is thrown away.
    """
    for record in known:
        yield record["titles"]
    if known and known[-1]["next"] is None:
        return
    try:
        for titles, following in listing(known[-1]["next"] if known else None):
            journal.append({"list": name, "titles": list(titles), "next": following})
            yield titles
    except WikiRefused:
        journal.close()
        journal.path.unlink()
        raise


def _category_name(source: Source, site: Site, category: str) -> str:
    """A category's name, whether or not the prefix was given."""
    try:
        page = site.parse_title(category)
    except InvalidTitle as error:
        raise PermanentError(f"source {source.name!r}, seed category: {error}") from error
    return page.name if page.namespace == CATEGORY_NAMESPACE else page.title
