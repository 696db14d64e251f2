"""Listing the titles that a source starts from on its wiki: named titles, categories, all pages."""

from collections.abc import Callable, Iterator
from functools import partial

from holocron_assets.crawl.errors import WikiRefused
from holocron_assets.crawl.mediawiki.client import Continuation, WikiClient
from holocron_assets.crawl.sources.source import Source
from holocron_assets.errors import PermanentError
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.titles import CATEGORY_NAMESPACE, InvalidTitle, Site

_Pages = Callable[[Continuation | None], Iterator[tuple[list[str], Continuation | None]]]


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
