"""The rows of a new answer beside those that count today, each with its checks and verdicts. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from holocron_assets.lake.declaration.schema import Row

Identity = tuple[str, ...]
"""Rows of one identity say the same."""

Basis = Literal["people", "sheet", "rules"]
Verdict = Literal["right", "wrong"]

BASES: tuple[Basis, ...] = ("people", "sheet", "rules")
"""What a row is judged by, the strongest first."""

Side = Literal["same", "new", "live"]
"""Which answers have a row: both, only the new one, or only the one that counts today."""


class Matched(NamedTuple):
    """A row of one answer, or of both.

    Attributes:
        side: which answers have it.
        row: the new answer's row; where only the other has it, that one's.
        live: the row of the answer that counts today, if it has it.
        is_double: whether its own answer says it before.
    """

    side: Side
    row: Row
    live: Row | None
    is_double: bool = False


@dataclass(frozen=True)
class JudgedRow:
    """A row of an answer.

    Attributes:
        side: which answers have it.
        words: what it says, in a line.
        evidence: the words that it quotes; empty if it quotes nothing.
        failed: the checks that it fails in the new answer; see `entities.facts.checks`.
        failed_live: those that it fails in the answer that counts today, which may quote other words.
        verdicts: right or wrong, by each basis that says so.
        is_double: whether its own answer says it before.
    """

    side: Side
    words: str
    evidence: str = ""
    failed: tuple[str, ...] = ()
    failed_live: tuple[str, ...] = ()
    verdicts: Mapping[Basis, Verdict] = field(default_factory=dict)
    is_double: bool = False

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the strongest basis; None if none says."""
        return next((self.verdicts[basis] for basis in BASES if basis in self.verdicts), None)


def side_by_side(
    new: Sequence[Row], live: Sequence[Row], identity: Callable[[Row], Identity]
) -> list[Matched]:
    """The rows of two answers, those that say the same as one.

    First come the new answer's rows, then those that only the other has. What an answer says twice is matched
    once.
    """
    waiting = {identity(row): row for row in reversed(live)}
    matched: list[Matched] = []
    seen = set[Identity]()
    for row in new:
        one = identity(row)
        other = None if one in seen else waiting.get(one)
        matched.append(Matched("same" if other else "new", row, other, one in seen))
        seen.add(one)
    own = set[Identity]()
    for row in live:
        one = identity(row)
        if one in own or one not in seen:
            matched.append(Matched("live", row, row, one in own))
        own.add(one)
    return matched


@dataclass(frozen=True)
class SideTotals:
    """The figures of one side's rows.

    Attributes:
        rows: how many.
        right: those that the strongest basis calls right.
        wrong: those that it calls wrong.
        undecided: those of which no basis says anything.
        failed: those that fail a check.
        doubles: those that their own answer says before.
        by_basis: right and wrong ones by each basis.
        by_check: rows by each check that they fail.
    """

    rows: int
    right: int
    wrong: int
    undecided: int
    failed: int
    doubles: int
    by_basis: Mapping[Basis, Mapping[Verdict, int]]
    by_check: Mapping[str, int]


def side_totals(rows: Sequence[JudgedRow], side: Literal["new", "live"]) -> SideTotals:
    """The figures of the rows that the new answers have, or those that count today."""
    own = [row for row in rows if row.side in {side, "same"}]
    failed = [row.failed if side == "new" else row.failed_live for row in own]
    verdicts = Counter(row.verdict for row in own)
    checks = Counter(check for each in failed for check in each)
    return SideTotals(
        rows=len(own),
        right=verdicts["right"],
        wrong=verdicts["wrong"],
        undecided=verdicts[None],
        failed=sum(map(bool, failed)),
        doubles=sum(row.is_double for row in own),
        by_basis={
            basis: {
                "right": sum(row.verdicts.get(basis) == "right" for row in own),
                "wrong": sum(row.verdicts.get(basis) == "wrong" for row in own),
            }
            for basis in BASES
        },
        by_check=dict(checks.most_common()),
    )
