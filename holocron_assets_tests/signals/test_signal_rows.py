"""Rows of signals: of any page, however odd, large or hostile."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import PAGE_SIGNALS
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals import extract
from holocron_assets.signals.extract import SIGNALS_VERSION, signal_row

PIECES = (
    "{{",
    "}}",
    "[[",
    "]]",
    "{|\n",
    "\n|}",
    "|",
    "=",
    "\n",
    "'''",
    "''",
    "<!--",
    "-->",
    "<ref>",
    "</ref>",
    "<nowiki>",
    "</nowiki>",
    "<b>",
    "==",
    "\n== A ==\n",
    "* ",
    ":",
    "#REDIRECT ",
    "File:",
    "Category:",
    "{{Merge|",
    "[[de:",
    "Infobox",
    "Top",
    "leg",
    "Issa Dorrane",
    " was a captain. ",
    "She sailed (far). ",
    "&amp;",
    "&#0;",
    "%41",
    "\u202eabc",
    "é",
    "\x00",
    "\ufddf",
    "{{PAGENAME}}",
    "[http://x y]",
    "\ud800",
)
HOSTILE = {
    "nested templates": "{{a|" * 3_000 + "x" + "}}" * 3_000 + "\n'''Issa''' was a captain.",
    "nested named templates": "{{a|b=" * 3_000 + "x" + "}}" * 3_000 + "\n'''Issa''' was a captain.",
    "unclosed templates": "{{a|" * 1_250_000,
    "unclosed infoboxes": "{{Infobox\n|a={{b|c=" * 250_000,
    "unclosed links": "[[a|" * 1_250_000,
    "unclosed files": "[[File:a|" * 500_000,
    "unclosed tags": "<b>" * 1_600_000,
    "unclosed references": "<ref>" * 1_000_000,
    "unclosed tabs": "<tabber>a=|-|b=" * 300_000,
    "pipes from templates": "[[a{{!}}" * 300_000,
    "unclosed comments": "<!--" * 1_250_000,
    "unclosed tables": "{|\n|a\n" * 700_000,
    "false tags in an infobox": "{{Infobox\n|name=" + "<a " * 12_000 + "}}",
    "lists in an infobox": "{{Infobox\n|name=" + ("\n" + "*" * 30) * 1_200 + "}}",
    "links in an infobox": "{{Infobox\n|name=" + "[[a|{{b|" * 14 + "x " * 19_000 + "}}",
    "external links in an infobox": "{{Infobox\n|name=" + "[http://a " * 29 + "x " * 19_000 + "}}",
    "quotes": "'''a ''b " * 600_000,
    "many templates": "{{a}}" * 1_000_000,
    "unclosed notices": "{{merge|" * 600_000,
    "spaces in a notice": "{{" + " " * 2_500_000 + "merge" + " " * 2_500_000,
    "unclosed links to a language": "[[de:a" * 800_000,
    "spaces in a link to a language": "[[" + " " * 2_500_000 + "de" + " " * 2_500_000,
    "many headings": "== a ==\n" * 600_000,
    "spaces in headings": "== a" + " " * 5_000_000 + "x",
    "one long line": "Issa sailed. " * 400_000,
    "one long word": "x" * 5_000_000,
    "brackets": "(" * 5_000_000,
}


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


@pytest.mark.fault(6, "wikitext made to take for ever")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_costs_about_a_second_at_most(name: str) -> None:
    started = time.process_time()
    row = signals(HOSTILE[name])
    # about a second on an idle machine; the rest is for a busy one
    assert time.process_time() - started < 4
    PAGE_SIGNALS.to_arrow([row], "sample-000001")
    assert row["wikitext_length"] == len(HOSTILE[name])


@pytest.mark.parametrize("name", ["nested templates", "nested named templates"])
def test_3_000_nested_templates_are_bounded_named_and_lose_no_lead(name: str) -> None:
    row = signals(HOSTILE[name])
    assert row["method"] == "bounded"
    assert row["extraction_error"].startswith("page 'Issa Dorrane': templates nest 3,000 deep")
    assert row["lead_sentence"] == "Issa was a captain."


def test_a_page_of_five_megabytes_is_bounded_and_still_read() -> None:
    top = "{{Top|leg}}\n{{Character\n|name=Issa\n|species=Human}}\n'''Issa''' was a captain.\n== Life ==\n"
    row = signals(top + "She sailed [[far]]. " * 250_000)
    assert row["method"] == "bounded"
    assert "'Issa Dorrane': only the first 2,097,152 of 5,000,0" in row["extraction_error"]
    assert (row["infobox_template"], row["continuity"]) == ("Character", "legends")
    assert row["lead_sentence"] == "Issa was a captain."


@pytest.mark.parametrize("content_model", ["json", "css", "javascript", "Scribunto"])
def test_only_wikitext_is_parsed(content_model: str) -> None:
    row = signals(
        "{{Top|leg}} '''Issa''' was. [[Category:X]]", content_model=content_model, categories=["Modules"]
    )
    assert (row["method"], row["lead_method"], row["continuity"]) == ("none", "none", "unknown")
    assert row["categories"] == ["Modules"]
    assert row["extraction_error"] is None
    PAGE_SIGNALS.to_arrow([row], "sample-000001")


@pytest.mark.parametrize("wikitext", ["", None, "{{Top|leg}}\n{{Cleanup}}", "* [[A]]"])
def test_a_page_that_says_nothing_has_a_row_without_a_lead(wikitext: str | None) -> None:
    row = signals(wikitext)
    assert (row["lead_method"], row["lead_length"], row["extraction_error"]) == ("none", 0, None)
    assert row["lead_excerpt"] is row["lead_sentence"] is row["lead_offset"] is row["lead_hash"] is None
    PAGE_SIGNALS.to_arrow([row], "sample-000001")


def test_a_template_that_is_never_closed_bounds_the_page_and_is_named() -> None:
    row = signals("{{Planet\n|name=Pell\n'''Pell''' was a moon.")
    assert row["method"] == "bounded"
    assert row["extraction_error"] == (
        "page 'Issa Dorrane': template 'Planet' is never closed, read by lines"
    )
    assert row["infobox_fields"] == [{"name": "name", "value": "Pell"}]


def test_a_redirect_to_another_wiki_is_no_article() -> None:
    row = signals("#REDIRECT [[wikipedia:Ilum]]")
    assert (row["is_redirect"], row["redirect_target"]) == (True, None)
    PAGE_SIGNALS.to_arrow([row], "sample-000001")


def test_a_row_says_of_what_by_which_version_and_how_long() -> None:
    row = signals("'''Issa''' was a captain.")
    assert (row["source"], row["batch"], row["page_id"], row["revision_id"]) == (
        "sample",
        "sample-000001",
        7,
        70,
    )
    assert row["signals_version"] == SIGNALS_VERSION
    assert 0 < row["extraction_ms"] < 1_000
    assert row["method"] == "mwparserfromhell"


def test_a_row_says_what_editors_say_of_other_pages_about_the_same_thing() -> None:
    row = signals(
        "{{Merge|Varn (moon)|date=May}} {{merge_with}} {{Merger of equals}} [[de:falter|Deutsch]] "
        "[[:de:A]] [[category:Moths]] <!--[[de:A]]--> {{Interlang\n|de=Falter\n}} {{Interlang}}"
    )
    assert row["merger_notices"] == ["|Varn (moon)|date=May", ""]
    assert row["interlanguage_links"] == ["de:falter", "|de=Falter\n"]


def test_a_merger_notice_in_a_comment_or_in_nowiki_does_not_count() -> None:
    row = signals("<!-- {{Merge|Varn}} --><nowiki>{{Merge|Thuum}}</nowiki> {{Merge|Osk<!-- moon -->}}")
    assert row["merger_notices"] == ["|Osk"]


def test_the_same_page_yields_the_same_row() -> None:
    first, second = signals("'''Issa''' was a captain."), signals("'''Issa''' was a captain.")
    assert {**first, "extraction_ms": 0} == {**second, "extraction_ms": 0}


def test_a_failure_of_the_parser_becomes_a_row_that_names_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(extract, "read_top", explode)
    row = signals("'''Issa''' was a captain.", categories=["Captains"])
    assert row["extraction_error"] == "page 'Issa Dorrane': RecursionError: too deep"
    assert row["method"] == "bounded"
    assert row["categories"] == ["Captains"]
    PAGE_SIGNALS.to_arrow([row], "sample-000001")


def test_a_page_with_an_impossible_title_is_read_all_the_same() -> None:
    row = signals("'''Issa''' was a captain.", "Issa|<x>")
    assert row["name"] == "Issa|<x>"
    assert row["lead_sentence"] == "Issa was a captain."


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_no_page_raises_and_every_row_is_bounded(wikitext: str) -> None:
    row = signals(wikitext)
    assert (
        row["extraction_error"] is None
        or "never closed" in row["extraction_error"]
        or ("too deep" in row["extraction_error"])
    )
    assert row["lead_length"] == len(row["lead_excerpt"] or "") <= 12_000
    assert len(row["lead_sentence"] or "") <= 1_000
    assert row["lead_offset"] is None or 0 <= row["lead_offset"] < len(wikitext)
    assert (row["lead_method"] == "none") == (row["lead_excerpt"] is None)
    assert all(len(field["value"]) <= 2_000 for field in row["infobox_fields"])
