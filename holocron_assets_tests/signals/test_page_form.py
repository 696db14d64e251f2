"""Continuity, disambiguations, lists, timelines, redirects, sections: what a page's form says."""

from typing import Any

import pytest

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row
from holocron_assets.signals.markers import is_disambiguation
from holocron_assets.signals.vocabulary import page_words

LEAD = "\n'''Issa''' was a captain."


def signals(wikitext: str | None, title: str = "Issa Dorrane", **columns: Any) -> Row:
    """The signals of a page on a wiki with English namespaces."""
    page = {
        "source": "sample",
        "batch": "sample-000001",
        "title": title,
        "title_key": title_key("sample", title),
        "namespace": 0,
        "page_id": 7,
        "revision_id": 70,
        "content_model": "wikitext",
        "wikitext": wikitext,
        **columns,
    }
    return signal_row(page, DEFAULT_SITE)


@pytest.mark.parametrize(
    ("title", "wikitext", "expected"),
    [
        ("Quill (disambiguation)", "", True),
        ("Quill (Disambiguation)/Legends", "", True),
        ("Quill", "'''Quill''' may refer to:\n* [[A]]\n{{Disambig}}", True),
        ("Quill", "{{ disambig | x }}", True),
        ("Quill", "[[Category:Disambiguation pages]]", True),
        ("Quill", "<!-- {{Disambig}} --> <nowiki>{{Disambig}}</nowiki>", False),
        ("Quill", "{{Disambiguated thing}}", False),
        ("Disambiguation", "", False),
    ],
)
def test_a_disambiguation_is_recognised_by_title_template_or_category(
    title: str,
    wikitext: str,
    expected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert signals(wikitext, title)["is_disambiguation"] is expected


def test_a_hatnote_of_russian_wikis_makes_no_disambiguation() -> None:
    words = page_words("ru")
    assert not is_disambiguation("Москва", {"значения"}, [], words)
    assert is_disambiguation("Москва", {"неоднозначность"}, [], words)
    assert is_disambiguation("Москва (значения)", set(), [], words)


@pytest.mark.parametrize(
    ("title", "categories", "expected"),
    [
        ("List of moons", [], True),
        ("Lists of moons/Legends", [], True),
        ("Moons", ["Lists of moons"], True),
        ("Moons", ["Real-world lists"], True),
        ("Listening post", ["Listeners"], False),
    ],
)
def test_a_list_is_recognised_by_title_or_category(
    title: str,
    categories: list[str],
    expected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert signals("", title, categories=categories)["is_list"] is expected


@pytest.mark.parametrize(
    ("title", "wikitext", "markers"),
    [
        ("19 BBY", "", ["title:year"]),
        ("19 BBY/Legends", "", ["title:year"]),
        ("25,000 BBY", "", ["title:year"]),
        ("312 AF", "", ["title:year"]),
        ("2019", "", ["title:year"]),
        ("490s BC", "", ["title:decade"]),
        ("3rd century", "", ["title:century"]),
        ("May 4", "", ["title:day"]),
        ("Timeline of the Lamp War", "", ["title:timeline"]),
        ("The dry year", "{{Year\n|prev=1\n|next=3}}", ["infobox:Year"]),
        ("Age of Brine", "[[Category:Eras]]", ["category:Eras"]),
        ("Age of Brine", "{{Year nav|x}}", ["template:year nav"]),
        ("2638 droid", "", []),
        ("501 ft", "", []),
        ("THX 1138", "", []),
        ("Issa", "", []),
    ],
)
def test_years_eras_and_timelines_are_marked(title: str, wikitext: str, markers: list[str]) -> None:
    assert signals(wikitext, title)["timeline_markers"] == markers


def test_a_redirect_has_a_target_and_no_lead() -> None:
    row = signals("#REDIRECT [[Foo bar#x]]\n{{R from name}}\nThis text is never shown. [[Category:X]]")
    assert (row["is_redirect"], row["redirect_target"]) == (True, "Foo bar#x")
    assert row["lead_method"] == "none"
    assert row["categories"] == ["X"]


def test_sections_are_listed_in_order_with_level_and_clean_title() -> None:
    row = signals(
        "== ''A'' [[b|c]]<ref>x</ref> ==\n===D<!-- e -->===  \n<!--\n== no ==\n-->\n"
        "<nowiki>\n== no ==\n</nowiki>\n x == no ==\n==Unpaired=\n== =="
    )
    assert [(section["level"], section["title"]) for section in row["sections"]][:2] == [(2, "A c"), (3, "D")]
    assert "no" not in [section["title"] for section in row["sections"]]


def test_categories_are_those_of_the_text_then_those_the_source_reported() -> None:
    row = signals("[[Category:B|x]] [[Category:a]]", categories=["C", "B"])
    assert row["categories"] == ["B", "A", "C"]


@pytest.mark.parametrize(
    ("title", "top", "categories", "continuity"),
    [
        ("Issa/Legends", "", [], "legends"),
        ("Issa/Canon", "", [], "canon"),
        ("Issa (Legends)", "", [], "legends"),
        ("Issa", "{{Top|leg}}", [], "legends"),
        ("Issa", "{{top|fga|old|can|title=''x''}}", [], "canon"),
        ("Issa", "{{Top|italics=1|LEG<!-- x -->}}", [], "legends"),
        ("Issa", "{{Eras|legends}}", [], "legends"),
        ("Issa", "{{Top|rwm}}", [], "real"),
        ("Issa", "{{Top|real}}", [], "real"),
        ("Issa", "{{Top|canon=Other Issa}}", [], "legends"),
        ("Issa", "{{Top|legends=Other Issa}}", [], "canon"),
        ("Issa", "{{Top|canon=}}", [], "unknown"),
        ("Issa", "{{Top}}", [], "unknown"),
        ("Issa", "{{Top|old|imp}}", [], "unknown"),
        ("Issa", "", ["Canon articles"], "canon"),
        ("Issa", "", ["Captains", "Legends articles"], "legends"),
        ("Issa", "", ["Real-world people"], "real"),
        ("Issa", "", ["Legends audiobooks"], "unknown"),
        ("Issa", "{{Planet|leg|name=x|moons=2}}", [], "unknown"),
        ("Issa/Legacy", "", [], "unknown"),
        # conflicts: the title decides before markers, and markers before categories
        ("Issa/Legends", "{{Top|can}}", ["Canon articles"], "legends"),
        ("Issa", "{{Top|leg}}", ["Canon articles"], "legends"),
        ("Issa", "{{Top|leg|rwm}}", [], "real"),
        ("Issa", "{{Top|can|leg}}", [], "both"),
        ("Issa", "", ["Canon articles", "Legends articles"], "both"),
    ],
)
def test_continuity_follows_the_strongest_marker(
    title: str, top: str, categories: list[str], continuity: str
) -> None:
    assert signals(top + LEAD, title, categories=categories)["continuity"] == continuity


def test_every_marker_is_evidence_strongest_first() -> None:
    row = signals("{{Top|can}}" + LEAD + "[[Category:Legends articles]]", "Issa/Legends")
    assert row["continuity_evidence"] == [
        "title:/Legends=legends",
        "template:Top|can=canon",
        "category:Legends articles=legends",
    ]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Issa/Legends", "Issa"),
        ("Issa (Legends)", "Issa"),
        ("Issa (captain)", "Issa (captain)"),
        ("Issa (captain)/Legends", "Issa (captain)"),
        ("A/B coupling", "A/B coupling"),
        ("User:Jim/Legends", "Jim"),
        ("/Legends", "/Legends"),
        ("Legends", "Legends"),
    ],
)
def test_the_name_is_the_title_without_namespace_and_continuity_suffix(title: str, name: str) -> None:
    assert signals(LEAD, title)["name"] == name
