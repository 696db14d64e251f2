"""Which model works next, and on what. Loading a model wastes a GPU's time, so the model is chosen first.

Pure: the same work, loaded models and moment give the same decision, in any order of the work.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

ITEMS_A_TURN = 100
"""Items after which the next decision is made."""

_AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Ageing:
    """How waiting raises a priority.

    Only whole hours count. If priorities rose all the time, they would never be equal, and two models of the
    same declared priority would take the GPU from each other every few minutes.

    Attributes:
        points_an_hour: added for each whole hour of waiting.
        most_points: what waiting can add at most.
    """

    points_an_hour: int = 50
    most_points: int = 300

    def points(self, waited: timedelta) -> int:
        """The points that this wait adds."""
        return min(max(waited // _AN_HOUR, 0) * self.points_an_hour, self.most_points)


@dataclass(frozen=True)
class Waiting:
    """The work that one interrogation has for its model.

    Attributes:
        interrogation: its name.
        model: the model that it asks.
        priority: as the interrogation declares it; a higher number goes first.
        items: items that can be asked about now, in the partitions that were counted.
        waiting_since: when the oldest work that can be done now became possible; None if there is none.
        due: when the first item that failed for now may be tried again; None if none waits.
        completions: partitions whose items are all answered and whose table is to be written: work without a
            call, for which no model is loaded.
        uncounted: partitions without a table that were never worked on; their items were not counted.
    """

    interrogation: str
    model: str
    priority: int
    items: int
    waiting_since: datetime | None = None
    due: datetime | None = None
    completions: int = 0
    uncounted: int = 0

    @property
    def is_due(self) -> bool:
        """Whether there is anything to do now."""
        return bool(self.items or self.completions or self.uncounted)

    def takes(self, room: int) -> int:
        """How many items it takes if there is room for `room`."""
        return room if self.uncounted else min(self.items, room)


class Turn(NamedTuple):
    """A share of the next items.

    Attributes:
        interrogation: the interrogation's name.
        items: the most items; with 0, only partitions whose items are all answered are completed.
    """

    interrogation: str
    items: int


@dataclass(frozen=True)
class Score:
    """The standing of one interrogation at a decision.

    Attributes:
        waiting: its work.
        ageing: what waiting added to its priority.
        priority: both together, by which it was compared.
    """

    waiting: Waiting
    ageing: int
    priority: int


@dataclass(frozen=True)
class Decision:
    """What to do next.

    Attributes:
        model: the model that works; None if nothing is due.
        turns: of its interrogations, in order.
        reasons: why, in sentences.
        scores: of all interrogations that have work now or later, the highest first.
        next_due: when something is due again, if nothing is now.
    """

    model: str | None
    turns: tuple[Turn, ...]
    reasons: tuple[str, ...]
    scores: tuple[Score, ...]
    next_due: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """The decision for scripts; times are datetimes."""
        return {
            "model": self.model,
            "turns": [turn._asdict() for turn in self.turns],
            "next_due": self.next_due,
            "reasons": list(self.reasons),
            "scores": [
                {**asdict(score.waiting), "ageing": score.ageing, "effective_priority": score.priority}
                for score in self.scores
            ],
        }


def decide(
    waiting: Iterable[Waiting],
    loaded: AbstractSet[str],
    now: datetime,
    *,
    ageing: Ageing | None = None,
    items_a_turn: int = ITEMS_A_TURN,
) -> Decision:
    """Choose the model whose due work has the highest priority, and share out the next items.

    Where models are equal, the loaded one stays, or else the first by name is chosen. Its interrogations of
    higher priority come first. Those of equal priority share what is left in rounds of one item each, the
    one that waits longest first.

    Args:
        waiting: at most once for each interrogation, in any order.
        loaded: models that are loaded now.
        now: the moment.
        ageing: how waiting raises priorities.
        items_a_turn: items until the next decision.
    """
    rules = ageing or Ageing()
    scores = sorted((_score(work, now, rules) for work in waiting), key=_place)
    due = [score for score in scores if score.waiting.is_due]
    later = [score for score in scores if score.waiting.due]
    scores = [score for score in scores if score.waiting.is_due or score.waiting.due]
    if not due:
        return _nothing_due(scores, later)
    best = {score.waiting.model: score.priority for score in reversed(due)}
    model = min(best, key=lambda name: (-best[name], name not in loaded, name))
    own = [score for score in due if score.waiting.model == model]
    reasons = (_why_it_works(own[0]), *_why_not_others(model, best, loaded))
    return Decision(model, _turns(own, items_a_turn), reasons, tuple(scores))


def _score(work: Waiting, now: datetime, ageing: Ageing) -> Score:
    points = ageing.points(now - work.waiting_since) if work.is_due and work.waiting_since else 0
    return Score(work, points, work.priority + points)


def _place(score: Score) -> tuple[int, bool, float, str]:
    """A sort key: the highest priority first, then the longest wait, then the name."""
    since = score.waiting.waiting_since
    return (-score.priority, since is None, since.timestamp() if since else 0, score.waiting.interrogation)


def _turns(scores: Sequence[Score], room: int) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for _, equals in groupby(scores, key=lambda score: score.priority):
        shares = _shared_out([score.waiting for score in equals], room)
        room -= sum(turn.items for turn in shares)
        turns += shares
    return tuple(turns)


def _shared_out(equals: Sequence[Waiting], room: int) -> list[Turn]:
    """Deal items in rounds, so that the others get what one does not need; leave out those without items."""
    shares: Counter[str] = Counter()
    left = room
    while left and (open_ones := [work for work in equals if shares[work.interrogation] < work.takes(room)]):
        for work in open_ones[:left]:
            shares[work.interrogation] += 1
            left -= 1
    return [
        Turn(work.interrogation, shares[work.interrogation])
        for work in equals
        if shares[work.interrogation] or work.completions
    ]


def _nothing_due(scores: Sequence[Score], later: Sequence[Score]) -> Decision:
    if not later:
        return Decision(None, (), ("Nothing is to be asked.",), tuple(scores))
    first = min(later, key=lambda score: (score.waiting.due, score.waiting.interrogation))
    due = first.waiting.due
    reason = f"Nothing is due; {first.waiting.interrogation} is at {due:%Y-%m-%d %H:%M:%S} UTC."
    return Decision(None, (), (reason,), tuple(scores), due)


def _why_it_works(score: Score) -> str:
    work = score.waiting
    raised = f", raised from {work.priority} by waiting" if score.ageing else ""
    return (
        f"{work.model} has the highest priority, {score.priority}{raised}: {work.interrogation} has "
        f"{_amount(work)}."
    )


def _amount(work: Waiting) -> str:
    amounts = (
        (work.items, "item to ask about", "items to ask about"),
        (work.uncounted, "partition not begun", "partitions not begun"),
        (work.completions, "partition to complete without a call", "partitions to complete without a call"),
    )
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in amounts if number)


def _why_not_others(model: str, best: dict[str, int], loaded: AbstractSet[str]) -> list[str]:
    reasons = []
    for other in sorted(best.keys() - {model}):
        if best[other] < best[model]:
            reasons.append(f"{other} has {best[other]}.")
        elif model in loaded and other not in loaded:
            reasons.append(f"{other} has as much, and is not loaded.")
        else:
            reasons.append(f"{other} has as much, and comes later by name.")
    return reasons
