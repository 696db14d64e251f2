"""The API client against a real MediaWiki: what it answers decides."""

from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from crawl_rows import answered_page

from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.mediawiki.pages import page_row
from holocron_assets.crawl.page_rows import Asked
from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.politeness.rules import Decision
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import HTTP_ATTEMPTS, PAGES, SITES

pytestmark = pytest.mark.realwiki

LONGEST_TITLE = "É" + "é" * 126 + "x"


class Crawl:
    """A client of the real wiki, and the rows it recorded."""

    def __init__(self, api_url: str, http: HttpClient, limits: HostLimits, maxlag: int = 5) -> None:
        self.attempts: list[Row] = []
        self.client = WikiClient(
            api_url, http, limits, self.attempts.append, source="real", scope="real-000001", maxlag=maxlag
        )

    def rows(self, *titles: str, with_links: bool = False) -> dict[str, dict[str, Any]]:
        """Rows of table `pages` by the title asked for; they must fit the table."""
        fetched = self.client.fetch_pages(titles, with_links=with_links)
        rows = {
            title: page_row(
                found, asked(title, position, fetched.http_status), lambda _, **_flags: ([], [], None)
            )
            for position, (title, found) in enumerate(fetched.pages.items())
        }
        for row in rows.values():  # not together: the tests ask for titles that are one title composed
            PAGES.to_arrow([row], "real-000001")
        HTTP_ATTEMPTS.to_arrow(self.attempts, "real-000001")
        return rows


def asked(title: str, position: int, http_status: int | None) -> Asked:
    return Asked("real", "real-000001", position, title, 0, None, utc_now(), "run", http_status=http_status)


@pytest.fixture
def limits(realwiki: Any, tmp_path: Path) -> Iterator[HostLimits]:
    politeness = Politeness(requests_per_second=100.0, requests_in_flight=2, obey_robots=False)
    with HostLimits(urlsplit(realwiki.api_url).netloc, politeness, tmp_path) as limits:
        yield limits


@pytest.fixture
def http() -> Iterator[HttpClient]:
    with HttpClient("Holocron-tests/1", private_hosts=["127.0.0.1"]) as http:
        yield http


@pytest.fixture
def crawl(realwiki: Any, http: HttpClient, limits: HostLimits) -> Crawl:
    return Crawl(realwiki.api_url, http, limits)


def test_the_wiki_says_how_titles_are_read(crawl: Crawl) -> None:
    row = crawl.client.site()
    SITES.to_arrow([row], "real")
    assert (row["site_name"], row["title_case"]) == ("Real wiki", "first-letter")
    assert row["generator"].startswith("MediaWiki 1.")
    assert {"id": 6, "name": "File", "canonical": "File", "aliases": ["Image"]} in row["namespaces"]
    assert "wikipedia" in row["interwiki_prefixes"]
    assert row["page_count"] >= 65


def test_listing_all_pages_agrees_with_the_wikis_statistics(crawl: Crawl) -> None:
    numbers = [item["id"] for item in crawl.client.site()["namespaces"] if item["id"] >= 0]
    listed = [
        title for number in numbers for titles, _ in crawl.client.list_all_pages(number) for title in titles
    ]
    assert len(listed) == len(set(listed)) == crawl.client.site()["page_count"]
    assert {"Éclair", "ÉCLAIR", "Old éclair", LONGEST_TITLE, "Seven hundred links"} <= set(listed)


def test_category_members_are_listed_redirects_too(crawl: Crawl) -> None:
    cakes = [title for titles, _ in crawl.client.list_category_members("Cakes", [0]) for title in titles]
    assert sorted(cakes) == ["Old éclair", "Éclair"]
    assert list(crawl.client.list_category_members("Cakes", [14])) == [([], None)]
    assert list(crawl.client.list_category_members("No such category", [0])) == [([], None)]


def test_a_category_with_an_impossible_name_is_refused(crawl: Crawl) -> None:
    with pytest.raises(WikiRefused, match="invalidtitle"):
        list(crawl.client.list_category_members("a[b", [0]))


def test_a_page_with_700_links_yields_700(crawl: Crawl) -> None:
    row = crawl.rows("Seven hundred links", with_links=True)["Seven hundred links"]
    assert row["links"] == [f"Linked {number:03}" for number in range(700)]
    assert [attempt["outcome"] for attempt in crawl.attempts] == ["ok", "ok"]


def test_fifty_pages_of_one_request_are_each_whole(crawl: Crawl) -> None:
    titles = [title for titles, _ in crawl.client.list_all_pages(0) for title in titles]
    together = crawl.rows(*titles[:50], with_links=True)
    assert {row["status"] for row in together.values()} == {"ok"}
    for title in titles[:50:10]:
        alone = crawl.rows(title, with_links=True)[title]
        for column in ("links", "categories", "wikitext", "sha1", "revision_id"):
            assert together[title][column] == alone[column], (title, column)


