"""Names that are one in another spelling: British and American, or another way to write a foreign script."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Self

from pydantic import StrictStr, model_validator

from holocron_assets.entities.identity.blocking import Wanted, neighbours
from holocron_assets.entities.names.names import NameParts
from holocron_assets.frozen_model import FrozenModel

Spelling = Literal["British and American spelling", "two transliterations"]


class SpellingRules(FrozenModel):
    """What is written in several ways. Names that are the same once all is replaced are one name.

    Attributes:
        regional: patterns of what is British, and what is American instead.
        letters: letters of other scripts, without accents, and Latin ones for them.
        transliterated: patterns of Latin letters for a sound, and what stands for all ways to write it.
        shortest: the fewest letters of two Latin names that are alike by `transliterated`.
    """

    regional: dict[StrictStr, StrictStr]
    letters: dict[StrictStr, StrictStr]
    transliterated: dict[StrictStr, StrictStr]
    shortest: int

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        for pattern in (*self.regional, *self.transliterated):
            if re.compile(pattern).groups:
                raise ValueError(f"{pattern!r} has a group; write (?:...) instead of (...)")
        return self


class SpellingReader:
    """Gives names the form that all of their spellings share, and remembers words."""

    def __init__(self, rules: SpellingRules) -> None:
        """Read by these rules."""
        self._shortest = rules.shortest
        self._american = _Replacing(rules.regional)
        self._latin = str.maketrans(dict(rules.letters))
        self._one_sound = _Replacing(rules.transliterated)
        self._known: dict[str, tuple[str, str]] = {}

    def block_of(self, name: NameParts) -> str | None:
        """The block of names that may be one in another spelling; None of a name without words."""
        form = self._form(name.stems, 1)
        return f"{name.designation} {form}" if form else None

    def differs_in(self, one: NameParts, other: NameParts) -> Spelling | None:
        """In what two names of one block differ; None if they are too short to be one for that reason."""
        first, second = (self._form(name.stems, 0) for name in (one, other))
        if first == second:
            return "British and American spelling"
        is_long = min(len(first), len(second)) >= self._shortest
        return "two transliterations" if is_long or first.isascii() != second.isascii() else None

    def _form(self, words: Sequence[str], place: int) -> str:
        return "".join([(self._known.get(word) or self._learn(word))[place] for word in words])

    def _learn(self, word: str) -> tuple[str, str]:
        american = self._american(word)
        known = self._known[word] = american, self._one_sound(american.translate(self._latin))
        return known


def in_another_spelling(
    names: Sequence[NameParts], reader: SpellingReader, wanted: Wanted
) -> Iterator[tuple[int, int, Spelling]]:
    """Pairs of names that are one in another spelling, and not but for plural, spaces and articles.

    Args:
        names: the names.
        reader: gives them the form that spellings share.
        wanted: which pairs to compare.

    Yields:
        The places of both, and in what they differ.
    """
    letters = ["".join(name.stems) for name in names]
    one, other = neighbours([reader.block_of(name) for name in names], letters, wanted)
    for first, second in zip(one.tolist(), other.tolist(), strict=True):
        differs_in = reader.differs_in(names[first], names[second])
        if differs_in and letters[first] != letters[second]:
            yield first, second, differs_in


class _Replacing:
    """Replaces all that matches any of some patterns, from left to right."""

    def __init__(self, replacements: Mapping[str, str]) -> None:
        self._pattern = re.compile("|".join(f"({pattern})" for pattern in replacements) or "(?!)")
        self._instead = list(replacements.values())

    def __call__(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._instead[(match.lastindex or 1) - 1], text)
