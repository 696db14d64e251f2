"""Listing the titles that a source starts from on its wiki: named titles, categories, all pages."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import islice

from holocron_assets.crawl.dumps.listing import listing_journal
from holocron_assets.crawl.errors import WikiRefused
from holocron_assets.crawl.mediawiki.client import Continuation, WikiClient
from holocron_assets.crawl.sources.source import Source
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import read_footer, read_partition, rows_there
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import REVISION_CHECKS, SEED_TITLES, SITES
from holocron_assets.lake.titles import CATEGORY_NAMESPACE, InvalidTitle, Site

_BEGAN_AT, _ASKED_AT, _WIKI_TIME = "began_at", "asked_at", "wiki_time"
_Pages = Callable[[Continuation | None], Iterator[tuple[list[str], Continuation | None]]]


def journal_to_go_on(
    lake: Lake, source_name: str, marks: Mapping[str, str]
) -> tuple[Journal, dict[str, str]]:
    """The journal of a wiki's listing, and when that began, as inputs of its partition.

    The journal of a killed listing is thrown away if its titles are in the lake already. So it is if a check
    of all pages began later: the check needs a list that is newer than itself.

    Args:
        lake: the lake.
        source_name: the source.
        marks: what the listing depends on.

    Raises:
        MissingPartitionError: the wiki was not asked about itself yet.
    """
    path = lake.journal(SEED_TITLES, source_name)
    begun = _begun(Journal(path))
    if begun is None or _is_over(lake, source_name, begun):
        Journal(path).remove()
    journal = listing_journal(path, marks)
    begun = _begun(journal)
    if begun is None:
        asked_at, wiki_time = _site_times(lake, source_name)
        begun = {
            _BEGAN_AT: utc_now().isoformat(),
            _ASKED_AT: asked_at.isoformat(),
            _WIKI_TIME: wiki_time.isoformat() if wiki_time else "",
        }
        journal.append({"begun": begun})
    return journal, begun


def asked_before_listing(lake: Lake, source_name: str) -> tuple[datetime, datetime | None]:
    """When a wiki was last asked about itself before the listing of its present seeds began.

    Returns:
        The time by our clock, and by the wiki's if it said that.

    Raises:
        MissingPartitionError: the wiki was not asked yet.
    """
    footer = read_footer(lake, SEED_TITLES, source_name)
    if footer is None or _ASKED_AT not in footer.inputs:  # an earlier version did not record it
        return _site_times(lake, source_name)
    asked_at, wiki_time = footer.inputs[_ASKED_AT], footer.inputs[_WIKI_TIME]
    return datetime.fromisoformat(asked_at), datetime.fromisoformat(wiki_time) if wiki_time else None


def _begun(journal: Journal) -> dict[str, str] | None:
    return next((record["begun"] for record in islice(journal.records(), 2) if "begun" in record), None)


def _is_over(lake: Lake, source_name: str, begun: Mapping[str, str]) -> bool:
    footer = read_footer(lake, SEED_TITLES, source_name)
    if footer and footer.inputs.get(_BEGAN_AT) == begun[_BEGAN_AT]:
        return True
    checks = rows_there(lake, REVISION_CHECKS, source_name, ["started_at"])
    return any(check["started_at"] > datetime.fromisoformat(begun[_BEGAN_AT]) for check in checks)


def _site_times(lake: Lake, source_name: str) -> tuple[datetime, datetime | None]:
    (site,) = read_partition(lake, SITES, source_name, ["fetched_at", "wiki_time"])
    return site["fetched_at"], site["wiki_time"]


def list_wiki(source: Source, site: Site, client: WikiClient, journal: Journal) -> None:
    """Append the titles that a wiki lists to a journal, unless the journal holds them already.

    Args:
        source: the source of the seeds.
        site: the wiki's title rules.
        client: asks the wiki.
        journal: the journal of the listing so far.

    Raises:
        PermanentError: a category's name is not valid.
        WikiRefused: the wiki will not list something, or not from where a killed listing stopped. The journal
            is thrown away.
        WikiUnavailable: the wiki gave no answer.
    """
    continuations: dict[str, Continuation | None] = {
        record["list"]: record["next"] for record in journal.records() if "list" in record
    }
    for origin, name, pages in _lists(source, site, client):
        if name in continuations and continuations[name] is None:
            continue
        try:
            for titles, following in pages(continuations.get(name)):
                journal.append({"list": name, "origin": origin, "titles": list(titles), "next": following})
        except WikiRefused:
            journal.close()
            journal.remove()
            raise


def listed_titles(source: Source, journal: Journal) -> Iterator[tuple[str, str]]:
    """Origin and title of each seed as it is written, with the titles named in the source first."""
    yield from (("title", title) for title in source.seeds.titles)
    for record in journal.records():
        yield from ((record["origin"], title) for title in record.get("titles", ()))


def _lists(source: Source, site: Site, client: WikiClient) -> Iterator[tuple[str, str, _Pages]]:
    """Origin and name of each wanted list, and how to ask for it."""
    for category in source.seeds.categories:
        name = f"category:{category}"
        members = client.list_category_members
        yield name, name, partial(members, _category_name(source, site, category), source.namespaces)
    if source.seeds.all_pages:
        for namespace in source.namespaces:
            yield "all_pages", f"all_pages:{namespace}", partial(client.list_all_pages, namespace)


def _category_name(source: Source, site: Site, category: str) -> str:
    """A category's name without the prefix, which may have been given."""
    try:
        page = site.parse_title(category)
    except InvalidTitle as error:
        raise PermanentError(f"source {source.name!r}, seed category: {error}") from error
    return page.name if page.namespace == CATEGORY_NAMESPACE else page.title
