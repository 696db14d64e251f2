"""A linear model of types: a weight for each feature and type, whose sums become probabilities."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from holocron_assets.classify.learned.features import Features, familiarity, shown_name
from holocron_assets.lake.tables import TYPE_MODEL

Numbers = npt.NDArray[np.float64]

PRIOR = "any page"
"""The feature that every page has: its weights say how frequent the types are."""

KNOWN = "a type that is known"
"""No feature of a page. Its weights are the logarithm of the chance that the model knows a page's type."""

FAMILIAR = "a page that is familiar"
"""No feature of a page: its weights are the least `familiarity` with which the model answers."""

ANSWERS_FROM = 0.8
"""The probability from which the model answers. Below, it abstains."""

_MOST_REASONS = 6
_LEAST_WEIGHT = 0.05


class Reason(NamedTuple):
    """A feature that spoke.

    Attributes:
        feature: its name.
        weight: how much it adds to the log-odds of the first type against the second; below 0 against it.
    """

    feature: str
    weight: float


class Prediction(NamedTuple):
    """What a model says of a page.

    Attributes:
        type: the most probable type.
        probability: of that type, calibrated.
        second_type: the next one.
        second_probability: of that one.
        is_familiar: whether the model knows pages of its sort.
        reasons: the features that spoke most for the first type or against it, the strongest first.
    """

    type: str
    probability: float
    second_type: str
    second_probability: float
    is_familiar: bool
    reasons: Sequence[Reason]

    @property
    def abstains(self) -> bool:
        """Whether it is too unsure for an answer."""
        return self.probability < ANSWERS_FROM


class TypeModel:
    """A trained and calibrated model.

    Attributes:
        types: the types that it knows, in the order of the weights' columns.
        features: the features that it knows, in the order of the weights' rows.
        weights: a row for each feature, a column for each type.
    """

    def __init__(self, types: Sequence[str], features: Sequence[str], weights: Numbers) -> None:
        """Keep the weights; `PRIOR`, `KNOWN` and `FAMILIAR` are among the features."""
        self.types, self.features, self.weights = list(types), list(features), weights

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.features)}

    def probabilities(self, features: Features) -> Numbers:
        """The probability of each type for a page with these features."""
        return self._shares(features, self._contributions(features)[1])

    def predict(self, features: Features) -> Prediction:
        """The most probable types of a page with these features, and why."""
        names, contributions = self._contributions(features)
        probabilities = self._shares(features, contributions)
        first, second = np.argsort(-probabilities, kind="stable")[:2]
        speaking: dict[str, float] = defaultdict(float)
        for name, weight in zip(names, contributions[:, first] - contributions[:, second], strict=True):
            speaking[shown_name(name)] += float(weight)
        reasons = [
            Reason(name, round(weight, 2))
            for name, weight in sorted(speaking.items(), key=lambda reason: -abs(reason[1]))
            if name != PRIOR and abs(weight) >= _LEAST_WEIGHT
        ]
        return Prediction(
            self.types[first],
            round(float(probabilities[first]), 4),
            self.types[second],
            round(float(probabilities[second]), 4),
            self._trust(features) == 1.0,
            reasons[:_MOST_REASONS],
        )

    def _shares(self, features: Features, contributions: Numbers) -> Numbers:
        """Probabilities, which add up to that of a type that is known."""
        share = np.exp(self.weights[self._places[KNOWN]]) * self._trust(features)
        shares: Numbers = softmax(contributions.sum(axis=0)) * share
        return shares

    def _trust(self, features: Features) -> float:
        """1 for a page of a sort that the model knows; else so much that it never answers."""
        least = float(self.weights[self._places[FAMILIAR], 0])
        is_known = familiarity(features, self._places)
        return 1.0 if is_known >= least else ANSWERS_FROM * is_known / least

    def _contributions(self, features: Features) -> tuple[list[str], Numbers]:
        """Features that the model knows, and what each adds to the log-odds of each type."""
        known = sorted(features.keys() & self._places.keys())
        names = [PRIOR, *known]
        values = np.array([1.0, *(features[name] for name in known)])
        return names, self.weights[[self._places[name] for name in names]] * values[:, None]

    def as_table(self, source: str) -> pa.Table:
        """The rows of table type_model."""
        rows, columns = self.weights.shape
        one_by_one = pa.StructArray.from_arrays(
            [pa.array(self.types * rows), pa.array(self.weights.ravel())], ["type", "weight"]
        )
        offsets = pa.array(range(0, rows * columns + 1, columns), pa.int32())
        weights = pa.ListArray.from_arrays(offsets, one_by_one)
        columns_of_rows = [pa.array([source] * rows), pa.array(self.features), weights]
        return pa.Table.from_arrays(columns_of_rows, names=TYPE_MODEL.arrow_schema.names)

    @classmethod
    def from_table(cls, table: pa.Table) -> Self | None:
        """The model in rows of table type_model; None if nothing was learned."""
        if not table.num_rows:
            return None
        one_by_one = table.column("weights").combine_chunks().flatten()
        types = one_by_one.field("type")[: len(one_by_one) // table.num_rows].to_pylist()
        weights = one_by_one.field("weight").to_numpy(zero_copy_only=False)
        return cls(types, table.column("feature").to_pylist(), weights.reshape(table.num_rows, len(types)))


def softmax(scores: Numbers) -> Numbers:
    """Probabilities from log-odds, along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Numbers = powers / powers.sum(axis=-1, keepdims=True)
    return shares
