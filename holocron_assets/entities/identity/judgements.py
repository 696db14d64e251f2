"""Whether two entities are one: a person's decision counts first, then the identity policy."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from holocron_assets.entities.identity.evidence.weights import Weights, evidence_of
from holocron_assets.lake.declaration.schema import Row

_PAIR = ("pair_id", "entity_type", "first_id", "second_id")
_SAID = ("judgement", "judged_by", "reason", "decision_id")
_NO_PROPOSAL = {"proposal": None, "proposed_by": None, "proposal_confidence": None}


def judged(  # noqa: PLR0913 - each gives judgements, or names their origin
    entity_type: str,
    pairs: Iterable[Row],
    decided: Mapping[frozenset[str], Row],
    *,
    author: str,
    known: AbstractSet[str],
    checks: Mapping[str, Row],
    weights: Weights,
) -> list[Row]:
    """One judgement for each pair of one type, from the source that counts first.

    Args:
        entity_type: the type.
        pairs: its rows of `entity_pairs`.
        decided: people's last decision about each pair, of any type: kind 'merge' or 'split'.
        author: the identity policy, as `judged_by` names it.
        known: ids of the type's entities. A decision about another waits until there is such an entity.
        checks: by pair id, rows of a model's identity check, with `same_entity`, `confidence` and `model`.
        weights: of the evidence of pairs that the policy is not sure of.

    Returns:
        Rows of `entity_judgements` without `is_followed`, `refused` and `judged_at`, by pair id.
    """
    rows = {row["pair_id"]: _by_policy(row, author, checks.get(row["pair_id"]), weights) for row in pairs}
    for ids, decision in decided.items():
        if ids <= known:
            row = _by_person(entity_type, sorted(ids), decision)
            rows[row["pair_id"]] = {**row, "score": rows.get(row["pair_id"], row)["score"]}
    return [rows[name] for name in sorted(rows)]


def since_when(rows: Iterable[Row], earlier: Sequence[Row], now: datetime) -> list[Row]:
    """Give judgements the time when they were first made.

    Args:
        rows: rows of `entity_judgements` without `judged_at`.
        earlier: the rows that stood until now.
        now: the time of those that are new or changed.
    """
    before = {row["pair_id"]: row for row in earlier}
    return [{**row, "judged_at": _first_said(row, before.get(row["pair_id"])) or now} for row in rows]


def _first_said(row: Row, before: Row | None) -> datetime | None:
    if before is None or any(row[name] != before[name] for name in _SAID):
        return None
    first: datetime = before["judged_at"]
    return first


def _by_policy(pair: Row, author: str, check: Row | None, weights: Weights) -> dict[str, object]:
    judgement, reason, evidence = pair["verdict"], pair["reason"], evidence_of(pair)
    if judgement == "unsure":
        reason = f"{reason}; {weights.explained(evidence)}"
        judgement = "same" if weights.makes_one(evidence) else judgement
    return {
        **{name: pair[name] for name in _PAIR},
        "judgement": judgement,
        "judged_by": author,
        "method": pair["method"],
        "score": pair["score"],
        "reason": reason,
        **(_proposal(check) if check and judgement == "unsure" else _NO_PROPOSAL),
        "decision_id": None,
        "into_id": None,
    }


def _proposal(check: Row) -> dict[str, object]:
    return {
        "proposal": "same" if check["same_entity"] else "different",
        "proposed_by": check["model"],
        "proposal_confidence": check["confidence"],
    }


def _by_person(entity_type: str, ids: Sequence[str], decision: Row) -> dict[str, object]:
    is_merge = decision["kind"] == "merge"
    return {
        "pair_id": "+".join(ids),
        "entity_type": entity_type,
        "first_id": ids[0],
        "second_id": ids[1],
        "judgement": "same" if is_merge else "different",
        "judged_by": f"person:{decision['author']}",
        "method": "person",
        "score": None,
        "reason": decision["reason"],
        **_NO_PROPOSAL,
        "decision_id": decision["decision_id"],
        "into_id": decision["other_id"] if is_merge else None,
    }
