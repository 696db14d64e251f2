"""Disambiguations, lists, timelines, redirects, sections: what a page's form says."""

import pytest
from signal_pages import signals


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
def test_a_disambiguation_is_told_by_title_template_or_category(
    title: str,
    wikitext: str,
    expected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert signals(wikitext, title)["is_disambiguation"] is expected


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
def test_a_list_is_told_by_title_or_category(
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
    assert (row["is_redirect"], row["redirect_target"]) == (True, "Foo bar")
    assert row["lead_method"] == "none"
    assert row["categories"] == ["X"]


def test_sections_are_told_in_order_with_level_and_clean_title() -> None:
    row = signals(
        "== ''A'' [[b|c]]<ref>x</ref> ==\n===D<!-- e -->===  \n<!--\n== no ==\n-->\n"
        "<nowiki>\n== no ==\n</nowiki>\n x == no ==\n==Unpaired=\n== =="
    )
    assert [(section["level"], section["title"]) for section in row["sections"]][:2] == [(2, "A c"), (3, "D")]
    assert "no" not in [section["title"] for section in row["sections"]]


def test_categories_are_those_of_the_text_then_those_the_source_reported() -> None:
    row = signals("[[Category:B|x]] [[Category:a]]", categories=["C", "B"])
    assert row["categories"] == ["B", "A", "C"]
