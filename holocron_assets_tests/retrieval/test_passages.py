"""How a page's text is cut into passages."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.lake.declaration import versions
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.planning import batch_derivations
from holocron_assets.retrieval.passages import LONGEST, passage_rows, passages

_LINES = st.sampled_from(
    [
        "Salt was sold by weight.",
        "== Trade ==",
        "=== Tea ===",
        "- a list",
        "a | b",
        "",
        "word " * 400,
        "x" * 2500,
    ]
)
_TEXT = """Salt is old.

== History ==

It was mined.

=== Early ===

By hand.

== Trade ==

- by ship"""


def rows(wikitext: str) -> list[dict[str, object]]:
    page = {
        "source": "wiki",
        "batch": "wiki-000001",
        "title": "Salt",
        "title_key": 1,
        "revision_id": 7,
        "wikitext": wikitext,
    }
    return [dict(row) for row in passage_rows(page, DEFAULT_SITE, "Salt")]


def test_a_passage_stays_in_its_section_and_names_the_headings_above_it() -> None:
    assert [(one.headings, one.text) for one in passages(_TEXT)] == [
        ((), "Salt is old."),
        (("History",), "It was mined."),
        (("History", "Early"), "By hand."),
        (("Trade",), "- by ship"),
    ]


@given(st.lists(_LINES, max_size=12).map("\n\n".join))
def test_passages_hold_all_of_a_text_but_headings_and_none_is_too_long(text: str) -> None:
    found = passages(text)
    assert all(one.text == text[one.start : one.end] for one in found)
    assert all(0 < len(one.text) <= LONGEST for one in found)
    assert [one.start for one in found] == sorted(one.start for one in found)
    kept = "".join("".join(one.text.split()) for one in found)
    lines = [line for line in text.split("\n") if not line.startswith("=")]
    assert kept == "".join("".join(lines).split())


def test_paragraphs_share_a_passage_as_long_as_they_fit() -> None:
    text = "\n\n".join(f"{word} " * 50 for word in ("one", "two", "three", "four", "five", "six", "seven"))
    sizes = [len(one.text) for one in passages(text)]
    assert len(sizes) == 2
    assert max(sizes) <= LONGEST


def test_a_passage_that_a_new_revision_leaves_as_it_was_keeps_its_id() -> None:
    before = rows("Salt is old.\n\n== Trade ==\nIt was sold.")
    after = rows("Salt is very old.\n\n== Trade ==\nIt was sold.")
    assert [row["passage_id"] for row in before] != [row["passage_id"] for row in after]
    assert before[-1]["passage_id"] == after[-1]["passage_id"]
    assert before[-1]["start_offset"] != after[-1]["start_offset"]


def test_the_same_words_twice_on_a_page_are_two_passages() -> None:
    text = "== Ports ==\nNone is known.\n== Moons ==\n=== Ports ===\nx\n== Ports ==\nNone is known."
    ids = [row["passage_id"] for row in rows(text)]
    assert len(set(ids)) == len(ids) == 3


def test_offsets_are_those_of_the_clean_text_that_quotes_are_checked_in() -> None:
    (row,) = rows("'''Salt''' was sold by [[Varn|a pilot]].{{Cite|x}}")
    assert (row["text"], row["start_offset"], row["end_offset"]) == ("Salt was sold by a pilot.", 0, 25)


@pytest.mark.parametrize("name", ["passages.py", "page_text.py", "clean.py", "hidden.py", "language.py"])
def test_passages_are_made_again_when_the_code_that_reads_pages_changes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remembered(_what: str, made: Callable[[], str]) -> str:
        return made()

    def changed(module: Path) -> str:
        return f"{module.read_text(encoding='utf-8')}{'changed' * (module.name == name)}"

    def version() -> str:
        versions.code_version.cache_clear()
        found = runpy.run_path(str(batch_derivations.__file__))["CHUNKS_DERIVATION"]
        return str(found.code_version)

    monkeypatch.setattr(versions, "_remembered", remembered)
    monkeypatch.setattr(versions, "_code_and_data", lambda module: module.read_text(encoding="utf-8"))
    try:
        before = version()
        monkeypatch.setattr(versions, "_code_and_data", changed)
        assert version() != before
    finally:
        versions.code_version.cache_clear()
