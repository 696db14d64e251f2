"""Lists of passages, fused by ranks into one. Of most passages no more is read than two numbers."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

NAME, WORDS, MEANING = "name", "words", "meaning"

RANK_OFFSET = 20.0
"""Added to ranks: the larger it is, the less the first place of one list counts against several places."""
_WEIGHTS = {NAME: 1.5, WORDS: 1.0, MEANING: 1.0}


@dataclass
class Fused:
    """A passage while the lists are fused.

    Attributes:
        page: its page's title key.
        read: reads what is shown of it; gives None if the index does not have it any more.
        ranks: its place in each list that has it.
        name: the name that fits what was searched, if it was found by one.
    """

    page: int
    read: Callable[[], Mapping[str, Any] | None]
    ranks: dict[str, int] = field(default_factory=dict)
    name: str | None = None

    @cached_property
    def row(self) -> Mapping[str, Any] | None:
        """What is shown of it."""
        return self.read()

    @property
    def score(self) -> float:
        """By which passages are ordered."""
        return sum(_WEIGHTS[kind] / (RANK_OFFSET + rank) for kind, rank in self.ranks.items())


class Fusing:
    """The passages of some lists, each once."""

    def __init__(self) -> None:
        """Begin without any."""
        self._passages: dict[int, Fused] = {}

    def add(self, number: int, page: int, read: Callable[[], Mapping[str, Any] | None]) -> Fused:
        """The passage with a number; a new one unless it is there."""
        return self._passages.setdefault(number, Fused(page, read))

    def best_of(self, page: int) -> Fused | None:
        """A page's best passage so far; None if no list has one."""
        own = [one for one in self._passages.values() if one.page == page]
        return max(own, key=lambda one: one.score, default=None)

    def ranked(self, a_page: int) -> Iterator[tuple[Fused, Mapping[str, Any]]]:
        """The passages with what is shown of them, the best first; at most so many of a page.

        Equal ones come by source, title and place on the page.
        """
        of_pages: Counter[int] = Counter()
        by_score = sorted(self._passages.values(), key=lambda one: -one.score)
        for _, equals in groupby(by_score, key=lambda one: one.score):
            read = [(one, one.row) for one in equals if of_pages[one.page] < a_page]
            for one, row in sorted(
                ((one, row) for one, row in read if row), key=lambda pair: _place(pair[1])
            ):
                of_pages[one.page] += 1
                if of_pages[one.page] <= a_page:
                    yield one, row


def _place(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["source"], row["title"], row["position"] or 0
