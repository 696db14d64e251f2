"""Weights of evidence: shipped ones that join nothing, and those that people's decisions teach."""

from typing import Any

import pytest

from holocron_assets.entities.identity.evidence.weights import (
    Evidence,
    WeightRules,
    Weights,
    examples_of,
    weights_from,
)
from holocron_assets.entities.identity.judgements import judged
from holocron_assets.entities.identity.policy import DEFAULT_IDENTITY_FILE, load_identity_policy
from holocron_assets.lake.declaration.schema import Row

RULES = load_identity_policy(DEFAULT_IDENTITY_FILE, {"PersonCharacter"}).weights
AGREEING, LONELY = {"facts": 1.0, "targets": 1.0}, {"targets": -1.0}


def pair(number: int, evidence: Evidence, verdict: str = "unsure") -> Row:
    return {
        "pair_id": f"a{number}+b{number}",
        "entity_type": "Species",
        "first_id": f"a{number}",
        "second_id": f"b{number}",
        "verdict": verdict,
        "method": "fuzzy",
        "score": 0.92,
        "reason": "alike",
        "evidence": [{"name": name, "value": value} for name, value in evidence.items()],
    }


def decided(kinds: dict[int, str]) -> dict[frozenset[str], Row]:
    return {
        frozenset((f"a{number}", f"b{number}")): {
            "kind": kind,
            "author": "Kim",
            "reason": "seen",
            "decision_id": f"d{number}",
            "other_id": f"b{number}",
        }
        for number, kind in kinds.items()
    }


def taught(merges: int, splits: int, rules: WeightRules = RULES, more: tuple[Row, ...] = ()) -> Weights:
    """Weights from merges of pairs whose facts agree, and splits of pairs that share nothing."""
    pairs = [pair(number, AGREEING if number < merges else LONELY) for number in range(merges + splits)]
    kinds = {number: "merge" if number < merges else "split" for number in range(merges + splits)}
    return weights_from(examples_of([*pairs, *more], decided(kinds)), rules)


@pytest.mark.parametrize(("merges", "splits"), [(0, 0), (25, 24), (60, 0), (0, 60)])
def test_too_few_decisions_or_all_of_one_kind_teach_nothing(merges: int, splits: int) -> None:
    weights = taught(merges, splits)
    assert (weights.log_odds, weights.origin, weights.one_from) == (RULES.shipped, "as shipped", None)


def test_shipped_weights_join_nothing_however_likely_a_pair_is() -> None:
    weights = taught(0, 0)
    assert weights.probability({"name": 1.0, "template": 1.0, **AGREEING}) > 0.95
    assert not weights.makes_one({"name": 1.0, "template": 1.0, **AGREEING})


def test_decisions_teach_what_tells_one_from_two() -> None:
    weights = taught(30, 30)
    assert weights.origin == "learned from 60 decisions and 0 identifiers"
    assert weights.log_odds["targets"] > RULES.shipped["targets"]
    assert weights.probability(AGREEING) > 0.9
    assert weights.probability(LONELY) < 0.1


def test_pairs_are_joined_only_when_enough_that_were_held_out_were_one() -> None:
    assert taught(90, 60).one_from is None
    weights = taught(120, 60)
    assert weights.one_from is not None
    assert weights.makes_one(AGREEING)
    assert not weights.makes_one(LONELY)


def test_pairs_are_joined_by_no_evidence_that_was_wrong_in_more_than_one_of_a_hundred() -> None:
    wrong = {1000: "split", 1001: "split"}
    pairs = [pair(number, AGREEING if number < 120 else LONELY) for number in range(180)]
    pairs += [pair(number, AGREEING) for number in wrong]
    kinds = {number: "merge" if number < 120 else "split" for number in range(180)} | wrong
    assert weights_from(examples_of(pairs, decided(kinds)), RULES).one_from is None


@pytest.mark.parametrize("against", ["doubt", "contradictions"])
def test_what_is_contradicted_is_never_joined_by_evidence(against: str) -> None:
    assert not taught(120, 60).makes_one({**AGREEING, against: 0.33})


def test_identifiers_teach_as_many_examples_as_people_keep_apart() -> None:
    more = tuple(pair(5000 + number, {"settled": 1.0, **AGREEING}, "same") for number in range(500))
    assert taught(30, 30, more=more).origin == "learned from 60 decisions and 30 identifiers"


def test_the_order_of_pairs_changes_no_weight() -> None:
    pairs = [pair(number, AGREEING if number < 120 else LONELY) for number in range(180)]
    kinds = decided({number: "merge" if number < 120 else "split" for number in range(180)})
    assert weights_from(examples_of(pairs, kinds), RULES) == weights_from(
        examples_of(pairs[::-1], kinds), RULES
    )


def said(weights: Weights, evidence: dict[str, float], verdict: str = "unsure") -> dict[str, Any]:
    asked: Any = {"author": "policy:p", "known": frozenset(), "checks": {}, "weights": weights}
    (row,) = judged("Species", [pair(1, evidence, verdict)], {}, **asked)
    return dict(row)


def test_a_judgement_shows_the_probability_and_what_each_evidence_adds() -> None:
    row = said(taught(0, 0), {"name": 0.2, "facts": 0.67})
    assert row["judgement"] == "unsure"
    assert row["reason"] == "alike; 63% likely by weights as shipped (always -1.0, name +0.2, facts +1.3)"


def test_a_pair_that_learned_weights_are_sure_of_is_the_same_by_the_policy_and_no_question() -> None:
    weights = taught(120, 60)
    row = said(weights, AGREEING)
    assert (row["judgement"], row["judged_by"], row["proposal"]) == ("same", "policy:p", None)
    assert "by weights learned from 180 decisions and 0 identifiers" in row["reason"]
    assert said(weights, LONELY)["judgement"] == "unsure"


def test_what_the_policy_is_sure_of_needs_no_weights() -> None:
    assert said(taught(120, 60), LONELY, "same")["reason"] == "alike"
