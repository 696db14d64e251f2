"""How alike names are that are not one: by number, by the order of words, by spelling."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import OSA

from holocron_assets.resolve.blocking import Places, neighbours
from holocron_assets.resolve.identity_policy import Fuzzy
from holocron_assets.resolve.names import NameParts, WordRules

Wanted = Callable[[Places, Places], npt.NDArray[np.bool_]]
"""Which pairs of places are wanted."""

_START, _END = 4, 3
"""Letters of a name that stand in one block: one slip leaves the first or the last ones of a name of seven."""


class Alike(NamedTuple):
    """Two names that are alike.

    Attributes:
        one: place of the first.
        other: place of the second.
        score: how alike, between 0 and 1.
        kind: 'number', 'order' or 'spelling'.
    """

    one: int
    other: int
    score: float
    kind: str


def alike(names: Sequence[NameParts], fuzzy: Fuzzy, rules: WordRules, wanted: Wanted) -> list[Alike]:
    """Pairs of names that are alike enough to be asked about, by the identity policy.

    Names that differ in a designation are never alike.

    Args:
        names: the names.
        fuzzy: from which likeness on.
        rules: what words say about names.
        wanted: which pairs to look at.

    Returns:
        Each pair once, with its best likeness.
    """
    letters = ["".join(name.stems) for name in names]
    reordered = [" ".join(sorted(stem for stem in name.stems if stem not in rules.linking)) for name in names]
    best: dict[tuple[int, int], Alike] = {}
    for found in (
        *_of_one_form([*_forms(names, reordered)], fuzzy.order, "order", wanted),
        *_of_one_form([*_forms(names, letters)], fuzzy.number, "number", wanted),
        *_misspelt(names, letters, reordered, fuzzy, wanted),
    ):
        pair = (found.one, found.other)
        best[pair] = max(best.get(pair, found), found, key=lambda each: each.score)
    return list(best.values())


def _forms(names: Iterable[NameParts], forms: Iterable[str]) -> Iterator[str | None]:
    """Names that consist of designations only are one, or they are two: no form of theirs says more."""
    return (f"{name.designation} {form}" if form else None for name, form in zip(names, forms, strict=True))


def _of_one_form(forms: Sequence[str | None], score: float, kind: str, wanted: Wanted) -> Iterator[Alike]:
    one, other = neighbours(forms, [""] * len(forms))
    near = wanted(one, other)
    for first, second in zip(one[near].tolist(), other[near].tolist(), strict=True):
        yield Alike(first, second, score, kind)


def _misspelt(
    names: Sequence[NameParts], letters: Sequence[str], reordered: Sequence[str], fuzzy: Fuzzy, wanted: Wanted
) -> Iterator[Alike]:
    most = np.array(
        [int(max(map(len, name.stems), default=0) * (1 - fuzzy.unsure) + 1e-9) for name in names], np.int64
    )
    one, other = _near(names, letters, reordered, wanted)
    few = _letters_differ(letters, one, other) <= 2 * np.minimum(most[one], most[other])
    one, other = one[few], other[few]
    texts = np.array(letters, dtype=object)
    limit = int(most.max(initial=0))
    distances = process.cpdist(
        texts[one], texts[other], scorer=OSA.distance, score_cutoff=limit, dtype=np.int64
    )
    close = (distances > 0) & (distances <= np.minimum(most[one], most[other]))
    for first, second, distance in zip(
        one[close].tolist(), other[close].tolist(), distances[close].tolist(), strict=True
    ):
        score = _likeness(names[first].stems, names[second].stems, distance)
        if score >= fuzzy.unsure:
            yield Alike(first, second, score, "spelling")


def _near(
    names: Sequence[NameParts], letters: Sequence[str], reordered: Sequence[str], wanted: Wanted
) -> tuple[Places, Places]:
    """Pairs of names that begin or end alike, or have the longest word in common."""
    starts = [f"{name.designation} {text[:_START]}" for name, text in zip(names, letters, strict=True)]
    ends = [f"{name.designation} {text[-_END:]}" for name, text in zip(names, letters, strict=True)]
    longest = [f"{name.designation} {max(name.stems, key=len, default='')}" for name in names]
    backwards = [text[::-1] for text in letters]
    found = [
        neighbours(starts, letters),
        neighbours(ends, backwards),
        neighbours(longest, reordered),
    ]
    wanted_ones = [(one[kept], other[kept]) for one, other in found for kept in [wanted(one, other)]]
    codes = np.unique(np.concatenate([one * len(names) + other for one, other in wanted_ones]))
    return codes // max(len(names), 1), codes % max(len(names), 1)


def _letters_differ(letters: Sequence[str], one: Places, other: Places) -> Places:
    """How many letters one of each pair has and the other has not; at most two for each letter changed."""
    held = np.array([_letters_held(text) for text in letters], np.uint64)
    differ: Places = np.bitwise_count(held[one] ^ held[other]).astype(np.int64)
    return differ


def _letters_held(text: str) -> int:
    held = 0
    for letter in text:
        held |= 1 << (ord(letter) & 63)
    return held


def _likeness(one: Sequence[str], other: Sequence[str], distance: int) -> float:
    """1 less the share of letters to change in the word where most are to change.

    Where a space is elsewhere too, all are taken to be in the shortest word.
    """
    if len(one) != len(other):
        return 1 - distance / min(map(len, (*one, *other)))
    return min(
        1 - OSA.distance(word, instead) / min(len(word), len(instead))
        for word, instead in zip(one, other, strict=True)
        if word != instead
    )
