"""How evidence becomes an answer: stages confirm or contradict each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from holocron_assets.classify.evidence import Evidence
from holocron_assets.classify.rule_file import read_figures
from holocron_assets.classify.taxonomy import UNKNOWN
from holocron_assets.frozen_model import FrozenModel, StrictShare

# Title first, then infobox; categories and lead count together.
_ROUNDS: tuple[frozenset[str], ...] = (
    frozenset({"title"}),
    frozenset({"infobox"}),
    frozenset({"category", "lead"}),
)


class Weighing(FrozenModel):
    """Thresholds, between 0 and 1 except `pieces`; the file says what each is for."""

    settled: StrictShare
    known: StrictShare
    cap: StrictShare
    margin: StrictShare
    penalty: StrictShare
    review_conflict: StrictShare
    pieces: Annotated[int, Field(strict=True, ge=1)]
    subject_share: StrictShare


def read_weighing(path: Path) -> Weighing:
    """Read the thresholds.

    Raises:
        RuleError: the file cannot be read, or a key is missing, unknown or out of range.
    """
    return read_figures(path, Weighing)


class Verdict(NamedTuple):
    """The answer that follows from the evidence.

    Attributes:
        type: the primary type, or Unknown.
        confidence: between 0 and 1.
        weights: each type with evidence for it, heaviest first.
        conflict: the strongest contradiction, between 0 and 1.
        needs_review: whether it is not settled, or settled against a strong contradiction.
    """

    type: str
    confidence: float
    weights: list[tuple[str, float]]
    conflict: float
    needs_review: bool


class _Standing(NamedTuple):
    type: str
    confidence: float
    conflict: float


def weigh(evidence: Sequence[Evidence], weighing: Weighing, wider_types: Mapping[str, str]) -> Verdict:
    """Weigh evidence stage by stage.

    A stage's answer is its strongest type, minus the weight of the other types in it. A later stage that
    agrees makes the answer surer. One that disagrees makes it less sure, and overrules it only if it is
    clearly surer.

    Args:
        evidence: the rules that fired.
        weighing: the thresholds.
        wider_types: the wider type of each type that is a kind of another. If one rule settles the narrower
            type, evidence for the wider type counts for it.
    """
    evidence = _narrowed(evidence, weighing, wider_types)
    standing: _Standing | None = None
    totals: dict[str, float] = {}
    for stages in _ROUNDS:
        supports = _supports([piece for piece in evidence if piece.stage in stages], weighing)
        if supports:
            heard = _strongest(supports, weighing)
            standing = _confront(standing, heard, weighing) if standing else heard
            for type_name, support in supports.items():
                totals[type_name] = _either(totals.get(type_name, 0.0), support)
    if standing is None or standing.confidence < weighing.known:
        return Verdict(UNKNOWN, 0.0, _weights(totals, UNKNOWN, 0.0), 0.0, needs_review=True)
    return Verdict(
        type=standing.type,
        confidence=round(standing.confidence, 4),
        weights=_weights(totals, standing.type, standing.confidence),
        conflict=standing.conflict,
        needs_review=standing.confidence < weighing.settled or standing.conflict >= weighing.review_conflict,
    )


def _narrowed(
    evidence: Sequence[Evidence], weighing: Weighing, wider_types: Mapping[str, str]
) -> Sequence[Evidence]:
    narrower = {
        wider_types[piece.type]: piece.type
        for piece in evidence
        if piece.type in wider_types and piece.confidence >= weighing.settled
    }
    return [piece._replace(type=narrower.get(piece.type, piece.type)) for piece in evidence]


def _either(first: float, second: float) -> float:
    """The joint confidence of two independent pieces."""
    return 1 - (1 - first) * (1 - second)


def _supports(pieces: Sequence[Evidence], weighing: Weighing) -> dict[str, float]:
    """Support of each type: its strongest pieces of each stage together, limited unless one is surer."""
    by_type: dict[str, dict[str, list[float]]] = {}
    for piece in pieces:
        by_type.setdefault(piece.type, {}).setdefault(piece.stage, []).append(piece.confidence)
    supports = {}
    for type_name, stages in by_type.items():
        support = 0.0
        for confidences in stages.values():
            for confidence in sorted(confidences, reverse=True)[: weighing.pieces]:
                support = _either(support, confidence)
        strongest = max(max(confidences) for confidences in stages.values())
        supports[type_name] = max(strongest, min(support, weighing.cap))
    return supports


def _strongest(supports: Mapping[str, float], weighing: Weighing) -> _Standing:
    ranked = sorted(supports.items(), key=lambda entry: (-entry[1], entry[0]))
    against = ranked[1][1] if len(ranked) > 1 else 0.0
    type_name, support = ranked[0]
    return _Standing(type_name, support - weighing.penalty * against**2, against)


def _confront(standing: _Standing, heard: _Standing, weighing: Weighing) -> _Standing:
    if heard.type == standing.type:
        agreed = min(_either(standing.confidence, heard.confidence), weighing.cap)
        conflict = max(standing.conflict, heard.conflict)
        return _Standing(standing.type, max(agreed, standing.confidence, heard.confidence), conflict)
    overruled = heard.confidence > standing.confidence + weighing.margin
    winner, loser = (heard, standing) if overruled else (standing, heard)
    confidence = winner.confidence - weighing.penalty * loser.confidence**2
    return _Standing(winner.type, confidence, max(winner.conflict, loser.confidence))


def _weights(totals: Mapping[str, float], primary: str, confidence: float) -> list[tuple[str, float]]:
    """The primary type with its confidence; the others with their support, as far as that leaves room."""
    others = [
        (type_name, round(min(support * (1 - confidence), confidence or 1.0), 4))
        for type_name, support in totals.items()
        if type_name != primary
    ]
    others.sort(key=lambda entry: (-entry[1], entry[0]))
    return ([(primary, round(confidence, 4))] if primary in totals else []) + others
