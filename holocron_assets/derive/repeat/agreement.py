"""How far answers to the same question agree, field by field. Pure: answers in, numbers out."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations, product
from typing import Any

TOLERANCE = 0.05
"""How far apart two numbers may be to agree: this much, or this share of the larger one."""

Answer = Mapping[str, Any] | None
"""An answer that fits the interrogation's schema; None where there was none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The answers to one question that are compared with each other.

    Attributes:
        subject: what was asked about, for people.
        pairs: which answers are compared.
    """

    subject: str
    pairs: tuple[tuple[Answer, Answer], ...]

    @classmethod
    def within(cls, subject: str, answers: Sequence[Answer]) -> "Compared":
        """Each answer is compared with every other one, in both directions: all have the same origin."""
        return cls(subject, tuple(permutations(answers, 2)))

    @classmethod
    def between(cls, subject: str, answers: Sequence[Answer], others: Sequence[Answer]) -> "Compared":
        """Each answer is compared with each of the others, those of another model or version."""
        return cls(subject, tuple(product(answers, others)))


@dataclass(frozen=True, slots=True)
class Deviation:
    """A field of which one question got several values.

    Attributes:
        subject: what was asked about.
        field: the answers' field.
        agreement: how far the values agree, between 0 and 1.
        values: the different values, the most frequent first; None where there was no answer.
    """

    subject: str
    field: str
    agreement: float
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far answers agree.

    Attributes:
        items: questions of which answers were compared.
        alike: those of them whose answers agree in every field.
        unanswered: those of them that got no answer at least once.
        fields: agreement of each field, between 0 and 1; the mean over the questions.
        deviations: where values differ, those that agree least first.
        left_out: fields that only one side has.
    """

    items: int
    alike: int
    unanswered: int
    fields: Mapping[str, float]
    deviations: tuple[Deviation, ...]
    left_out: tuple[str, ...]

    @property
    def overall(self) -> float:
        """The mean over the fields; 0 where there is none, since nothing was compared."""
        return math.fsum(self.fields.values()) / len(self.fields) if self.fields else 0.0

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        return {"overall": self.overall, **asdict(self), "fields": dict(self.fields)}


def agreement_of(compared: Sequence[Compared], only: Sequence[str] = ()) -> Agreement:
    """How far the answers of some questions agree.

    A field counts if both sides have it in any answer: versions may ask for different things. An answer that
    lacks the field, and a missing answer, agree with no value.

    Args:
        compared: the answers by question. Pairs that both lack an answer do not count.
        only: fields to compare; all by default.
    """
    asked = [(one.subject, [pair for pair in one.pairs if pair != (None, None)]) for one in compared]
    counted = [(subject, pairs) for subject, pairs in asked if pairs]
    shared, left_out = _fields([pair for _, pairs in counted for pair in pairs])
    names = [name for name in shared if not only or name in only]
    found: defaultdict[str, list[float]] = defaultdict(list)
    deviations: list[Deviation] = []
    deviating: set[int] = set()
    for place, (subject, pairs) in enumerate(counted):
        for name in names:
            if (agreement := _of_field(name, pairs)) is None:
                continue
            found[name].append(agreement)
            if agreement < 1:
                deviating.add(place)
                deviations.append(Deviation(subject, name, agreement, _values(name, pairs)))
    return Agreement(
        items=len(counted),
        alike=len(counted) - len(deviating),
        unanswered=sum(any(None in pair for pair in pairs) for _, pairs in counted),
        fields={name: math.fsum(values) / len(values) for name, values in found.items()},
        deviations=tuple(sorted(deviations, key=lambda one: (one.agreement, one.subject, one.field))),
        left_out=tuple(left_out),
    )


def agreement_of_values(one: Any, other: Any) -> float:
    """How far two values agree, between 0 and 1.

    Numbers agree within `TOLERANCE`. Lists agree as sets do: what both hold over what either holds, where
    items that are objects are matched with those that are most like them. Objects agree as their fields do on
    average. All else agrees if it is equal.
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return float(one is other)
    match one, other:
        case int() | float(), int() | float():
            return float(math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE))
        case list(), list():
            return _of_lists(one, other)
        case dict(), dict():
            names = one.keys() | other.keys()
            return _mean(agreement_of_values(one.get(name), other.get(name)) for name in names)
    return float(one == other)


def _of_lists(one: Sequence[Any], other: Sequence[Any]) -> float:
    if not one and not other:
        return 1.0
    # Equal items first: only what is left is compared each with each.
    left, other_left = _without_equal(one, other), _without_equal(other, one)
    equal = len(one) - len(left)
    total, matched = _matched(left, other_left)
    return (equal + total) / (len(one) + len(other) - equal - matched)


def _without_equal(items: Sequence[Any], others: Sequence[Any]) -> Sequence[Any]:
    """Some items without those that others have too, each as often as they have it."""
    there, left = Counter(map(_text, others)), []
    for item in items:
        text = _text(item)
        if there[text]:
            there[text] -= 1
        else:
            left.append(item)
    return left


def _text(item: Any) -> str:
    return json.dumps(item, sort_keys=True)


def _matched(one: Sequence[Any], other: Sequence[Any]) -> tuple[float, int]:
    """How far the items of two lists agree, if the most alike are matched; the sum, and how many matches."""
    alike = sorted(
        (
            (agreement, place, other_place)
            for place, item in enumerate(one)
            for other_place, other_item in enumerate(other)
            if (agreement := agreement_of_values(item, other_item)) > 0
        ),
        key=lambda match: (-match[0], match[1], match[2]),
    )
    places: set[int] = set()
    other_places: set[int] = set()
    total = 0.0
    for agreement, place, other_place in alike:
        if place not in places and other_place not in other_places:
            places.add(place)
            other_places.add(other_place)
            total += agreement
    return total, len(places)


def _of_field(name: str, pairs: Iterable[tuple[Answer, Answer]]) -> float | None:
    """How far a field agrees in all pairs; None where no answer has it."""
    having = [pair for pair in pairs if any(answer is None or name in answer for answer in pair)]
    if all(answer is None or name not in answer for pair in having for answer in pair):
        return None
    return _mean(_of_field_in_pair(name, one, other) for one, other in having)


def _of_field_in_pair(name: str, one: Answer, other: Answer) -> float:
    if one is None or other is None or (name in one) != (name in other):
        return 0.0
    return agreement_of_values(one.get(name), other.get(name))


def _fields(pairs: Iterable[tuple[Answer, Answer]]) -> tuple[list[str], list[str]]:
    """Fields that both sides have, and those that one has, in the order of the answers."""
    sides: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for pair in pairs:
        for answer, side in zip(pair, sides, strict=True):
            side.update(dict.fromkeys(answer or ()))
    # A side that never answered has no fields of its own
    one, other = (side or sides[not place] for place, side in enumerate(sides))
    return [name for name in one if name in other], sorted(one.keys() ^ other.keys())


def _values(name: str, pairs: Iterable[tuple[Answer, Answer]]) -> tuple[Any, ...]:
    values = [(answer or {}).get(name) for pair in pairs for answer in pair]
    by_text = {repr(value): value for value in values}
    return tuple(by_text[text] for text, _ in Counter(map(repr, values)).most_common())


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return math.fsum(every) / len(every) if every else 1.0
