"""A real MediaWiki's pages, crawled through its API and read from the export that it writes of them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest
from dump_pages import read_pages

from holocron_assets.crawl.dumps import pages as dump_pages
from holocron_assets.crawl.dumps.export import read_site
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.mediawiki import pages as api_pages
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.page_rows import Asked, Extract
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.titles import Site
from holocron_assets.signals.links import extract_links


class RealWiki(Protocol):
    """What is used of the shared fixture."""

    @property
    def api_url(self) -> str: ...


ASKED: dict[str, Any] = {
    "source": "real",
    "batch": "real-000001",
    "position": 0,
    "depth": 0,
    "discovered_from": None,
    "fetched_at": datetime(2026, 11, 21, tzinfo=UTC),
    "run_id": "run",
}
TITLES_PER_EXPORT = 50
MADE_BY_THE_WIKI = "Pages with broken file links"
ARGUMENTS_OF_A_MISSING_TEMPLATE = "{{RelatedCategories"


def extractor(site: Site) -> Extract:
    def extract(text: str, *, is_redirect: bool) -> tuple[list[str], list[str], str | None]:
        found = extract_links(text, site, is_redirect=is_redirect)
        redirect = found.redirect.title if found.redirect else None
        return (
            [link.title for link in found.links],
            [category.name for category in found.categories],
            redirect,
        )

    return extract


def post(api_url: str, **parameters: str) -> bytes:
    with urlopen(api_url, urlencode(parameters).encode(), timeout=120) as response:  # noqa: S310 - loopback
        content: bytes = response.read()
    return content


def all_titles(api_url: str) -> list[str]:
    answer = json.loads(post(api_url, action="query", list="allpages", aplimit="500", format="json"))
    return [page["title"] for page in answer["query"]["allpages"]]


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its categories, and without how it was got."""
    left_out = ("categories", "payload", "http_status")
    return {name: value for name, value in row.items() if name not in left_out}


def assert_same_categories(from_dump: dict[str, Any], from_api: dict[str, Any]) -> None:
    """The text's categories are the wiki's, but for those that only a parser with all templates can know."""
    in_text, by_wiki = set(from_dump["categories"]), set(from_api["categories"]) - {MADE_BY_THE_WIKI}
    assert by_wiki <= in_text
    if ARGUMENTS_OF_A_MISSING_TEMPLATE not in from_dump["wikitext"]:
        assert by_wiki == in_text


@pytest.mark.realwiki
def test_the_export_of_a_wiki_makes_the_same_rows_as_its_api(realwiki: RealWiki, tmp_path: Path) -> None:
    titles = all_titles(realwiki.api_url)
    assert len(titles) > 60
    host = urlsplit(realwiki.api_url).netloc
    with (
        HttpClient("Holocron-tests/1 (tests@example.org)", private_hosts=["127.0.0.1"]) as http,
        HostLimits(host, Politeness(requests_per_second=100.0), tmp_path) as limits,
    ):
        client = WikiClient(
            realwiki.api_url, http, limits, lambda _: None, source="real", scope="real-000001"
        )
        site_row = client.site()
        extract = extractor(Site.from_row(site_row))
        for start in range(0, len(titles), TITLES_PER_EXPORT):
            wanted = titles[start : start + TITLES_PER_EXPORT]
            export = tmp_path / "export.xml"
            export.write_bytes(
                post(realwiki.api_url, action="query", export="1", exportnowrap="1", titles="|".join(wanted))
            )
            fetched = client.fetch_pages(wanted, with_links=False).pages
            exported = {page.title: page for page in read_pages(export)}
            assert exported.keys() == set(wanted)
            for title in wanted:
                from_api = api_pages.page_row(
                    fetched[title],
                    Asked(**ASKED, requested_title=title, http_status=200),
                    extract,
                )
                from_dump = dump_pages.page_row(
                    exported[title], Asked(**ASKED, requested_title=title), extract
                )
                assert comparable(from_dump) == comparable(from_api)
                assert_same_categories(from_dump, from_api)
            names = {space["id"]: space["name"] for space in site_row["namespaces"]}
            assert {space["id"]: space["name"] for space in read_site(export, "real")["namespaces"]} == names
