"""Titles and links against a real MediaWiki: what it makes of a text decides."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Protocol
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from holocron_assets.lake.titles import InvalidTitle, Site
from holocron_assets.signals.links import extract_links

pytestmark = pytest.mark.realwiki

PAGE = "Page under test"
TITLE_PIECES = [
    *"aBz :_#/.%&;~'()é+*?!日-4Ω",
    "Category:",
    "talk:",
    "file:",
    "&amp;",
    "&eacute;",
    "&#65;",
    "&#x42;",
    "..",
    "./",
    "Wikipedia:",
    "user_talk",
    "special:",
    "&nbsp;",
    "%41",
    "::",
    "\t",
    "<",
    "|",
    "e\u0301",
    "\u3000",
    "\u200e",
]
LINK_PIECES = [
    *["[[", "]]"] * 3,
    *["[", "]", "|", "|", "\n", " ", "''", ":", "#s", "q", "/x"],
    *["Foo", "Bar baz", "A (b)", "File:X.png", "Category:Y", "wikipedia:Z", "https://x.y"],
    *[
        "<nowiki>",
        "</nowiki>",
        "<nowiki/>",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "<ref>",
        "</ref>",
        "<b>",
        "</b>",
    ],
    *["{{!}}", "%20", "&amp;"],
]


class Wiki(Protocol):
    """The fixture `realwiki`, as far as it is used here."""

    api_url: str


def ask(wiki: Wiki, **parameters: Any) -> Any:
    form = urlencode({**parameters, "format": "json", "formatversion": 2}).encode()
    with urlopen(wiki.api_url, form, timeout=60) as answer:  # noqa: S310 - loopback
        return json.load(answer)


@pytest.fixture(scope="module")
def site(realwiki: Wiki) -> Site:
    info = ask(
        realwiki, action="query", meta="siteinfo", siprop="general|namespaces|namespacealiases|interwikimap"
    )["query"]
    return Site.from_row(
        {
            "title_case": info["general"]["case"],
            "namespaces": [
                {
                    **{key: space.get(key) for key in ("id", "name", "canonical")},
                    "aliases": [
                        alias["alias"] for alias in info["namespacealiases"] if alias["id"] == space["id"]
                    ],
                }
                for space in info["namespaces"].values()
            ],
            "interwiki_prefixes": [entry["prefix"] for entry in info["interwikimap"]],
        }
    )


def texts(pieces: list[str], count: int, longest: int) -> Iterator[str]:
    random = Random(7)  # noqa: S311 - the same texts in every run
    for _ in range(count):
        yield "".join(random.choices(pieces, k=random.randint(1, longest)))


def test_titles_are_those_the_wiki_makes_of_a_text(realwiki: Wiki, site: Site) -> None:
    for text in texts(TITLE_PIECES, 300, 7):
        answer = ask(realwiki, action="query", titles=f"\x1f{text}", prop="info")["query"]
        assert _our_title(site, text) == _its_title(answer), repr(text)


def _our_title(site: Site, text: str) -> str | None:
    try:
        return site.parse_title(text).title
    except InvalidTitle:
        return None


def _its_title(answer: Any) -> str | None:
    # a prefix of another wiki and a fragment alone name no page here: the wiki answers with none
    pages = [page for page in answer.get("pages", ()) if not page.get("invalid")]
    return str(pages[0]["title"]) if pages else None


def test_links_and_categories_are_those_the_wiki_finds(realwiki: Wiki, site: Site) -> None:
    for text in texts(LINK_PIECES, 300, 14):
        parsed = ask(
            realwiki,
            action="parse",
            text=text,
            title=PAGE,
            contentmodel="wikitext",
            prop="links|categories|images",
        )["parse"]
        found = extract_links(text, site)
        assert {link.title for link in found.links} == {
            *(link["title"] for link in parsed["links"]),
            *(f"File:{name.replace('_', ' ')}" for name in parsed["images"]),
        }, repr(text)
        assert {category.name for category in found.categories} == {
            category["category"].replace("_", " ") for category in parsed["categories"]
        }, repr(text)
