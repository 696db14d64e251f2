"""A quote is found whatever its typography, and nothing else is."""

import time
from unicodedata import normalize

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holocron_assets.derive.evidence.quotes import LONGEST_GAP, SHORTEST_QUOTE, Span, find_quote, is_quoted

TEXT = (
    "Varn was a waterworld in the Outer Rim. "
    "Its people \u2014 the Amphi\u2013Hydrus \u2014 \u201cfarm\u201d the sea\u2019s floor."
)
WORDS = st.lists(st.text("abcäß 7-'\u2014\u2019\n\u0301\u0327", min_size=1), min_size=1).map(" ".join)


@pytest.mark.parametrize(
    "quote",
    [
        "a waterworld in the Outer Rim",
        "A WATERWORLD\n in  the outer rim",
        "the Amphi-Hydrus - 'farm' the sea's floor",
        'the Amphi-Hydrus -- "farm" the seas floor',
        "a waterworld in the Outer Rim, ",
        '"Varn was a waterworld."',
        "Varn was\u00a0a water\u00adworld",
        "Varn was ... Outer Rim",
        "\u2026was a waterworld [\u2026] the Outer Rim...",
    ],
)
def test_a_quote_is_found_but_for_typography(quote: str) -> None:
    assert is_quoted(quote, TEXT)


@pytest.mark.parametrize(
    "quote",
    [
        "a desert world in the Outer Rim",
        "a waterworld of the Outer Rim",
        "the Outer Rim ... Varn was",
        "waterworld ... desert",
        "Rim",
        "... - ...",
        "",
        "\u2014\u2014\u2014\u2014\u2014",
    ],
)
def test_what_is_not_there_or_proves_nothing_is_not_found(quote: str) -> None:
    assert not is_quoted(quote, TEXT)


def test_a_quote_is_found_where_it_stands() -> None:
    span = find_quote("the amphi-hydrus", TEXT)
    assert span
    assert TEXT[span.start : span.end] == "the Amphi\u2013Hydrus"


def test_parts_around_an_ellipsis_stand_near_each_other() -> None:
    assert is_quoted("first words ... last words", f"first words{' x' * (LONGEST_GAP // 2 - 1)} last words")
    assert not is_quoted("first words ... last words", f"first words{' x' * LONGEST_GAP} last words")


def test_a_part_that_stands_twice_is_taken_where_the_next_is_near() -> None:
    text = f"first words {'x' * LONGEST_GAP} first words and last words"
    span = find_quote("first words ... last words", text)
    assert span == Span(text.rindex("first"), len(text))


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert is_quoted(normalize("NFD", "Padmé Naberrié"), "Queen Padmé Naberrié")
    assert is_quoted("Padmé Naberrié", normalize("NFD", "Queen Padmé Naberrié"))
    assert not is_quoted("Padme Naberrie", "Queen Padmé Naberrié")


@given(WORDS, st.data())
def test_every_piece_of_a_text_is_a_quote_of_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, max(len(text) - SHORTEST_QUOTE, 0)))
    end = data.draw(st.integers(min(start + SHORTEST_QUOTE, len(text)), len(text)))
    piece = normalize("NFC", text[start:end])
    assume(sum(map(str.isalnum, normalize("NFKD", piece))) >= SHORTEST_QUOTE)
    assume("'" not in piece[:1])  # a mark without its letter is another mark
    assume(normalize("NFD", text[start : start + 1])[:1] not in ("\u0301", "\u0327"))
    assume(normalize("NFD", text[end : end + 1])[:1] not in ("\u0301", "\u0327"))
    assert is_quoted(piece, text)


@given(WORDS, WORDS)
def test_a_span_that_is_found_says_what_the_quote_says(quote: str, text: str) -> None:
    span = find_quote(quote, text)
    if span:
        assert 0 <= span.start < span.end <= len(text)
        assert find_quote(quote, text[span.start : span.end]) == Span(0, span.end - span.start)


@pytest.mark.full
@pytest.mark.parametrize(
    ("quote", "piece"),
    [
        ("a" * 5_000 + "b", "a"),
        ("aaaa...aaaa...aaaab", "a"),
        ("word", "a\u0301\u0327\u0301"),
        ("word", "\u0327\u0301"),
    ],
)
def test_a_long_hostile_text_is_searched_in_seconds(quote: str, piece: str) -> None:
    started = time.perf_counter()
    assert not is_quoted(quote, piece * (500_000 // len(piece)))
    assert time.perf_counter() - started < 10
