"""The likeness of names that are not the same: by number, articles, the order of words, or spelling."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from holocron_assets.entities.identity.blocking import Places, Wanted, neighbours
from holocron_assets.entities.identity.policy import Fuzzy
from holocron_assets.entities.names.names import NameParts, WordRules

_START, _END = 4, 3
"""Letters that make a block: an error among seven letters leaves the first or the last ones right."""
_HASHED = 64
_BLOCKS = 5


class Alike(NamedTuple):
    """Two names that are alike.

    Attributes:
        one: place of the first.
        other: place of the second.
        score: how alike, between 0 and 1.
        changes: how they differ, in the identity policy's words.
    """

    one: int
    other: int
    score: float
    changes: tuple[str, ...]


def alike(names: Sequence[NameParts], fuzzy: Fuzzy, rules: WordRules, wanted: Wanted) -> Iterator[Alike]:
    """Pairs of names that are alike enough to be asked about, by the identity policy.

    Names that differ in a designation are never alike, nor are those that have nothing else.

    Args:
        names: the names.
        fuzzy: the weights of changes.
        rules: the meaning of words in names.
        wanted: which pairs to compare.

    Yields:
        The pairs. One may come twice: for its letters and for its words in another order.
    """
    letters, ordered = [_letters(name) for name in names], [_ordered(name, rules) for name in names]
    blocks = list(zip(*(blocks_of(name, rules) for name in names), strict=True)) or [()] * _BLOCKS
    for one, other in _pairs(blocks[0], letters, wanted):
        yield from _weighed(names, one, other, {}, fuzzy)
    for one, other in _pairs(blocks[1], ordered, wanted):
        if letters[one] != letters[other]:
            yield from _weighed(names, one, other, {"order": fuzzy.order}, fuzzy)
    near = _near(blocks[2:], letters, ordered, wanted)
    for one, other in _misspelt(names, letters, *near, fuzzy.most_letters):
        slips = _slips(names[one].stems, names[other].stems, fuzzy)
        yield from _weighed(names, one, other, slips, fuzzy)


def _weighed(
    names: Sequence[NameParts], one: int, other: int, changes: dict[str, float], fuzzy: Fuzzy
) -> Iterator[Alike]:
    """Two names with their likeness, if that is enough."""
    first, second = names[one], names[other]
    if first.key == second.key:
        return  # they are the same name, which is handled elsewhere
    if _plurals(first) != _plurals(second):
        changes["number"] = fuzzy.number
    if first.articles != second.articles:
        changes["article"] = fuzzy.article
    if bool(first.qualifier) != bool(second.qualifier):
        changes["suffix"] = fuzzy.suffix
    score = round(1 - sum(changes.values()), 4)
    if score >= fuzzy.unsure:
        yield Alike(one, other, score, tuple(changes))


def _plurals(name: NameParts) -> int:
    return sum(word != stem for word, stem in zip(name.words, name.stems, strict=True))


def _slips(one: Sequence[str], other: Sequence[str], fuzzy: Fuzzy) -> dict[str, float]:
    """The weight of the letters that differ, in the word where most do.

    Where a space is at another place, too, all are taken to be in the shortest word.
    """
    if len(one) != len(other):
        changed = OSA.distance("".join(one), "".join(other))
        return {"letters": fuzzy.letters * changed / min(map(len, (*one, *other)))}
    share, first, second = max(
        (OSA.distance(first, second) / min(len(first), len(second)), first, second)
        for first, second in zip(one, other, strict=True)
    )
    at_edge = first[0] != second[0] or first[-1] != second[-1]
    return {"letters": fuzzy.letters * share} | ({"edge": fuzzy.edge} if at_edge else {})


def blocks_of(name: NameParts, rules: WordRules) -> tuple[str | None, ...]:
    """The blocks in which a name is compared with others; None where it is in no block of a kind.

    By all its letters, its words in order, its first and its last letters, and its longest word.
    """
    letters, ordered, number = _letters(name), _ordered(name, rules), name.designation
    return (
        f"{number} {letters}" if letters else None,
        f"{number} {ordered}" if ordered else None,
        f"{number} {letters[:_START]}",
        f"{number} {letters[-_END:]}",
        f"{number} {max(name.stems, key=len, default='')}",
    )


def _letters(name: NameParts) -> str:
    return "".join(name.stems)


def _ordered(name: NameParts, rules: WordRules) -> str:
    return " ".join(sorted(stem for stem in name.stems if stem not in rules.linking))


def _pairs(blocks: Sequence[str | None], forms: Sequence[str], wanted: Wanted) -> Iterator[tuple[int, int]]:
    """Pairs of names that are the same in some form."""
    one, other = neighbours(blocks, forms, wanted)
    return zip(one.tolist(), other.tolist(), strict=True)


def _near(
    blocks: Sequence[Sequence[str | None]], letters: Sequence[str], ordered: Sequence[str], wanted: Wanted
) -> tuple[Places, Places]:
    """Pairs of names that begin or end alike, or have the longest word in common."""
    starts, ends, longest = blocks
    found = [
        neighbours(starts, letters, wanted),
        neighbours(ends, [text[::-1] for text in letters], wanted),
        neighbours(longest, ordered, wanted),
    ]
    count = max(len(letters), 1)
    pairs = np.unique(np.concatenate([one * count + other for one, other in found]))
    return pairs // count, pairs % count


def _misspelt(
    names: Sequence[NameParts], letters: Sequence[str], one: Places, other: Places, most_letters: float
) -> Iterator[tuple[int, int]]:
    """The pairs that are not the same name, but differ in few letters of the longest word."""
    longest = np.array([max(map(len, name.stems), default=0) for name in names], np.int64)
    most = np.floor(longest * most_letters + 1e-9).astype(np.int64)
    few = _letters_apart(letters, one, other) <= 2 * np.minimum(most[one], most[other])
    one, other = one[few], other[few]
    texts = np.array(letters, dtype=object)
    limit = int(most.max(initial=0))
    distances = process.cpdist(texts[one], texts[other], scorer=OSA.distance, score_cutoff=limit)
    kept = (distances > 0) & (distances <= np.minimum(most[one], most[other]))
    return zip(one[kept].tolist(), other[kept].tolist(), strict=True)


def _letters_apart(letters: Sequence[str], one: Places, other: Places) -> Places:
    """How many letters only one of each pair has: at most two for each letter changed.

    This is far cheaper than counting changed letters, which is done for the few pairs that are left.
    """
    held = np.zeros(len(letters), np.uint64)
    asked = np.unique(np.concatenate([one, other]))
    held[asked] = [_letter_bits(letters[place]) for place in asked.tolist()]
    apart: Places = np.bitwise_count(held[one] ^ held[other]).astype(np.int64)
    return apart


def _letter_bits(text: str) -> int:
    bits = 0
    for letter in set(text):
        bits |= 1 << (ord(letter) % _HASHED)
    return bits
