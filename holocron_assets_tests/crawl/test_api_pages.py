"""Page objects of the API as rows of table `pages`, and back."""

from datetime import UTC, datetime
from typing import Any

import pytest
from crawl_rows import answered_page

from holocron_assets.crawl.mediawiki.answers import JsonObject
from holocron_assets.crawl.mediawiki.pages import page_row
from holocron_assets.crawl.page_rows import Asked
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.links import link_extractor

FETCHED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def asked(title: str) -> Asked:
    return Asked(
        source="sample",
        batch="sample-000001",
        position=3,
        requested_title=title,
        depth=1,
        discovered_from="Home",
        attempts=2,
        http_status=200,
        fetched_at=FETCHED_AT,
        run_id="run",
    )


def extract(text: str, **_flags: bool) -> tuple[list[str], list[str], str | None]:
    return [f"Linked from {len(text)} characters", "Other"], ["Not used"], "Target"


def page_object(text: str = "Grüße [[Ilum]]", **more: Any) -> JsonObject:
    slot = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": text}
    revision = {
        "revid": 77,
        "parentid": 70,
        "timestamp": "2026-01-02T03:04:05Z",
        "size": len(text.encode()),
        "sha1": "a" * 40,
        "slots": {"main": slot},
    }
    return {"pageid": 5, "ns": 0, "title": "Home", "revisions": [revision], "length": 15, **more}


def row_of(page: JsonObject | None, title: str = "Home") -> dict[str, Any]:
    row = page_row(page, asked(title), extract)
    PAGES.to_arrow([row], "sample-000001")
    assert row.keys() == {column.name for column in PAGES.columns}
    return row


def test_a_page_becomes_a_row_with_all_its_facts() -> None:
    row = row_of(page_object(categories=[{"ns": 14, "title": "Category:Ice: worlds"}]), "home")
    expected = {
        "source": "sample",
        "batch": "sample-000001",
        "position": 3,
        "requested_title": "home",
        "requested_key": title_key("sample", "home"),
        "title": "Home",
        "title_key": title_key("sample", "Home"),
        "namespace": 0,
        "page_id": 5,
        "revision_id": 77,
        "revision_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "sha1": "a" * 40,
        "content_hash": content_hash("Grüße [[Ilum]]"),
        "content_model": "wikitext",
        "wikitext": "Grüße [[Ilum]]",
        "size_bytes": 16,
        "categories": ["Ice: worlds"],
        "links": ["Linked from 14 characters", "Other"],
        "redirect_target": None,
        "status": "ok",
        "http_status": 200,
        "attempts": 2,
        "error": None,
        "due_at": None,
        "fetched_at": FETCHED_AT,
        "depth": 1,
        "discovered_from": "Home",
        "run_id": "run",
    }
    assert {name: row[name] for name in expected} == expected


def test_links_that_the_api_listed_are_taken_rather_than_read_from_the_text() -> None:
    links = [{"ns": 0, "title": "Ilum"}, {"ns": 14, "title": "Category:Planets"}, {"ns": 0, "title": "Ilum"}]
    assert row_of(page_object(links=links))["links"] == ["Ilum", "Category:Planets"]
    assert row_of(page_object(links=[]))["links"] == []


def test_a_redirect_keeps_its_text_and_names_its_target() -> None:
    row = row_of(page_object("#REDIRECT [[Target]]", redirect=True))
    assert (row["status"], row["redirect_target"], row["wikitext"]) == (
        "ok",
        "Target",
        "#REDIRECT [[Target]]",
    )


def test_a_redirect_names_its_target_though_its_magic_word_is_of_an_unknown_language() -> None:
    page = page_object("#PATRZ [[Target]]", redirect=True)
    assert page_row(page, asked("Home"), link_extractor(DEFAULT_SITE))["redirect_target"] == "Target"
    page = page_object("#PATRZ [[Target]]")
    assert page_row(page, asked("Home"), link_extractor(DEFAULT_SITE))["redirect_target"] is None


def test_an_empty_page_is_a_page() -> None:
    row = row_of(page_object(""))
    assert (row["status"], row["wikitext"], row["size_bytes"]) == ("ok", "", 0)


def test_links_are_not_read_out_of_what_is_not_wikitext() -> None:
    page = page_object("a { color: red }")
    page["revisions"][0]["slots"]["main"]["contentmodel"] = "css"
    row = row_of(page)
    assert (row["status"], row["content_model"], row["links"]) == ("ok", "css", [])


