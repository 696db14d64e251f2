"""A page's clean text: all that a reader reads, and no markup."""

import gzip
import json
import re
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.evidence.page_text import page_text
from holocron_assets.lake.titles import DEFAULT_SITE

REAL_PAGES = Path(__file__).parents[2] / ".." / "shared" / "wookieepedia" / "wikitext_pages.jsonl.gz"
MARKUP = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|</?[a-z]+|<!--|''|\bFile:|\bCategory:|__[A-Z]+__|&[a-z]+;"
)
ADVERSARIES = (
    "{{a|",
    "[[a|",
    "{|\n|",
    "<ref>",
    "<!--",
    "''x",
    "* a\n",
    "| b ||",
    "= a =\n",
    "|-\n",
    "}}",
    "&lt;",
)


def clean(wikitext: str) -> str:
    return page_text(wikitext, DEFAULT_SITE, "Varn")


@cache
def real_pages() -> dict[str, str]:
    with gzip.open(REAL_PAGES, "rt", encoding="utf-8") as lines:
        return {row["title"]: row["wikitext"] for row in map(json.loads, lines)}


def test_prose_is_kept_and_markup_is_not() -> None:
    wikitext = "'''Varn''' is a [[planet]] in the [[Outer Rim|Rim]].<ref>A.</ref>\n\nIt has ''two'' moons."
    assert clean(wikitext) == "Varn is a planet in the Rim.\n\nIt has two moons."


def test_lines_of_one_paragraph_are_one_line() -> None:
    assert clean("One sentence.\nAnother.\n\nA paragraph.") == "One sentence. Another.\n\nA paragraph."


def test_headings_are_kept_with_their_level() -> None:
    assert clean("==History==\nIt began.\n===''War''===\nIt ended.") == (
        "== History ==\n\nIt began.\n\n=== War ===\n\nIt ended."
    )


def test_a_section_without_text_leaves_no_heading() -> None:
    wikitext = "==A==\n===B===\nText.\n===C===\n{{Unknown}}\n==D==\n==E==\n===F===\nMore.\n==G==\n"
    assert clean(wikitext) == "== A ==\n\n=== B ===\n\nText.\n\n== E ==\n\n=== F ===\n\nMore."


def test_each_list_item_is_a_line() -> None:
    wikitext = "Its moons:\n* [[Aay]], large\n** Bee {{!}}\n# Cee\n:''Dee''\n"
    assert clean(wikitext) == "Its moons:\n\n- Aay, large\n- Bee |\n- Cee\n- Dee"


def test_each_table_row_is_a_line_with_its_cells() -> None:
    wikitext = (
        '{| class="wikitable"\n|+ Moons\n! Name !! Colour\n|-\n| style="x" | [[Aay|A]] || red\nand blue\n|-\n'
        "! scope=row | Bee\n| Wow!!\n|}\nAfter."
    )
    assert clean(wikitext) == "Moons\nName | Colour\nA | red and blue\nBee | Wow!!\n\nAfter."


def test_a_table_in_a_table_comes_after_it() -> None:
    wikitext = "{|\n| left\n| \n{|\n| inner [[Aay|A]]\n|}\n|-\n| next\n|}"
    assert clean(wikitext) == "left\nnext\n\ninner A"


def test_what_stands_inside_brackets_ends_no_cell() -> None:
    assert clean("{|\n| [[Aay|A]] || {{unknown|x||y}} || [[File:A.png|thumb]] b\n|}") == "A | b"


@pytest.mark.parametrize(
    "hidden",
    [
        "{{Infobox|name=Hidden\n|type=[[Hidden]]}}\n",
        "{{Unclosed\n|name=Hidden\n",
        "<ref name=a>Hidden</ref>",
        "[[File:Hidden.png|thumb|Hidden]]",
        "[[Category:Hidden]]",
        "[[wikipedia:Hidden]]\n",
        "[[de:Hidden]] [[fr:Hidden]]\n",
        "* [[de:Hidden]]\n",
        "<!-- Hidden -->",
        "<gallery>\nHidden.png|Hidden\n</gallery>",
        "<math>Hidden</math>",
        "__HIDDEN__",
    ],
)
def test_what_is_no_text_leaves_nothing(hidden: str) -> None:
    assert clean(f"Before.\n\n{hidden}\n\nAfter.") == "Before.\n\nAfter."


def test_links_to_other_wikis_with_words_of_their_own_are_text() -> None:
    assert clean("{|\n| [[wikipedia:Foo|Harrison Ford]] || Han\n|}") == "Harrison Ford | Han"
    assert clean("== [[wikipedia:X|Oscars]] ==\nThree.").startswith("== Oscars ==")


def test_what_nowiki_protects_is_text() -> None:
    assert clean("A <nowiki>''plain''</nowiki> word.") == "A ''plain'' word."


def test_the_pages_name_stands_where_it_is_asked_for() -> None:
    assert clean("{{PAGENAME}} is a planet.") == "Varn is a planet."


def test_an_empty_page_has_no_text() -> None:
    assert clean("") == ""


@given(st.lists(st.sampled_from([*ADVERSARIES, "word", " ", "\n", "|", "!", "]]", "</ref>"]), max_size=60))
def test_any_markup_gives_text_without_brackets(pieces: list[str]) -> None:
    text = clean("".join(pieces))
    assert not re.search(r"\{\{|\}\}|\[\[|\]\]|\n\n\n", text)
    assert text == text.strip()


@given(st.text())
def test_any_text_at_all_is_read(wikitext: str) -> None:
    clean(wikitext)


def seconds(wikitext: str) -> float:
    started = time.perf_counter()
    clean(wikitext)
    return time.perf_counter() - started


@pytest.mark.full
@pytest.mark.parametrize("piece", ADVERSARIES)
def test_hostile_markup_takes_time_in_step_with_its_length(piece: str) -> None:
    assert seconds(piece * (560_000 // len(piece))) < 10


@pytest.mark.skipif(not REAL_PAGES.exists(), reason="needs ../shared/wookieepedia, which is not here")
def test_no_real_page_leaks_markup() -> None:
    leaks = {title: MARKUP.findall(clean(wikitext)) for title, wikitext in real_pages().items()}
    assert {title: found for title, found in leaks.items() if found} == {}


@pytest.mark.skipif(not REAL_PAGES.exists(), reason="needs ../shared/wookieepedia, which is not here")
def test_a_real_article_of_560_kb_is_read_in_step_with_its_length() -> None:
    long_page = max(real_pages().values(), key=len)
    once, four_times = seconds(long_page), seconds(long_page * 4)
    assert four_times < 12 * once + 0.2
    assert four_times < 5
