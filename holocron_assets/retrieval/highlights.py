"""Which words of a passage answer what was searched, for people."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

import tantivy

from holocron_assets.retrieval.index.full_text import words_analyzer
from holocron_assets.retrieval.index.signs import SPACELESS

_WORD = re.compile(r"[^\W_]+")
_SPACELESS = re.compile(f"[{SPACELESS}]")
_ELLIPSIS = "…"
_SHORT = 3
"""Letters of a word that is only marked where nothing longer is searched."""
_BEFORE = 60
"""Characters before the first word that was found, in an excerpt."""


def highlights(text: str, searched: str) -> list[tuple[int, int]]:
    """The offsets of the words of a text that are searched: start and end of each, in order."""
    words = [match[0] for match in _WORD.finditer(unicodedata.normalize("NFC", searched))]
    # Short words stand everywhere, and say little of what was searched.
    wanted = {_stem(word) for word in words if len(word) > _SHORT} or set(map(_stem, words))
    whole = [match.span() for match in _WORD.finditer(text) if _stem(match[0]) in wanted]
    within = [re.escape(word) for word in words if _SPACELESS.search(word)]
    found = re.finditer("|".join(within), text) if within else ()
    return sorted({*whole, *(match.span() for match in found)})


def pieces(text: str, searched: str, longest: int) -> Iterator[tuple[str, bool]]:
    """An excerpt of a text around the first word that is searched: pieces, and whether each is searched.

    Args:
        text: a passage.
        searched: what was searched.
        longest: characters of the excerpt, at most.
    """
    return excerpt(text, highlights(text, searched), longest)


def excerpt(text: str, marks: Sequence[tuple[int, int]], longest: int) -> Iterator[tuple[str, bool]]:
    """An excerpt of a text around the first of its marks: pieces, and whether each is marked.

    Args:
        text: a passage.
        marks: start and end of each mark, in order.
        longest: characters of the excerpt, at most.
    """
    start = max((marks[0][0] if marks else 0) - _BEFORE, 0)
    start = 0 if len(text) <= longest else min(start, len(text) - longest)
    start = text.rfind(" ", 0, start) + 1 if start else 0
    end = min(start + longest, len(text))
    if start:
        yield f"{_ELLIPSIS} ", False
    place = start
    for first, last in marks:
        if first < place or last > end:
            continue
        yield text[place:first], False
        yield text[first:last], True
        place = last
    yield text[place:end], False
    if end < len(text):
        yield f" {_ELLIPSIS}", False


def _stem(word: str) -> str:
    return next(iter(_analyzer().analyze(word)), word)


@cache
def _analyzer() -> tantivy.TextAnalyzer:
    return words_analyzer()
