"""Where a text names something: by a whole name, or by a part of it that stands alone.

Each page has names of its own, and a regular expression of them takes longer to compile than a lead to read.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

NAME = r"[A-Z][\w'\u2019.-]*"
"""Pattern of a word of a name."""

_PARENTHESES = re.compile(r"\s*\([^)]*\)\s*$")
_CAPITAL = re.compile(r"[A-Z]")
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

    def find(self, text: str, start: int) -> Place | None:
        """The first place from an offset on that names it, or another by a name with a part of its own."""
        for at in self._places(text, start):
            if end := _end(self.whole, text, at):
                return Place(at, end, is_own=True)
            if self.parts and (end := self._end_of_another(text, at)):
                return Place(at, end, is_own=False)
            if end := _end(self.parts, text, at):
                return Place(at, end, is_own=True)
        return None

    def _places(self, text: str, start: int) -> Iterable[int]:
        """Where a name may start. One of another starts with any capital letter."""
        firsts = {words[0] for words in (*self.whole, *self.parts)}
        found = {at for word in firsts for at in _occurrences(word, text, start)}
        if found and self.parts:
            found.update(capital.start() for capital in _CAPITAL.finditer(text, start))
        return sorted(found)

    def _end_of_another(self, text: str, at: int) -> int | None:
        """Where a longer name ends that starts here: it has words before a part, or one after it."""
        found, end = None, at
        while not _end(self.whole, text, end) and (word := _WORD_AND_SPACES.match(text, end)):
            end = word.end()
            if not _end(self.whole, text, end):
                found = _end(self.parts, text, end) or found
        return found or self._end_with_word_after(text, at)

    def _end_with_word_after(self, text: str, at: int) -> int | None:
        end = _end(self.parts, text, at)
        spaces = _SPACES.match(text, end) if end else None
        if spaces is None or _end(self.whole, text, spaces.end()):
            return None
        word = _WORD_OF_NAME.match(text, spaces.end())
        return word.end() if word else None


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


def _occurrences(word: str, text: str, start: int) -> Iterator[int]:
    at = text.find(word, start)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _end(names: Iterable[Words], text: str, at: int) -> int | None:
    """Where the first of some names ends that a text has at an offset, as whole words."""
    if _JOINED.match(text, max(at - 1, 0), at):
        return None
    for words in names:
        if (end := _end_of_words(words, text, at)) is None:
            continue
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
