"""The passages of a space that are nearest to a vector.

Signs are scanned on all cores, and the nearest passages by signs are compared by all their numbers. That
finds what a comparison of all would find.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from holocron_assets.retrieval.index.joined import Group
from holocron_assets.retrieval.index.vectors import COLUMNS, NUMBERS, Codes, Scanned, signs_of

_AT_A_TIME = 32_768
"""Passages that are scanned at once: a processor's cache holds their signs."""
_WAITING = 8
"""Searches that may wait for a model's vector before others wait for a thread."""
_SCANNED = 4
"""Candidates of the scan for each neighbour that is wanted."""


class Neighbour(NamedTuple):
    """A passage that is near.

    Attributes:
        passage_id: its id.
        page: its page's title key.
        cosine: of the angle between the vectors.
    """

    passage_id: str
    page: int
    cosine: float


class _Candidates(NamedTuple):
    """Passages by their rows, and in how many signs each differs."""

    rows: np.ndarray
    far: np.ndarray

    def nearest(self, most: int) -> "_Candidates":
        """Those that differ least, the nearest first; of equal ones, the first."""
        kept = np.argsort(self.far, kind="stable")[:most]
        return _Candidates(self.rows[kept], self.far[kept])

    @classmethod
    def joined(cls, parts: Sequence["_Candidates"]) -> "_Candidates":
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


class SpaceArrays:
    """The vectors of one space, of all batches. Its files are mapped, so that it needs little memory."""

    def __init__(self, groups: Sequence[Group], codes: Codes) -> None:
        """Map the arrays.

        Args:
            groups: joined batches, of one number of dimensions.
            codes: the numbers of values.
        """
        self._codes = codes
        self._scanned = [Scanned.read(group.folder) for group in groups]
        self._starts = [0, *accumulate(map(len, self._scanned))]
        batches = list(chain.from_iterable(group.batches for group in groups))
        self._folders = [batch.folder for batch in batches]
        self._batch_starts = np.cumsum([0, *(batch.passages for batch in batches)])

    def __len__(self) -> int:
        """The number of passages."""
        return self._starts[-1]

    def nearest(
        self, vector: Sequence[float], limit: int, wanted: Mapping[str, Sequence[str]]
    ) -> list[Neighbour]:
        """The nearest passages, the nearest first; of equal ones, the first by id.

        Of passages whose signs are as near, the scan takes those of the first batches by name.

        Args:
            vector: of what is searched.
            limit: the most passages.
            wanted: values of filters, of which a passage must have one each; and the `model`'s digest.
        """
        numbers = np.asarray(vector, dtype=np.float32)
        scan = partial(self._scan, signs_of(numbers[None])[0], self._wanted(wanted), limit * _SCANNED)
        blocks = list(self._blocks())
        share = -(-len(blocks) // _cores()) or 1
        shares = [blocks[start : start + share] for start in range(0, len(blocks), share)]
        parts = list(workers().map(scan, shares)) if len(shares) > 1 else [scan(one) for one in shares]
        if not parts:
            return []
        rows = np.sort(_Candidates.joined(parts).nearest(limit * _SCANNED).rows)
        return self._compared(rows, numbers, limit)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Passages to scan at once: the place of their arrays, and the first of them there."""
        for place, scanned in enumerate(self._scanned):
            yield from ((place, start) for start in range(0, len(scanned), _AT_A_TIME))

    def _wanted(self, wanted: Mapping[str, Sequence[str]]) -> list[tuple[int, list[int]]]:
        """The columns that are narrowed, and the codes that a passage may have there."""
        values = [(column, name, wanted[name]) for column, name in enumerate(COLUMNS) if name in wanted]
        return [
            (column, [code for value in some if (code := self._codes.get(f"{name}={value}")) is not None])
            for column, name, some in values
        ]

    def _scan(
        self,
        signs: np.ndarray,
        wanted: Sequence[tuple[int, Sequence[int]]],
        most: int,
        blocks: Sequence[tuple[int, int]],
    ) -> _Candidates:
        """The passages of some blocks whose signs are the nearest."""
        found = _Candidates(np.empty(0, np.int64), np.empty(0, np.uint16))
        bound = np.iinfo(np.uint16).max
        for place, start in blocks:
            block = slice(start, start + _AT_A_TIME)
            far = _differing(self._scanned[place].signs[:, block], signs)
            is_near = far < bound
            for column, codes in wanted:
                is_near &= _has_one(self._scanned[place].codes[column, block], codes)
            rows = np.flatnonzero(is_near)
            here = _Candidates(rows + (self._starts[place] + start), far[rows])
            found = _Candidates.joined([found, here]).nearest(most)
            if len(found.rows) == most:
                bound = found.far[-1]
        return found

    def _compared(self, rows: np.ndarray, numbers: np.ndarray, limit: int) -> list[Neighbour]:
        places, firsts = np.unique(
            np.searchsorted(self._batch_starts, rows, side="right") - 1, return_index=True
        )
        stored = b"".join(
            _numbers_of(self._folders[place] / NUMBERS, own - self._batch_starts[place], len(numbers))
            for place, own in zip(places, np.split(rows, firsts[1:]), strict=False)
        )
        vectors = np.frombuffer(stored, np.int8).reshape(-1, len(numbers)).astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(numbers)
        cosines = vectors @ numbers / np.maximum(lengths, 1e-9)
        is_near = cosines >= np.sort(cosines)[-limit:].min(initial=np.inf)
        found = [
            Neighbour(*self._named(int(row)), float(one))
            for row, one in zip(rows[is_near], cosines[is_near], strict=True)
        ]
        return sorted(found, key=lambda one: (-one.cosine, one.passage_id))[:limit]

    def _named(self, row: int) -> tuple[str, int]:
        place = int(np.searchsorted(self._starts, row, side="right")) - 1
        passage, page = self._scanned[place].passages[row - self._starts[place]]
        return bytes(passage).hex(), int(page)


@cache
def workers() -> ThreadPoolExecutor:
    """Threads for the parts of searches that run at the same time; a part must wait for no other."""
    return ThreadPoolExecutor(_cores() + _WAITING, "search")


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _numbers_of(file: Path, rows: np.ndarray, dimensions: int) -> bytes:
    """Some rows of a batch's numbers. To read a few takes less time than to map the file into memory."""
    own = os.open(file, os.O_RDONLY)
    try:
        return b"".join(os.pread(own, dimensions, row * dimensions) for row in rows.tolist())
    finally:
        os.close(own)


def _has_one(values: np.ndarray, codes: Sequence[int]) -> np.ndarray:
    found = np.zeros(len(values), dtype=bool)
    for code in codes:
        found |= values == code
    return found


def _differing(signs: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The number of signs in which each column differs."""
    far = np.zeros(signs.shape[1], np.uint16)
    for row, one in zip(signs, wanted, strict=True):
        far += np.bitwise_count(row ^ one)
    return far
