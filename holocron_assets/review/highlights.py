"""Evidence in a page's text: finding it, and cutting the text around it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

_WORD = re.compile(r"\w+")
# The target of a link that shows other words, a template, a reference, and any mark: none is tried twice.
_MARKUP = r"(?:\[\[[^\[\]|\n]*+\||\{\{[^{}\n]*+\}\}|<ref\b[^<>]*+(?:/>|>[^<]*+</ref>)|\W)++"
_LINK_ENDS = r"(?:\]\])?+"  # also within a word: readers see "Kellubanes" for "[[Kellubane]]s"
_SHORTEST_QUOTE = 3
_BEGINNING = 6_000
_AROUND = 700
_LONGEST_SHOWN_WHOLE = 20_000


class Mark(NamedTuple):
    """A part of a text that is evidence.

    Attributes:
        start: first character.
        end: character after the last.
        label: what it is evidence of.
    """

    start: int
    end: int
    label: str


class Piece(NamedTuple):
    """A piece of a text as it is shown.

    Attributes:
        text: the characters; empty where some are left out.
        label: what it is evidence of; empty if it is none.
        left_out: how many characters are left out in its place.
    """

    text: str
    label: str | None = None
    left_out: int = 0


def found_in(text: str, quotes: Iterable[tuple[str, str]]) -> list[Mark]:
    """Marks of quotes: each at its first place that no earlier quote has, preferably in the same case.

    Args:
        text: the page's wikitext.
        quotes: words, and what they are evidence of; words that the page does not have are skipped.
    """
    folded = text.lower()
    texts = (text, folded) if len(folded) == len(text) else (text,)  # a capital may become two small letters
    marks, taken = list[Mark](), set[int]()
    for quote, label in quotes:
        words = quote.strip()
        if len(words) < _SHORTEST_QUOTE:
            continue
        places = chain(
            _places(texts[0], words),
            *(_places(other, words.lower()) for other in texts[1:]),
            _parted_places(text, words),
        )
        found = next((place for place in places if place[0] not in taken), None)
        if found is not None:
            taken.add(found[0])
            marks.append(Mark(*found, label))
    return marks


def _places(text: str, words: str) -> Iterator[tuple[int, int]]:
    place = text.find(words)
    while place >= 0:
        yield place, place + len(words)
        place = text.find(words, place + 1)


def _parted_places(text: str, quote: str) -> Iterator[tuple[int, int]]:
    """Where the words of clean text stand with links, references and other markup between them."""
    words = _WORD.findall(quote)
    if words:
        pattern = _MARKUP.join(map(_LINK_ENDS.join, words))
        for found in re.finditer(rf"\b{pattern}\b", text, re.IGNORECASE):
            yield found.span()


def apart(marks: Iterable[Mark], length: int) -> list[Mark]:
    """The marks in order, without marks that lie outside the text or overlap an earlier one."""
    kept: list[Mark] = []
    for mark in sorted(marks):
        is_inside = 0 <= mark.start < mark.end <= length
        if is_inside and (not kept or kept[-1].end <= mark.start):
            kept.append(mark)
    return kept


def pieces(text: str, marks: Sequence[Mark], *, is_whole: bool = False) -> list[Piece]:
    """A text in pieces, with evidence marked; of a long text only its beginning and what is around evidence.

    Args:
        text: the page's wikitext.
        marks: in order and apart (see `apart`).
        is_whole: whether to show the whole text.
    """
    if is_whole or len(text) <= _LONGEST_SHOWN_WHOLE:
        windows = [(0, len(text))]
    else:
        windows = _joined(
            [(0, _BEGINNING), *((m.start - _AROUND, m.end + _AROUND) for m in marks)], len(text)
        )
    found, position = list[Piece](), 0
    for start, end in windows:
        if start > position:
            found.append(Piece("", left_out=start - position))
        found += _marked(text, start, end, marks)
        position = end
    if position < len(text):
        found.append(Piece("", left_out=len(text) - position))
    return found


def _joined(windows: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(windows):
        first, last = max(start, 0), min(end, length)
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _marked(text: str, start: int, end: int, marks: Iterable[Mark]) -> Iterator[Piece]:
    position = start
    for mark in marks:
        if start <= mark.start and mark.end <= end:
            if mark.start > position:
                yield Piece(text[position : mark.start])
            yield Piece(text[mark.start : mark.end], mark.label)
            position = mark.end
    if position < end:
        yield Piece(text[position:end])
