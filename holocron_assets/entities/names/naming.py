"""Where a text names something: by a whole name, or by a part of it that stands alone.

Each page has names of its own, and a regular expression of them takes longer to compile than a lead to read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

_IN_A_TABLE = 0x10000
"""Regular expressions look up characters before this one in a table; those after it take ten times longer."""


def _capitals() -> str:
    capitals = (code for code in range(_IN_A_TABLE) if chr(code).istitle())
    runs = groupby(enumerate(capitals), lambda pair: pair[1] - pair[0])
    rows = ([code for _, code in run] for _, run in runs)
    return "".join(f"{chr(row[0])}-{chr(row[-1])}" for row in rows)


CAPITALS = _capitals()
"""The letters of any script that a name may begin with, as ranges of a regular expression."""

NAME = rf"[{CAPITALS}][\w'\u2019.-]*"
"""Pattern of a word of a name."""

_PARENTHESES = re.compile(r"\s*\([^)]*\)\s*$")
_CAPITAL = re.compile(f"[{CAPITALS}]")
_WORD_OF_NAME = re.compile(NAME)
_WORD_AND_SPACES = re.compile(rf"{NAME}\s+")
_SPACES = re.compile(r"\s+")
_IN_WORD = re.compile(r"\w")
_JOINED = re.compile(r"[\w-]")
_PLURALS = ("s", "es", "")

Words = tuple[str, ...]
"""The words of a name."""


class Place(NamedTuple):
    """Where a text has a name: offsets in characters.

    Attributes:
        start: of its first character.
        end: after its last one.
        is_own: whether it names what was looked for, and not another by a longer name.
    """

    start: int
    end: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class Names:
    """What something is called, in singular or plural.

    Attributes:
        whole: its names, those that are tried first in front.
        parts: words of a name that may stand for all of it. In a longer name they do not: 'Solo' is Han Solo,
            'Ben Solo' is another.
        by_pronoun: whether a pronoun may stand for it.
    """

    whole: tuple[Words, ...]
    parts: tuple[Words, ...] = ()
    by_pronoun: bool = False

    def places(self, text: str, pronouns: Iterable[Place] = ()) -> Iterator[Place]:
        """Where a text names it, or another by a name with a part of its own, in order; in linear time.

        Args:
            text: the text.
            pronouns: places of words that stand for it too. A name that starts at one goes first.
        """
        said = {place.start: place for place in pronouns}
        wholes = _found(self.whole, text)
        parts = {at: end for at, end in _found(self.parts, text).items() if at not in wholes}
        words = [word.start() for word in _CAPITAL.finditer(text)] if parts else ()
        end = without = 0
        for at in sorted({*said, *wholes, *parts, *words}):
            if at < end:
                continue
            other = None
            if at not in wholes and at >= without:
                other, after = _last_part(text, at, wholes, parts)
                without = without if other else after
            other = other or _end_with_word_after(text, at, wholes, parts)
            if whole := wholes.get(at):
                place = Place(at, whole, is_own=True)
            elif other:
                place = Place(at, other, is_own=False)
            elif part := parts.get(at):
                place = Place(at, part, is_own=True)
            elif at in said:
                place = said[at]
            else:
                continue
            end = place.end
            yield place


@lru_cache(maxsize=4096)
def plain_names(*names: str) -> tuple[str, ...]:
    """Names without what they have in parentheses at the end, the longest first."""
    plain = {_PARENTHESES.sub("", name.strip()) or name.strip() for name in names}
    return tuple(sorted(filter(None, plain), key=lambda name: (-len(name), name)))


def words_of(*names: str) -> tuple[Words, ...]:
    """The words of each of some names, as `Names` has them."""
    return tuple(tuple(name.split()) for name in plain_names(*names))


def without_parentheses(title: str) -> str:
    """A title without what it has in parentheses at the end."""
    return _PARENTHESES.sub("", title)


def _found(names: Iterable[Words], text: str) -> dict[int, int]:
    """Where a text has some names as whole words: the end of each by its start, of the first that fits."""
    found: dict[int, int] = {}
    for words in names:
        for at in _occurrences(words[0], text):
            if at not in found and (end := _end(words, text, at)):
                found[at] = end
    return found


def _occurrences(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _last_part(
    text: str, at: int, wholes: Mapping[int, int], parts: Mapping[int, int]
) -> tuple[int | None, int]:
    """Where the last part ends that words of a longer name stand before; and the character after the words.

    No part follows the words if there is none: from none of them does one need to be looked for again.
    """
    found, end = None, at
    while end not in wholes and (word := _WORD_AND_SPACES.match(text, end)):
        end = word.end()
        found = parts.get(end, found)
    return found, end


def _end_with_word_after(
    text: str, at: int, wholes: Mapping[int, int], parts: Mapping[int, int]
) -> int | None:
    """Where a longer name ends that starts with a part."""
    spaces = _SPACES.match(text, parts[at]) if at in parts else None
    if spaces is None or spaces.end() in wholes:
        return None
    word = _WORD_OF_NAME.match(text, spaces.end())
    return word.end() if word else None


def _end(words: Words, text: str, at: int) -> int | None:
    """Where a name ends that a text has at an offset, in singular or plural and as whole words."""
    if _JOINED.match(text, max(at - 1, 0), at) or (end := _end_of_words(words, text, at)) is None:
        return None
    for plural in _PLURALS:
        if text.startswith(plural, end) and not _IN_WORD.match(text, end + len(plural)):
            return end + len(plural)
    return None


def _end_of_words(words: Words, text: str, at: int) -> int | None:
    """Where words end that a text has at an offset, with any spaces between them."""
    end = at
    for number, word in enumerate(words):
        if number:
            spaces = _SPACES.match(text, end)
            if spaces is None:
                return None
            end = spaces.end()
        if not text.startswith(word, end):
            return None
        end += len(word)
    return end
