"""How right and how well calibrated the answers of a model are, on pages that it did not learn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holocron_assets.classify.learned.model import Numbers, softmax

Places = npt.NDArray[np.int64]
"""Places in a list of types, or counts."""

_BINS = 10
_TEMPERATURES = np.geomspace(0.1, 10, 201)


@dataclass(frozen=True)
class Evaluation:
    """Held-out answers beside the truth.

    Attributes:
        types: the types that the model knows.
        probabilities: a row for each page, a column for each type.
        truth: the place of each page's true type in `types`.
    """

    types: Sequence[str]
    probabilities: Numbers
    truth: Places

    @property
    def pages(self) -> int:
        """How many pages were held out."""
        return len(self.truth)

    @cached_property
    def answers(self) -> Places:
        """The place of the most probable type of each page."""
        likeliest: Places = self.probabilities.argmax(axis=1)
        return likeliest

    @cached_property
    def certainty(self) -> Numbers:
        """The probability of that type."""
        highest: Numbers = self.probabilities.max(axis=1)
        return highest

    @cached_property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether each answer is right."""
        agreeing: npt.NDArray[np.bool_] = self.answers == self.truth
        return agreeing

    @cached_property
    def confusion(self) -> Places:
        """Pages by true type (rows) and answer (columns)."""
        counts = np.zeros((len(self.types), len(self.types)), dtype=np.int64)
        np.add.at(counts, (self.truth, self.answers), 1)
        return counts

    @property
    def macro_f1(self) -> float:
        """The mean over types of the harmonic mean of precision and recall; of types that some page has."""
        found, wanted = self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        both = (found + wanted)[wanted > 0]
        return float((2 * self.confusion.diagonal()[wanted > 0] / both).mean())

    @cached_property
    def curve(self) -> list[tuple[float, float, int]]:
        """The calibration curve: mean probability, share right and pages of each tenth that has pages."""
        tenth = np.minimum((self.certainty * _BINS).astype(int), _BINS - 1)
        return [
            (float(self.certainty[mine].mean()), float(self.right[mine].mean()), int(mine.sum()))
            for place in range(_BINS)
            if (mine := tenth == place).any()
        ]

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: how far probability and share right differ, over all pages."""
        return sum(abs(said - right) * pages for said, right, pages in self.curve) / self.pages


def temperature(scores: Numbers, truth: Places) -> float:
    """By what to divide log-odds, so that their probabilities fit the truth best (the least log loss).

    Args:
        scores: log-odds, a row for each held-out page, a column for each type.
        truth: the place of each page's true type.
    """
    pages = np.arange(len(truth))
    losses = [-np.log(softmax(scores / t)[pages, truth] + 1e-12).mean() for t in _TEMPERATURES]
    return float(_TEMPERATURES[int(np.argmin(losses))])
