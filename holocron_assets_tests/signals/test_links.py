"""Links, categories and redirects of a page."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import PAGE_LINKS
from holocron_assets.lake.titles import DEFAULT_SITE, Site
from holocron_assets.signals.links import extract_links, link_rows


def titles(wikitext: str) -> list[str]:
    return [link.title for link in extract_links(wikitext, DEFAULT_SITE).links]


def categories(wikitext: str) -> list[str]:
    return [category.name for category in extract_links(wikitext, DEFAULT_SITE).categories]


def page(**columns: object) -> Row:
    return {
        "source": "sample",
        "batch": "sample-000001",
        "title": "Issa",
        "title_key": title_key("sample", "Issa"),
        "content_model": "wikitext",
        "wikitext": "",
        "categories": None,
        "links": None,
        "redirect_target": None,
        **columns,
    }


def test_a_page_with_700_links_yields_700() -> None:
    text = " ".join(f"[[Planet {number}]]" for number in range(700))
    assert titles(text) == [f"Planet {number}" for number in range(700)]


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("[[Foo]]", ["Foo"]),
        ("[[foo bar|shown]]", ["Foo bar"]),
        ("[[Foo_bar]] [[foo bar]] [[Foo  bar|x]]", ["Foo bar"]),
        ("[[B]] [[A]] [[B]]", ["B", "A"]),
        ("[[Foo (planet)|]] [[Foo (moon)|a moon]]", ["Foo (moon)"]),
        ("[[Foo#History]]", ["Foo"]),
        ("[[Foo#History|h]] [[Foo]]", ["Foo"]),
        ("[[#History]] [[ #x|y]]", []),
        ("[[Foo|a ''b'' {{c}} d\ne]]", ["Foo"]),
        ("[[Foo]]s and [[bar]]ed", ["Foo", "Bar"]),
        ("[[:Category:X]] [[ :File:Y.png]]", ["Category:X", "File:Y.png"]),
        ("[[File:A.png|thumb|With [[Foo]] and [[Bar|b]]]]", ["File:A.png", "Foo", "Bar"]),
        ("[[image:a.png|thumb]]", ["File:A.png"]),
        ("{{Quote|[[Foo]] said|[[Bar]]}}", ["Foo", "Bar"]),
        ("{{Box|a=[[Foo]]\n|b=*[[Bar]]}}", ["Foo", "Bar"]),
        ("<ref name=x>[[Foo]]</ref>", ["Foo"]),
        ("<gallery>\nFile:A.png|With [[Foo]]\n</gallery>", ["Foo"]),
        ("{|\n|[[Foo]]\n|}", ["Foo"]),
        ("[[Caf&eacute;]] [[A%26B]] [[Tom &amp; Jerry]]", ["Café", "A&B", "Tom & Jerry"]),
        ("[[Foo{{!}}bar]]", ["Foo"]),
        ("[[Foo<!-- or bar -->]] [[Ba<!-- x -->r]]", ["Foo", "Bar"]),
        ("[[Wikipedia:Foo]] [[wikipedia:x|y]]", []),
        ("[[Template:x]] [[User talk:jim]]", ["Template:X", "User talk:Jim"]),
        ("[http://example.org [[Foo]]]", ["Foo"]),
        ("[Foo [[Bar]]]", ["Bar"]),
    ],
)
def test_links_are_read_as_mediawiki_reads_them(wikitext: str, expected: list[str]) -> None:
    assert titles(wikitext) == expected


@pytest.mark.parametrize(
    "wikitext",
    [
        "<!-- [[Foo]] -->",
        "<!-- never closed [[Foo]]",
        "<nowiki>[[Foo]]</nowiki>",
        "<NOWIKI >[[Foo]]</nowiki >",
        "<pre>[[Foo]]</pre>",
        '<syntaxhighlight lang="xml">[[Foo]]</syntaxhighlight>',
        "<math>[[Foo]]</math>",
        "[<!-- -->[Foo|[[",
        "[[Foo<nowiki/>]]",
        "[<nowiki/>[Foo]]",
        "[[Foo",
        "[[Foo|bar",
        "[[Foo|bar]",
        "[[Foo\nbar]]",
        "[[Foo|[[",
        "[[]]",
        "[[ ]]",
        "[[|]]",
        "[[Foo<b>]]",
        "[[{{PAGENAME}}/x]]",
        "[[../x]]",
        "[[a%00b]]",
        "[[Foo%5Bbar]]",
        "[[&lt;Foo]]",
        "[[https://example.org The site]]",
        "[[mailto:jim]]",
        "[[Special:Random]]",
        "[[[Foo]]]",
        f"[[{'x' * 256}]]",
    ],
)
def test_what_mediawiki_shows_as_text_is_no_link(wikitext: str) -> None:
    assert titles(wikitext) == []


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("[[de:Foo]] [[fi:Foo]] [[it:Foo]] [[pl:Foo bar]] [[pt-br:Foo]] [[ja:フー]] [[ fi:Foo ]]", []),
        ("[[:fi:Foo]] [[:it:Foo|in Italian]]", []),
        ("[[It: Chapter Two]] [[it: chapter two|x]]", ["It: Chapter Two", "It: chapter two"]),
        ("[[It:Foo]] [[it:Foo|x]]", ["It:Foo"]),
        ("[[en:Foo]] [[xx:Foo]]", ["En:Foo", "Xx:Foo"]),
    ],
)
def test_a_link_to_another_language_is_no_page_of_a_wiki_that_states_no_prefixes(
    wikitext: str, expected: list[str]
) -> None:
    assert titles(wikitext) == expected


def test_a_wiki_that_states_its_prefixes_has_pages_that_begin_like_other_languages() -> None:
    site = replace(DEFAULT_SITE, interwiki_prefixes=frozenset({"fi"}))
    assert [link.title for link in extract_links("[[it:Foo]] [[fi:Foo]]", site).links] == ["It:Foo"]


def test_a_nowiki_that_is_never_closed_hides_nothing() -> None:
    assert titles("<nowiki> [[Foo]] <pre> [[Bar]]") == ["Foo", "Bar"]


def test_a_comment_inside_nowiki_does_not_hide_what_follows() -> None:
    assert titles("<nowiki><!--</nowiki> [[Foo]] <nowiki>--></nowiki>") == ["Foo"]


def test_a_nowiki_inside_a_comment_does_not_hide_what_follows() -> None:
    assert titles("<!-- <nowiki> --> [[Foo]] </nowiki>") == ["Foo"]


def test_categories_are_not_links_and_lose_prefix_and_sort_key() -> None:
    text = "[[Category:planets|Foo]] [[category: Moons]] [[Category:Planets]] [[Foo]]"
    assert categories(text) == ["Planets", "Moons"]
    assert titles(text) == ["Foo"]


def test_namespaces_are_those_of_the_wiki() -> None:
    german = Site.from_row(
        {
            "title_case": "first-letter",
            "namespaces": [
                {"id": 0, "name": "", "canonical": "", "aliases": []},
                {"id": 6, "name": "Datei", "canonical": "File", "aliases": ["Bild"]},
                {"id": 14, "name": "Kategorie", "canonical": "Category", "aliases": []},
            ],
            "interwiki_prefixes": ["en"],
        }
    )
    found = extract_links("[[Bild:a.png|[[Foo]]]] [[Kategorie:x]] [[category:y]] [[en:Foo]]", german)
    assert [link.title for link in found.links] == ["Datei:A.png", "Foo"]
    assert [category.title for category in found.categories] == ["Kategorie:X", "Kategorie:Y"]


@pytest.mark.parametrize(
    "wikitext",
    [
        "#REDIRECT [[foo bar]]",
        "#redirect[[Foo bar]]",
        " \n#Redirect : [[Foo_bar|shown]] {{R from name}}",
        "<!-- moved -->#REDIRECT [[Foo bar]]\n[[Category:X]]",
    ],
)
def test_a_redirect_leads_to_its_target_which_is_no_link(wikitext: str) -> None:
    found = extract_links(wikitext, DEFAULT_SITE)
    assert found.redirect is not None
    assert found.redirect.title == "Foo bar"
    assert found.links == ()


def test_a_redirect_keeps_its_fragment_and_categories() -> None:
    found = extract_links("#REDIRECT [[Foo#Part]] [[Category:X]] [[Bar]]", DEFAULT_SITE)
    assert found.redirect is not None
    assert (found.redirect.title, found.redirect.fragment) == ("Foo", "Part")
    assert [category.name for category in found.categories] == ["X"]
    assert [link.title for link in found.links] == ["Bar"]


def test_a_magic_word_of_another_language_redirects_when_the_wiki_says_so() -> None:
    text = "#WEITERLEITUNG [[Foo]]"
    assert extract_links(text, DEFAULT_SITE).redirect is None
    redirect = extract_links(text, DEFAULT_SITE, is_redirect=True).redirect
    assert redirect is not None
    assert redirect.title == "Foo"


@pytest.mark.parametrize(
    ("wikitext", "says_so"),
    [
        ("#REDIRECT [[wikipedia:Ilum]]", False),
        ("#REDIRECT [[:Wikipedia:Ilum#Part|shown]]", False),
        ("#WEITERLEITUNG [[wikipedia:Ilum]]", True),
    ],
)
def test_a_redirect_to_another_wiki_is_one_that_leads_to_no_page(wikitext: str, *, says_so: bool) -> None:
    found = extract_links(wikitext, DEFAULT_SITE, is_redirect=says_so)
    assert (found.is_redirect, found.redirect, found.links) == (True, None, ())
    assert link_rows(page(wikitext=wikitext), DEFAULT_SITE) == []


def test_a_redirect_to_no_title_is_none() -> None:
    assert not extract_links("#REDIRECT [[#Part]]", DEFAULT_SITE).is_redirect
    assert not extract_links("#REDIRECT [[https://x.example/y]]", DEFAULT_SITE).is_redirect


def test_a_numbered_list_of_links_is_no_redirect() -> None:
    assert extract_links("# [[Foo]]\n# [[Bar]]", DEFAULT_SITE).redirect is None


def test_link_rows_fit_the_table_and_say_where_they_lead() -> None:
    rows = link_rows(page(wikitext="[[B]] [[A]] [[:Category:C]] [[Category:D]] [[issa]]"), DEFAULT_SITE)
    PAGE_LINKS.to_arrow(rows, "sample-000001")
    assert [(row["kind"], row["target"], row["target_namespace"], row["position"]) for row in rows] == [
        ("link", "B", 0, 0),
        ("link", "A", 0, 1),
        ("link", "Category:C", 14, 2),
        ("category", "Category:D", 14, 0),
    ]
    assert rows[0]["target_key"] == title_key("sample", "B")
    assert rows[0]["from_title"] == "Issa"


def test_a_page_that_an_earlier_version_read_as_no_redirect_is_one_if_the_wiki_said_so() -> None:
    read = page(wikitext="#PATRZ [[Foo]]", redirect_target=None, payload='{"title":"Home","redirect":true}')
    assert [(row["kind"], row["target"]) for row in link_rows(read, DEFAULT_SITE)] == [("redirect", "Foo")]


def test_link_rows_add_what_only_the_source_reported() -> None:
    rows = link_rows(
        page(
            wikitext="[[B]] [[Category:Y]]",
            links=["A", "B", "Template:T", "bad|title"],
            categories=["X", "Y"],
        ),
        DEFAULT_SITE,
    )
    PAGE_LINKS.to_arrow(rows, "sample-000001")
    assert [(row["kind"], row["target"]) for row in rows] == [
        ("link", "B"),
        ("link", "A"),
        ("link", "Template:T"),
        ("category", "Category:Y"),
        ("category", "Category:X"),
    ]


def test_a_redirect_row_is_made_from_the_text_or_else_from_the_report() -> None:
    for redirect in (
        page(wikitext="#REDIRECT [[Foo#x]]", links=["Foo"]),
        page(wikitext="#POSITIONE [[Foo#x]]", redirect_target="Foo"),
        page(wikitext="", redirect_target="Foo"),
    ):
        rows = link_rows(redirect, DEFAULT_SITE)
        assert [(row["kind"], row["target"]) for row in rows] == [("redirect", "Foo")]


def test_only_what_the_source_reports_is_read_of_a_page_that_is_no_wikitext() -> None:
    script = page(content_model="Scribunto", wikitext="local a = [[text]]", links=["Foo"])
    assert [row["target"] for row in link_rows(script, DEFAULT_SITE)] == ["Foo"]


@given(st.text(alphabet="[]|{}!:#<>-/'\n FfoCategory%20&amp;é", max_size=200))
def test_no_text_yields_a_link_to_an_impossible_or_repeated_title(wikitext: str) -> None:
    found = extract_links(wikitext, DEFAULT_SITE, is_redirect=True)
    names = [link.title for link in (*found.links, *found.categories)]
    assert len(names) == len(set(names))
    for name in names:
        assert DEFAULT_SITE.parse_title(f":{name}").title == name


@pytest.mark.parametrize("piece", ["[[", "[[a|", "[[a|]", "]]", "<nowiki>", "<pre ", "<!--", "[[File:a|"])
def test_five_megabytes_of_unclosed_markup_take_seconds_at_most(piece: str) -> None:
    text = piece * (5_000_000 // len(piece))
    started = time.process_time()
    extract_links(text, DEFAULT_SITE)
    assert time.process_time() - started < 5
