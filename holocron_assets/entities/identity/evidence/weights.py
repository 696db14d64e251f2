"""How likely two records are one thing, by weighted evidence. People's decisions teach the weights."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import Annotated, Literal, NamedTuple, Self, get_args
from zlib import crc32

import numpy as np
from pydantic import Field, model_validator

from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.schema import Row

Weighed = Literal["always", "name", "doubt", "template", "targets", "facts", "contradictions"]
"""What has a weight: 'always' that of any pair, the others that of evidence in `entity_pairs`."""

SETTLED = "settled"
"""Evidence that a page or an identifier is the same: such a pair is an example and no question."""

_NAMES: tuple[Weighed, ...] = get_args(Weighed)
_FOLDS = 5
_STEPS = 25

Evidence = Mapping[str, float]


class WeightRules(FrozenModel):
    """The weights that come with the project, and what it takes to learn others.

    Attributes:
        shipped: log odds of each evidence at its full value.
        decisions: how many pairs of a type people must have decided before weights are learned from them.
        precision: the share of pairs, called one by weights learned without them, that must be one before
            a pair that is asked about becomes one.
        held_out: how many pairs that share must be of.
    """

    shipped: dict[Weighed, float]
    decisions: Annotated[int, Field(gt=0)]
    precision: Annotated[float, Field(gt=0, le=1)]
    held_out: Annotated[int, Field(gt=0)]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := [name for name in _NAMES if name not in self.shipped]:
            raise ValueError(f"shipped.{missing[0]} is missing")
        return self


class Example(NamedTuple):
    """A pair of which is known whether it is one thing.

    Attributes:
        pair_id: its id.
        evidence: what speaks for and against it.
        is_one: whether it is one.
        by_person: whether a person decided so, and not an identifier.
    """

    pair_id: str
    evidence: Evidence
    is_one: bool
    by_person: bool


class Weights(NamedTuple):
    """Weights of evidence.

    Attributes:
        log_odds: of each evidence at its full value.
        origin: where they come from, in words.
        one_from: the probability from which a pair is one; None if no pair is one by its evidence alone.
    """

    log_odds: Mapping[Weighed, float]
    origin: str
    one_from: float | None = None

    def probability(self, evidence: Evidence) -> float:
        """How likely a pair is one thing."""
        return 1 / (1 + exp(-sum(self._added(evidence).values())))

    def makes_one(self, evidence: Evidence) -> bool:
        """Whether a pair that is asked about is one by its evidence. One that anything contradicts is not."""
        is_sure = self.one_from is not None and self.probability(evidence) >= self.one_from
        return is_sure and not is_contradicted(evidence)

    def explained(self, evidence: Evidence) -> str:
        """The probability and what each evidence adds to it, in words."""
        parts = [f"{name} {value:+.1f}" for name, value in self._added(evidence).items() if value]
        return f"{self.probability(evidence):.0%} likely by weights {self.origin} ({', '.join(parts)})"

    def _added(self, evidence: Evidence) -> dict[Weighed, float]:
        values = {"always": 1.0, **evidence}
        return {name: weight * values.get(name, 0.0) for name, weight in self.log_odds.items()}


def is_contradicted(evidence: Evidence) -> bool:
    """Whether anything says that a pair is two."""
    return bool(evidence.get("doubt") or evidence.get("contradictions"))


def evidence_of(pair: Row) -> Evidence:
    """The evidence of a row of `entity_pairs`, by name."""
    return {each["name"]: each["value"] for each in pair["evidence"] or ()}


def examples_of(pairs: Iterable[Row], decided: Mapping[frozenset[str], Row]) -> list[Example]:
    """The pairs of which people, or else a page or an identifier, say whether they are one.

    Args:
        pairs: rows of `entity_pairs`.
        decided: people's last decision about each pair: kind 'merge' or 'split'.
    """
    examples = []
    for pair in pairs:
        evidence, decision = evidence_of(pair), decided.get(frozenset((pair["first_id"], pair["second_id"])))
        if decision:
            examples.append(Example(pair["pair_id"], evidence, decision["kind"] == "merge", by_person=True))
        elif SETTLED in evidence:
            examples.append(Example(pair["pair_id"], evidence, is_one=True, by_person=False))
    return sorted(examples, key=lambda example: crc32(example.pair_id.encode()))


def weights_from(examples: Sequence[Example], rules: WeightRules) -> Weights:
    """The weights that examples teach, or those that come with the project if there are too few.

    Of the pairs that identifiers settle, as many count as people have kept apart: so these stay in balance.

    Args:
        examples: from `examples_of`.
        rules: the shipped weights, and what it takes to learn others.
    """
    decided = [example for example in examples if example.by_person]
    apart = sum(not example.is_one for example in decided)
    if len(decided) < rules.decisions or not 0 < apart < len(decided):
        return Weights(rules.shipped, "as shipped")
    settled = [example for example in examples if not example.by_person][:apart]
    log_odds = _fitted([*decided, *settled], rules.shipped)
    origin = f"learned from {len(decided)} decisions and {len(settled)} identifiers"
    return Weights(log_odds, origin, _one_from(decided, settled, rules))


def _fitted(examples: Sequence[Example], shipped: Mapping[Weighed, float]) -> dict[Weighed, float]:
    """Logistic regression by Newton's method; the shipped weights are its prior, with a deviation of 1."""
    values = np.array([_values(example.evidence) for example in examples])
    is_one = np.array([example.is_one for example in examples], np.float64)
    prior = np.array([shipped[name] for name in _NAMES])
    weights = prior.copy()
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-(values @ weights)))
        slope = values.T @ (is_one - likely) - (weights - prior)
        curvature = (values.T * (likely * (1 - likely))) @ values + np.eye(len(_NAMES))
        weights = weights + np.linalg.solve(curvature, slope)
    return {name: round(float(weight), 2) for name, weight in zip(_NAMES, weights, strict=True)}


def _values(evidence: Evidence) -> list[float]:
    return [1.0, *(evidence.get(name, 0.0) for name in _NAMES[1:])]


def _one_from(decided: Sequence[Example], settled: Sequence[Example], rules: WeightRules) -> float | None:
    """The least probability from which enough pairs are one, each judged by weights learned without it."""
    held_out: list[tuple[float, bool]] = []
    for fold in range(_FOLDS):
        learning = [each for place, each in enumerate(decided) if place % _FOLDS != fold]
        weights = Weights(_fitted([*learning, *settled], rules.shipped), "")
        held_out += [
            (weights.probability(example.evidence), example.is_one)
            for example in decided[fold::_FOLDS]
            if not is_contradicted(example.evidence)
        ]
    possible = []
    for least in sorted({likely for likely, _ in held_out}):
        called = [is_one for likely, is_one in held_out if likely >= least]
        if len(called) >= rules.held_out and sum(called) >= rules.precision * len(called):
            possible.append(least)
    return min(possible, default=None)