@pytest.mark.parametrize(
    ("page", "status", "error"),
    [
        (None, "failed", "the wiki's answer left it out"),
        ({"ns": 0, "title": "Home", "missing": True}, "missing", "the wiki has no such page"),
        ({"title": "Ho[me", "invalid": True, "invalidreason": "bad ["}, "invalid", "bad ["),
        ({"title": "", "invalid": True}, "invalid", "no reason given"),
        ({"title": "wikipedia:Home", "iw": "wikipedia"}, "invalid", "another wiki (prefix 'wikipedia')"),
        ({"ns": -1, "title": "Special:Version", "special": True}, "invalid", "a special page"),
        ({"ns": -2, "title": "Media:X", "special": True, "missing": True}, "invalid", "a special page"),
        ({"pageid": 5, "ns": 0, "title": "Home"}, "failed", "had no text for it"),
        ({"ns": 0, "title": "Home", "pageid": "five"}, "failed", "not understood: pageid"),
        ({"ns": 0, "title": "Home", "pageid": 2**63}, "failed", "not understood: pageid"),
        ({"ns": 0, "title": "Home", "revisions": [{"revid": 1}]}, "failed", "revisions.0.timestamp"),
        (
            {
                "ns": 0,
                "title": "Home",
                "revisions": [{"revid": 1, "timestamp": "-0001-11-30T00:00:00Z"}],  # PHP's date of zeros
            },
            "failed",
            "revisions.0.timestamp",
        ),
        ({"ns": 0, "title": "Home", "categories": "none"}, "failed", "not understood: categories"),
        ({}, "failed", "not understood: title"),
    ],
)
def test_a_page_without_text_is_a_row_that_says_why(page: JsonObject, status: str, error: str) -> None:
    row = row_of(page, "asked title")
    assert row["status"] == status
    assert row["error"].startswith("asked title: ")
    assert error in row["error"]
    assert row["requested_title"] == "asked title"
    assert row["wikitext"] is None


def test_a_text_hidden_from_readers_is_dead_and_names_its_revision() -> None:
    page = page_object()
    page["revisions"][0] |= {"sha1hidden": True, "slots": {"main": {"texthidden": True}}}
    del page["revisions"][0]["sha1"]
    row = row_of(page)
    assert (row["status"], row["revision_id"], row["sha1"]) == ("dead", 77, None)
    assert "the text of revision 77 is hidden" in row["error"]


def test_a_text_that_the_wiki_has_lost_is_tried_again() -> None:
    page = page_object()
    page["revisions"][0]["slots"]["main"] = {"contentmodel": "wikitext", "textmissing": True}
    assert row_of(page)["status"] == "failed"


@pytest.mark.parametrize("title", ["a/b", "../../etc/passwd", "a\x00b", "é" * 127, "e\u0301", "é", "Home "])
def test_no_title_is_too_odd_for_a_row(title: str) -> None:
    row = row_of({"title": title, "invalid": True, "invalidreason": "odd"}, title)
    assert (row["title"], row["status"]) == (title, "invalid")


@pytest.mark.parametrize(
    "page",
    [
        page_object(),
        page_object(""),
        page_object("x" * 5_000_000),
        page_object(links=[{"ns": 0, "title": "Ilum"}], categories=[], touched="2026-01-01T00:00:00Z"),
        page_object("#REDIRECT [[Target]]", redirect=True),
        {"ns": 0, "title": "Home", "missing": True},
        {"title": "Ho[me", "invalid": True, "invalidreason": "bad ["},
    ],
    ids=["page", "empty", "five-megabytes", "with-links", "redirect", "missing", "invalid"],
)
def test_a_row_gives_back_the_exact_page_object_it_was_made_from(page: JsonObject) -> None:
    row = row_of(page)
    assert answered_page(row) == page
    assert list(answered_page(row)) == list(page)
    assert page_row(answered_page(row), asked("Home"), extract) == row


def test_the_text_is_stored_once() -> None:
    row = row_of(page_object("unmistakable"))
    assert "unmistakable" not in row["payload"]


def test_making_a_row_leaves_the_page_object_as_it_was() -> None:
    page = page_object()
    row_of(page)
    assert page == page_object()
