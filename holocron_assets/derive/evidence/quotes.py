"""Whether a model's quote is in the text that it read, and where.

The words of a quote are compared. Letter case, white space, quotation marks, dashes and Unicode form make no
difference. Everything here takes time in proportion to the text's length.
"""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, combining, normalize

SHORTEST_QUOTE = 4
"""Fewest letters and digits in a quote's longest part: any text contains shorter ones."""

LONGEST_GAP = 300
"""The most characters that an ellipsis may replace: with more, any two words of a page would be a quote."""

_ELLIPSIS = re.compile(r"[\[(]?(?:\u2026|\.{3,}|(?:\. ){2,}\.)[\])]?")
# Quotation marks are left out, not made alike: in JSON, a model often leaves out those of the text
_QUOTATION_MARKS = frozenset("\"'`\u00b4\u2032\u2033\u201a\u201e\u300c\u300d\u300e\u300f\uff02\uff07")
_LEFT_OUT = frozenset({"Pi", "Pf", "Cf", "Cc"})
# Characters between words: dashes, and those that clean text puts between cells
_PARTING = frozenset("|\u2212")
# UAX #15, stream-safe text: no script needs more, and sorting a run of marks takes its length squared
_MOST_MARKS = 30


class Span(NamedTuple):
    """Where a quote is in a text: offsets in characters."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Folded:
    """A text without the characters that make no difference.

    Attributes:
        text: its characters.
        starts: where each starts in the original text.
        ends: where each ends in it.
    """

    text: str
    starts: "array[int]"
    ends: "array[int]"


def is_quoted(quote: str, text: str) -> bool:
    """Whether `find_quote` finds a quote in a text."""
    return find_quote(quote, text) is not None


def find_quote(quote: str, text: str) -> Span | None:
    """Where a quote is in a text.

    An ellipsis in the quote replaces up to `LONGEST_GAP` characters; the parts around it follow in order.
    Marks at the ends of a part need not be in the text: models often end a sentence early.

    Args:
        quote: the words that should be in the text.
        text: the text, as the model read it.

    Returns:
        From the first part's start to the last part's end, in the text as it is; None if it is not there, or
        too short to prove anything.
    """
    parts = [part for piece in _ELLIPSIS.split(quote) if (part := _trimmed(_folded(piece).text))]
    if max((sum(map(str.isalnum, part)) for part in parts), default=0) < SHORTEST_QUOTE:
        return None
    folded = _folded(text)
    spans = [Span(start, start + len(parts[0])) for start in _occurrences(parts[0], folded.text)]
    for part in parts[1:]:
        spans = _continued(spans, part, folded.text)
    if not spans:
        return None
    return Span(folded.starts[spans[0].start], folded.ends[spans[0].end - 1])


def _occurrences(part: str, text: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))


def _continued(spans: list[Span], part: str, text: str) -> list[Span]:
    """The spans after which the next part comes, each extended to that part's end."""
    longer: list[Span] = []
    waiting = iter(spans)
    following = next(waiting, None)
    nearest: Span | None = None
    for start in _occurrences(part, text):
        while following and following.end <= start:
            nearest, following = following, next(waiting, None)
        if nearest and start - nearest.end <= LONGEST_GAP:
            longer.append(Span(nearest.start, start + len(part)))
    return longer


def _trimmed(part: str) -> str:
    """A folded part from its first letter or digit to its last."""
    places = [place for place, character in enumerate(part) if character.isalnum() or combining(character)]
    return part[places[0] : places[-1] + 1] if places else ""


@lru_cache(maxsize=64)
def _folded(text: str) -> _Folded:
    characters: list[str] = []
    starts, ends = array("q"), array("q")
    for start, end in _clusters(text):
        for character in _folded_cluster(text[start:end]):
            if character != " " or (characters and characters[-1] != " "):
                characters.append(character)
                starts.append(start)
                ends.append(end)
    return _Folded("".join(characters), starts, ends)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of each character together with the marks that it carries."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not combining(text[place]) or place - start > _MOST_MARKS:
            yield start, place
            start = place


@lru_cache(maxsize=4_096)
def _folded_cluster(cluster: str) -> str:
    # before as well: the compatibility form of an acute accent is a space with a mark
    plain = "".join(map(_plain, cluster))
    return "".join(map(_plain, normalize("NFKD", plain))).casefold()


def _plain(character: str) -> str:
    if character.isspace() or character in _PARTING or category(character) == "Pd":
        return " "
    if character in _QUOTATION_MARKS or category(character) in _LEFT_OUT:
        return ""
    return character
