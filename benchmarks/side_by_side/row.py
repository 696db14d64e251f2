"""One line of the table: what Holocron took, what its peer took beside it, and the ratio."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

Scale = Literal["quick", "full"]
"""How much work a measurement does: what fits into ten minutes together, or as much as the docs tell of."""

Figure = TypeVar("Figure")

_DIGITS = 4


class LeftOutError(Exception):
    """A row cannot be measured here; the message says what it needs."""


@dataclass(frozen=True)
class Row:
    """What was measured side by side.

    Attributes:
        name: of the row.
        unit: of both figures.
        ours: what Holocron took.
        peer: what ran beside it.
        peer_figure: what that took.
        ratio: ours to the peer's, or the peer's to ours where more is better: less is always better.
        repetitions: of both, in turns.
        of_the_clock: whether the figures are of the clock, not of the processor. A wiki that answers after
            50 ms does so beside any processor, so the ratio depends on the machine, and is not judged.
    """

    name: str
    unit: str
    ours: float
    peer: str
    peer_figure: float
    ratio: float
    repetitions: int
    of_the_clock: bool = False


def in_turns(
    ours: Callable[[int], Figure], peer: Callable[[int], Figure], times: int
) -> list[tuple[Figure, Figure]]:
    """Measure ours, then the peer, and so on, so that other work on the machine slows both alike.

    Args:
        ours: measures Holocron; gets the number of the turn.
        peer: measures the peer, right after.
        times: how many turns.

    Returns:
        Both figures of each turn.
    """
    return [(ours(turn), peer(turn)) for turn in range(times)]


def compared(
    name: str, unit: str, peer: str, turns: Sequence[tuple[float, float]], *, is_rate: bool = False
) -> Row:
    """The row of some turns: the best figure of each side, since other work only ever makes them worse.

    Args:
        name: of the row.
        unit: of the figures.
        peer: what ran beside Holocron.
        turns: Holocron's figure and the peer's, by turn.
        is_rate: whether the figures are rates by the clock, of which more is better.
    """
    best = max if is_rate else min
    ours, theirs = best(one for one, _ in turns), best(other for _, other in turns)
    ratio = theirs / ours if is_rate else ours / theirs
    return Row(name, unit, _rounded(ours), peer, _rounded(theirs), _rounded(ratio), len(turns), is_rate)


def _rounded(figure: float) -> float:
    return float(f"{figure:.{_DIGITS}g}")