def test_every_title_gets_its_row_whatever_the_wiki_thinks_of_it(crawl: Crawl) -> None:
    expected = {
        "Éclair": ("ok", "Éclair"),
        "éclair": ("ok", "Éclair"),
        "E\u0301clair": ("ok", "Éclair"),
        "e\u0301clair": ("ok", "Éclair"),
        " _Éclair_ ": ("ok", "Éclair"),
        ":Éclair#Top": ("ok", "Éclair"),
        "ÉCLAIR": ("ok", "ÉCLAIR"),
        "Old éclair": ("ok", "Old éclair"),
        "One/Two/slashes are no path": ("ok", "One/Two/slashes are no path"),
        LONGEST_TITLE: ("ok", LONGEST_TITLE),
        "No such page": ("missing", "No such page"),
        "no such talk:page": ("missing", "No such talk:page"),
        "image:None.png": ("missing", "File:None.png"),
        "x" * 256: ("invalid", "x" * 256),
        "é" * 128: ("invalid", "é" * 128),
        "..": ("invalid", ".."),
        "a/../../b": ("invalid", "a/../../b"),
        "a\x00b": ("invalid", "a\x00b"),
        "a\nb": ("invalid", "a\nb"),
        "a[b": ("invalid", "a[b"),
        "a|b": ("invalid", "a|b"),
        "#only a fragment": ("invalid", "#only a fragment"),
        "%C3%89clair": ("invalid", "%C3%89clair"),
        "Talk:": ("invalid", "Talk:"),
        "": ("invalid", ""),
        "\ufffd": ("invalid", "\ufffd"),
        "Special:Version": ("invalid", "Special:Version"),
        "Media:None.png": ("invalid", "Media:None.png"),
        "wikipedia:Éclair": ("invalid", "wikipedia:Éclair"),
        "WikiPedia:e\u0301clair": ("invalid", "WikiPedia:e\u0301clair"),
        "&Eacute;clair": ("ok", "Éclair"),
    }
    rows = crawl.rows(*expected)
    assert {title: (row["status"], row["title"]) for title, row in rows.items()} == expected
    assert all(row["error"] for row in rows.values() if row["status"] != "ok")


def test_the_wikis_sha1_is_that_of_the_text(crawl: Crawl) -> None:
    row = crawl.rows("Éclair")["Éclair"]
    assert row["sha1"] == sha1(row["wikitext"].encode(), usedforsecurity=False).hexdigest()
    assert row["categories"] == ["Cakes", "Odd titles"]
    assert row["content_model"] == "wikitext"


def test_a_page_of_five_megabytes_works_among_others(crawl: Crawl) -> None:
    rows = crawl.rows("Éclair", "Five megabytes", "Seven hundred links")
    assert {row["status"] for row in rows.values()} == {"ok"}
    large = rows["Five megabytes"]
    assert large["size_bytes"] > 4_900_000
    assert answered_page(large)["revisions"][0]["slots"]["main"]["content"] == large["wikitext"]


def test_titles_too_long_for_an_address_are_posted(crawl: Crawl) -> None:
    rows = crawl.rows(LONGEST_TITLE, *(f"{number:02}" + "é" * 126 for number in range(49)))
    assert crawl.attempts[0]["verb"] == "POST"
    assert [row["status"] for row in rows.values()] == ["ok"] + ["missing"] * 49


def test_maxlag_comes_as_200_with_an_error_and_is_obeyed(
    realwiki: Any, http: HttpClient, limits: HostLimits
) -> None:
    # A wiki without replicas reports a lag of -1: this limit is always passed. After four failures the fifth
    # wait is too long to sleep through.
    crawl = Crawl(realwiki.api_url, http, limits, maxlag=-2)
    limits.learn(lambda _: Decision("ok", retry=False, wait_seconds=None, state=HostState(0, 4)))
    with pytest.raises(WikiUnavailable, match="API error 'maxlag'"):
        crawl.client.site()
    (attempt,) = crawl.attempts
    assert (attempt["outcome"], attempt["status"]) == ("maxlag", 200)
    assert attempt["retry_wait_s"] >= 16


def test_a_wiki_without_robots_txt_may_be_asked(realwiki: Any, http: HttpClient, tmp_path: Path) -> None:
    host = urlsplit(realwiki.api_url).netloc
    with HostLimits(host, Politeness(requests_per_second=100.0), tmp_path / "robots") as limits:
        crawl = Crawl(realwiki.api_url, http, limits)
        crawl.client.site()
    assert [(attempt["status"], attempt["outcome"]) for attempt in crawl.attempts] == [
        (404, "client_error"),
        (200, "ok"),
    ]


def test_an_address_that_is_not_the_apis_is_refused_at_once(
    realwiki: Any, http: HttpClient, limits: HostLimits
) -> None:
    crawl = Crawl(realwiki.api_url.replace("api.php", "index.php"), http, limits)
    with pytest.raises(WikiRefused, match="HTTP 404; its body is not JSON"):
        crawl.client.site()


def test_edited_moved_deleted_and_restored_pages_are_seen_as_they_are(realwiki: Any, crawl: Crawl) -> None:
    realwiki.admin("edit", "Changing", text="First")
    first = crawl.rows("Changing")["Changing"]
    realwiki.admin("edit", "Changing", text="Second")
    second = crawl.rows("Changing")["Changing"]
    assert (first["wikitext"], second["wikitext"]) == ("First", "Second")
    assert second["revision_id"] > first["revision_id"]
    realwiki.admin("move", "Changing", "Changed")
    rows = crawl.rows("Changing", "Changed")
    assert rows["Changing"]["wikitext"].startswith("#REDIRECT [[Changed]]")
    assert rows["Changed"]["page_id"] == second["page_id"]
    realwiki.admin("delete", "Changed")
    assert crawl.rows("Changed")["Changed"]["status"] == "missing"
    realwiki.admin("undelete", "Changed")
    assert crawl.rows("Changed")["Changed"]["wikitext"] == "Second"
