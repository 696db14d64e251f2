"""The API client against a wiki that answers on command: what is asked, and what is made of the answers."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fake_crawl import Crawl, crawling, linked, page_object
from fake_mediawiki import says

from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import HTTP_ATTEMPTS, SITES
from holocron_assets.lake.titles import Site


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    with crawling(tmp_path) as crawl:
        yield crawl


def test_a_request_asks_for_the_newest_revision_with_maxlag_and_format_version_2(crawl: Crawl) -> None:
    crawl.wiki.answer = lambda _: {"batchcomplete": True, "query": {"pages": [page_object("A")]}}
    crawl.fetch("A", "B")
    sent = crawl.wiki.requests[0]
    assert sent.verb == "GET"
    assert sent.parameters == {
        "action": "query",
        "format": "json",
        "formatversion": "2",
        "maxlag": "5",
        "titles": "A|B",
        "prop": "revisions|info|categories",
        "rvprop": "ids|timestamp|sha1|size|content|contentmodel",
        "rvslots": "main",
        "cllimit": "max",
        "converttitles": "1",
    }


def test_redirects_are_never_resolved(crawl: Crawl) -> None:
    crawl.wiki.answer = lambda _: {
        "batchcomplete": True,
        "query": {"pages": [page_object("A", redirect=True)]},
    }
    assert crawl.fetch("A")["A"]["redirect"] is True
    assert "redirects" not in crawl.wiki.requests[0].parameters


def test_fifty_titles_of_255_bytes_are_posted(crawl: Crawl) -> None:
    titles = [f"{number:02}" + "é" * 126 + "x" for number in range(50)]
    crawl.wiki.answer = lambda asked: {
        "batchcomplete": True,
        "query": {"pages": [page_object(title) for title in asked["titles"].split("|")]},
    }
    assert all(crawl.fetch(*titles).values())
    assert [request.verb for request in crawl.wiki.requests] == ["POST"]
    assert crawl.attempts[0]["verb"] == "POST"


def test_fifty_one_titles_are_refused_before_sending(crawl: Crawl) -> None:
    with pytest.raises(ValueError, match="51 titles in one request; a wiki takes 50"):
        crawl.fetch(*(str(number) for number in range(51)))
    assert crawl.wiki.requests == []


def test_every_title_asked_for_gets_the_page_that_answers_for_it(crawl: Crawl) -> None:
    answered = [
        page_object("Ilum"),
        page_object("Éclair"),
        {"ns": 0, "title": "Gone", "missing": True},
        {"title": "a[b", "invalid": True, "invalidreason": "bad"},
        {"ns": -1, "title": "Special:Version", "special": True},
    ]
    crawl.wiki.will(
        says(
            batchcomplete=True,
            query={
                "normalized": [
                    {"fromencoded": True, "from": "e%CC%81clair", "to": "éclair"},
                    {"fromencoded": False, "from": "éclair", "to": "Éclair"},
                    {"fromencoded": False, "from": "ilum_", "to": "Ilum"},
                ],
                "interwiki": [{"title": "wikipedia:Ilum", "iw": "wikipedia"}],
                "pages": answered,
            },
        )
    )
    pages = crawl.fetch(
        "Ilum", "ilum_", "e\u0301clair", "éclair", "Gone", "a[b", "Special:Version", "wikipedia:Ilum"
    )
    assert {title: found and found["title"] for title, found in pages.items()} == {
        "Ilum": "Ilum",
        "ilum_": "Ilum",
        "e\u0301clair": "Éclair",
        "éclair": "Éclair",
        "Gone": "Gone",
        "a[b": "a[b",
        "Special:Version": "Special:Version",
        "wikipedia:Ilum": "wikipedia:Ilum",
    }


def test_a_title_in_another_variant_of_the_wikis_language_gets_the_page_that_answers_for_it(
    crawl: Crawl,
) -> None:
    crawl.wiki.will(
        says(
            batchcomplete=True,
            query={
                "normalized": [{"fromencoded": False, "from": "電腦_", "to": "電腦"}],
                "converted": [{"from": "電腦", "to": "电脑"}],
                "pages": [page_object("电脑")],
            },
        )
    )
    pages = crawl.fetch("電腦_", "電腦", "电脑")
    assert {found and found["title"] for found in pages.values()} == {"电脑"}


def test_pages_count_as_read_before_their_first_request_and_not_after_the_last(crawl: Crawl) -> None:
    answered_at = []

    def answer(parameters: Mapping[str, str]) -> dict[str, Any]:
        answered_at.append(utc_now())
        more = {} if "clcontinue" in parameters else {"continue": {"clcontinue": "5|X", "continue": "||"}}
        return {"query": {"pages": [page_object("A")]}, **more}

    crawl.wiki.answer = answer
    fetched = crawl.client.fetch_pages(["A"], with_links=False)
    assert len(answered_at) == 2
    assert fetched.fetched_at < answered_at[0]


def test_a_title_that_the_answer_leaves_out_is_reported_by_name(crawl: Crawl) -> None:
    crawl.wiki.will(says(batchcomplete=True, query={"pages": [page_object("A")]}))
    assert crawl.fetch("A", "B") == {"A": page_object("A"), "B": None}


def test_a_title_given_twice_is_asked_for_once(crawl: Crawl) -> None:
    crawl.fetch("A", "B", "A")
    assert crawl.wiki.requests[0].parameters["titles"] == "A|B"


def test_a_title_of_which_the_wiki_leaves_nothing_is_invalid(crawl: Crawl) -> None:
    crawl.wiki.will(says(batchcomplete=True, query={"normalized": [{"from": "#top", "to": ""}]}))
    assert crawl.fetch("#top")["#top"]["invalid"] is True


def test_normalisation_that_goes_in_a_circle_ends(crawl: Crawl) -> None:
    circle = [{"from": "A", "to": "B"}, {"from": "B", "to": "A"}]
    crawl.wiki.will(says(batchcomplete=True, query={"normalized": circle}))
    assert crawl.fetch("A") == {"A": None}


@pytest.mark.parametrize("title", ["a|b", "", "\x1fa\x1fb", "half \ud800"])
def test_a_title_that_would_change_the_request_is_invalid_without_one(crawl: Crawl, title: str) -> None:
    crawl.wiki.answer = lambda _: {"batchcomplete": True, "query": {"pages": [page_object("A")]}}
    pages = crawl.fetch("A", title)
    assert (pages[title]["invalid"], pages["A"]["title"]) == (True, "A")
    assert crawl.wiki.requests[0].parameters["titles"] == "A"


def test_when_no_title_can_be_asked_for_nothing_is_sent(crawl: Crawl) -> None:
    fetched = crawl.client.fetch_pages(["a|b"], with_links=False)
    assert (fetched.http_status, list(fetched.pages)) == (None, ["a|b"])
    assert crawl.wiki.requests == []


def test_a_page_is_merged_from_all_continuations(crawl: Crawl) -> None:
    crawl.wiki.will(
        says(
            **{"continue": {"clcontinue": "1|X", "continue": "||info"}},
            query={
                "pages": [page_object("A", None, categories=linked("Category:One")), page_object("B", None)]
            },
        ),
        says(
            **{"continue": {"plcontinue": "1|0|M", "continue": "||revisions"}},
            query={"pages": [page_object("A", None, links=linked("L1", "L2")), page_object("B", None)]},
        ),
        says(
            batchcomplete=True,
            query={
                "pages": [
                    page_object("A", links=linked("M"), categories=linked("Category:Two")),
                    page_object("B"),
                ]
            },
        ),
    )
    pages = crawl.fetch("A", "B", with_links=True)
    assert pages["A"] == page_object(
        "A",
        links=linked("L1", "L2", "M"),
        categories=linked("Category:One", "Category:Two"),
    )
    assert pages["B"] == page_object("B", links=[])
    assert [request.parameters.get("clcontinue") for request in crawl.wiki.requests] == [None, "1|X", None]
    assert [request.parameters.get("plcontinue") for request in crawl.wiki.requests] == [None, None, "1|0|M"]
    assert crawl.wiki.requests[2].parameters["titles"] == "A|B"


def test_of_two_revisions_that_came_while_a_page_was_edited_the_newer_counts(crawl: Crawl) -> None:
    older, newer = page_object("A", "older"), page_object("A", "newer")
    newer["revisions"][0]["revid"] = 8
    crawl.wiki.will(
        says(**{"continue": {"clcontinue": "1"}}, query={"pages": [older]}),
        says(batchcomplete=True, query={"pages": [newer]}),
    )
    assert crawl.fetch("A")["A"]["revisions"] == newer["revisions"]


def test_a_wiki_that_repeats_a_continue_for_ever_is_left(crawl: Crawl) -> None:
    crawl.wiki.answer = lambda _: {"continue": {"apcontinue": "A"}, "query": {"allpages": []}}
    with pytest.raises(WikiUnavailable, match="repeats the same continue for ever"):
        list(crawl.client.list_all_pages(0))
    assert len(crawl.wiki.requests) == 2


def test_a_listing_says_where_it_goes_on_and_can_be_taken_up_there(crawl: Crawl) -> None:
    last = says(batchcomplete=True, query={"allpages": linked("C")})
    crawl.wiki.will(
        says(**{"continue": {"apcontinue": "C", "continue": "-||"}}, query={"allpages": linked("A", "B")}),
        last,
        last,
    )
    listed = list(crawl.client.list_all_pages(4))
    assert listed == [(["A", "B"], {"apcontinue": "C", "continue": "-||"}), (["C"], None)]
    journaled = json.loads(json.dumps(listed[0][1]))
    assert list(crawl.client.list_all_pages(4, journaled)) == [(["C"], None)]
    assert crawl.wiki.requests[2].parameters["apcontinue"] == "C"
    assert crawl.wiki.requests[2].parameters["apnamespace"] == "4"


def test_category_members_are_listed_in_the_wanted_namespaces(crawl: Crawl) -> None:
    crawl.wiki.will(says(batchcomplete=True, query={"categorymembers": linked("A")}))
    assert list(crawl.client.list_category_members("Ice worlds", [0, 4])) == [(["A"], None)]
    sent = crawl.wiki.requests[0].parameters
    assert (sent["cmtitle"], sent["cmnamespace"]) == ("Category:Ice worlds", "0|4")


def test_a_row_records_the_request_without_its_titles(crawl: Crawl) -> None:
    crawl.fetch("Secret plans", "Other plans")
    (attempt,) = crawl.attempts
    HTTP_ATTEMPTS.to_arrow([attempt], "sample-000001")
    assert attempt["url"].startswith(f"{crawl.wiki.api_url}?action=query&")
    assert "plans" not in attempt["url"]
    assert {name: attempt[name] for name in ("source", "scope", "host", "titles", "status", "bytes")} == {
        "source": "sample",
        "scope": "sample-000001",
        "host": crawl.wiki.host,
        "titles": 2,
        "status": 200,
        "bytes": len('{"batchcomplete": true, "query": {}}'),
    }
    assert attempt["latency_ms"] > 0
    assert datetime.now(UTC) - attempt["started_at"] < timedelta(seconds=30)


def test_threads_keep_to_the_requests_in_flight(crawl: Crawl) -> None:
    crawl.wiki.delay_seconds = 0.1
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(crawl.fetch, [f"Page {number}" for number in range(16)]))
    assert len(crawl.wiki.requests) == 16
    assert 1 < crawl.wiki.most_in_flight <= 4
    assert crawl.outcomes() == ["ok"] * 16


def test_for_a_wiki_that_does_not_say_how_to_read_titles_the_missing_field_is_named(crawl: Crawl) -> None:
    crawl.wiki.will(says(batchcomplete=True, query={"general": {"sitename": "A wiki"}}))
    with pytest.raises(WikiUnavailable, match=r"general\.case"):
        crawl.client.site()


def test_a_small_wiki_that_gives_only_the_required_fields_is_a_site(crawl: Crawl) -> None:
    general = {"sitename": "A wiki", "case": "case-sensitive"}
    namespaces = {"0": {"id": 0, "name": ""}, "4": {"id": 4, "name": "A wiki", "canonical": "Project"}}
    aliases = [{"id": 4, "alias": "AW"}]
    crawl.wiki.will(
        says(
            batchcomplete=True,
            query={"general": general, "namespaces": namespaces, "namespacealiases": aliases},
        )
    )
    row = crawl.client.site()
    SITES.to_arrow([row], "sample")
    assert row["namespaces"] == [
        {"id": 0, "name": "", "canonical": "", "aliases": []},
        {"id": 4, "name": "A wiki", "canonical": "Project", "aliases": ["AW"]},
    ]
    assert (row["title_case"], row["page_count"], row["language"]) == ("case-sensitive", None, None)
    assert row["case_sensitive_namespaces"] == [0, 4]


def test_a_wiki_says_the_case_of_each_namespace(crawl: Crawl) -> None:
    general = {"sitename": "Words", "case": "case-sensitive"}
    spaces = {
        0: "case-sensitive",
        2: "first-letter",
        6: "first-letter",
        10: "case-sensitive",
    }
    namespaces = {str(key): {"id": key, "name": f"N{key}", "case": case} for key, case in spaces.items()}
    crawl.wiki.will(says(batchcomplete=True, query={"general": general, "namespaces": namespaces}))
    row = crawl.client.site()
    SITES.to_arrow([row], "sample")
    assert row["case_sensitive_namespaces"] == [0, 10]


def says_it_is(crawl: Crawl, generator: str) -> None:
    general = {"sitename": "A wiki", "case": "first-letter", "generator": generator}
    crawl.wiki.will(says(batchcomplete=True, query={"general": general, "namespaces": {}}))


@pytest.mark.parametrize("generator", ["MediaWiki 1.31.16", "MediaWiki 1.9"])
def test_a_wiki_that_is_too_old_for_its_pages_to_be_read_is_refused_at_once(
    crawl: Crawl, generator: str
) -> None:
    says_it_is(crawl, generator)
    with pytest.raises(WikiRefused, match=rf"its software is {generator}; Holocron needs MediaWiki 1\.32"):
        crawl.client.site()


@pytest.mark.parametrize("generator", ["MediaWiki 1.32.0-wmf.1", "MediaWiki 2.0", "Another wiki 0.1"])
def test_a_wiki_that_is_new_or_of_an_unknown_version_is_read(crawl: Crawl, generator: str) -> None:
    says_it_is(crawl, generator)
    assert crawl.client.site()["generator"] == generator


def test_a_wiki_says_the_language_and_the_path_of_its_pages(crawl: Crawl) -> None:
    general = {"sitename": "Ein Wiki", "case": "first-letter", "lang": "de", "articlepath": "/wiki/$1"}
    crawl.wiki.will(says(batchcomplete=True, query={"general": general, "namespaces": {}}))
    row = crawl.client.site()
    SITES.to_arrow([row], "sample")
    assert (row["language"], row["article_path"]) == ("de", "/wiki/$1")


@pytest.mark.parametrize(
    "query",
    [
        {"pages": {"1": page_object("A")}},
        {"pages": [{"ns": 0}]},
        {"pages": ["A"]},
        {"normalized": [{"to": "A"}]},
        {"pages": [page_object("A") | {"title": 5}]},
    ],
)
def test_an_answer_that_is_not_built_as_mediawikis_is_no_answer(crawl: Crawl, query: dict[str, Any]) -> None:
    crawl.wiki.will(says(batchcomplete=True, query=query))
    with pytest.raises(WikiUnavailable, match="not built as MediaWiki's"):
        crawl.fetch("A")


def test_a_prefix_that_leads_to_the_wiki_itself_is_none_of_another_wiki(crawl: Crawl) -> None:
    general = {"sitename": "Ein Wiki", "case": "first-letter"}
    prefixes = [
        {"prefix": "en", "local": True, "url": "https://en.wiki.example/$1"},
        {"prefix": "de", "local": True, "localinterwiki": True, "url": "https://de.wiki.example/$1"},
    ]
    query = {"general": general, "namespaces": {}, "interwikimap": prefixes}
    crawl.wiki.will(says(batchcomplete=True, query=query))
    row = crawl.client.site()
    SITES.to_arrow([row], "sample")
    assert (row["interwiki_prefixes"], row["own_prefixes"]) == (["en"], ["de"])
    assert Site.from_row(row).parse_title("de:Foo").title == "Foo"
