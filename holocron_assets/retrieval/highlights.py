"""Which words of a passage answer what was searched, for people."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from holocron_assets.retrieval.index.full_text import unmarked, words_analyzer
from holocron_assets.retrieval.index.signs import has_signs, is_mark, signs_analyzer, unbroken_runs

_WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*+)+")
_ELLIPSIS = "…"
_SHORT = 3
"""Letters of a word that is marked only beside another one, or where nothing longer is searched."""
_BEFORE = 60
"""Characters before the first word that was found, in an excerpt."""
_LONGEST_WORD = 30
"""Characters that an excerpt goes back to a word's beginning. Scripts without spaces have none to find."""


def highlights(text: str, searched: str) -> list[tuple[int, int]]:
    """The offsets of the words of a text that are searched: start and end of each, in order."""
    runs = unbroken_runs(unicodedata.normalize("NFC", searched))
    words = _WORD.findall(" ".join(run for run in runs if not has_signs(run)))
    whole = _of_words(text, words)
    return _joined([*whole, *(place for run in runs if has_signs(run) for place in _of_run(text, run))])


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
    start = text.rfind(" ", max(start - _LONGEST_WORD, 0), start) + 1 or start
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


def _of_words(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where a text has some of the words that are searched.

    Short words stand everywhere, and say little of what was searched. They count beside another word that
    counts, as "War" does in "Lamp War"; or where nothing longer is searched.
    """
    stems = set(map(_stem, words))
    wanted = {_stem(word) for word in words if len(word) > _SHORT} or stems
    found = [(match.span(), _stem(match[0])) for match in _WORD.finditer(text)]
    marked = [stem in wanted for _, stem in found]
    for places in (range(1, len(found)), range(len(found) - 2, -1, -1)):
        step = places.step
        for place in places:
            marked[place] = marked[place] or (marked[place - step] and found[place][1] in stems)
    return [span for (span, _), is_marked in zip(found, marked, strict=True) if is_marked]


def _of_run(text: str, run: str) -> list[tuple[int, int]]:
    """Where a text has a run of letters without spaces; where it never does, each two of them."""
    pairs = ("".join(pair) for pair in pairwise(signs_analyzer().analyze(run)))
    return _places(text, [run]) or _places(text, pairs)


def _places(text: str, wanted: Iterable[str]) -> list[tuple[int, int]]:
    """Where a text has some of what is wanted, also where one begins within the other."""
    either = "|".join(map(re.escape, sorted(wanted, key=len, reverse=True)))
    found = [match.span(1) for match in re.finditer(f"(?=({either}))", text, re.IGNORECASE)] if either else []
    return [(start, end) for start, end in found if not is_mark(text[end : end + 1])]


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in order; those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _stem(word: str) -> str:
    return next(iter(words_analyzer().analyze(unmarked(word))), word)
