"""Records that are about as similar to a record as another one, so that it is not certain which is meant."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from holocron_assets.entities.identity.records import Record, are_two

Pair = tuple[int, int]


class Rivals:
    """Other records that a record is about as similar to.

    So a mention of "Bel Arno" is neither "Bel Arno (sailor)" nor "Bel Arno (pilot)" for certain, and one
    without a known continuity is neither the canon nor the legends one.
    """

    def __init__(self, scores: Mapping[Pair, float], records: Sequence[Record], margin: float) -> None:
        """Take all pairs.

        Args:
            scores: likeness of all pairs, by places of the records.
            records: the records.
            margin: how much less alike a rival may be.
        """
        self._scores = scores
        self._records = records
        self._margin = margin
        self._partners: defaultdict[int, list[int]] = defaultdict(list)
        for one, other in sorted(scores):
            if not are_two(records[one], records[other]):
                self._partners[one].append(other)
                self._partners[other].append(one)

    def of(self, one: int, other: int) -> Record | None:
        """A record that cannot be one with one of these two, and is about as like the other; else None."""
        least = self._scores[one, other] - self._margin
        for place, rivalled in ((one, other), (other, one)):
            for third in self._partners[place]:
                score = self._scores[min(place, third), max(place, third)]
                if score >= least and third != rivalled and self._are_two(third, rivalled):
                    return self._records[third]
        return None

    def _are_two(self, one: int, other: int) -> bool:
        return are_two(self._records[one], self._records[other])
