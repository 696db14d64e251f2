"""Keys of answers that stay in memory, up to a bound."""

import random
from collections.abc import Callable, Hashable
from threading import Lock

MOST_KEYS = 2_000_000
"""The most keys in one memory, about 250 MB: as many as two questions about a million pages have."""


class KeptKeys:
    """The keys of answers of many files, by file. Of too many, files are forgotten at random.

    All files are asked for in the same order again and again. If those used longest ago were forgotten, each
    would be gone just before it is asked for.
    """

    def __init__(self, most: int = MOST_KEYS) -> None:
        """Make an empty memory.

        Args:
            most: the most keys; a file without keys counts as one.
        """
        self._most = most
        self._kept: dict[Hashable, tuple[object, frozenset[str]]] = {}
        self._size = 0
        self._changing = Lock()

    def of(self, place: Hashable, state: object, read: Callable[[], frozenset[str]]) -> frozenset[str]:
        """The keys of a file.

        Args:
            place: names the file.
            state: the state that it is in now: it is read again only if that changed.
            read: reads them.
        """
        with self._changing:
            known = self._kept.get(place)
        if known is not None and known[0] == state:
            return known[1]
        keys = read()
        with self._changing:
            self._forget(place)
            self._kept[place] = (state, keys)
            self._size += max(len(keys), 1)
            while self._size > self._most:
                self._forget(random.choice(list(self._kept)))  # noqa: S311 - nothing secret hangs on it
        return keys

    def _forget(self, place: Hashable) -> None:
        known = self._kept.pop(place, None)
        self._size -= max(len(known[1]), 1) if known else 0
