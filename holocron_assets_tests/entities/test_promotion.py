from pathlib import Path
from typing import Any

import pytest

from holocron_assets.entities.data_files import DataFileError
from holocron_assets.entities.promotion import (
    DEFAULT_POLICY_FILE,
    PromotionPolicy,
    RuleWorth,
    RuleWorths,
    Thresholds,
    load_policy,
)
from holocron_assets.lake.declaration.schema import Row

WORTHY = frozenset({"Species", "Concept"})
POLICY = PromotionPolicy(
    id="test-1",
    default=Thresholds(staged=0.80, candidate=0.80, promoted=0.90, requires=("page", "lead")),
    types={"Concept": Thresholds(staged=0.5, candidate=0.85, promoted=0.95, requires=("page", "lead"))},
    fewest_pages=30,
    worths=RuleWorths(
        rules={
            "good": RuleWorth(right=60, pages=60),
            "wrong": RuleWorth(right=50, pages=60),
            "new": RuleWorth(right=29, pages=29),
        }
    ),
)


def candidate(**changes: Any) -> Row:
    return {
        "entity_type": "Species",
        "confidence": 0.95,
        "needs_review": False,
        "has_lead": True,
        "origin": "page",
        "method": "rules",
        "rule_ids": [],
        **changes,
    }


def load(folder: Path, text: str) -> PromotionPolicy:
    path = folder / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return load_policy(path, WORTHY)


@pytest.mark.parametrize(("worth", "state"), [(0.92, "promoted"), (0.85, "candidate"), (0.5, "staged")])
@pytest.mark.parametrize("method", ["rules", "model", "person"])
def test_only_the_confidence_of_a_type_counts_and_not_its_method(
    method: str, worth: float, state: str
) -> None:
    assert POLICY.decide(candidate(method=method, confidence=worth)).state == state


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"rule_ids": ["good"]}, "promoted"),
        ({"rule_ids": ["good", "wrong"]}, "promoted"),
        ({"rule_ids": ["wrong", "good"]}, "candidate"),
        ({"rule_ids": ["new"]}, "candidate"),
        ({"rule_ids": ["good"], "method": "model"}, "candidate"),
        ({"rule_ids": ["good"], "needs_review": True}, "candidate"),
        ({"rule_ids": ["good"], "has_lead": False}, "candidate"),
        ({"rule_ids": ["good"], "entity_type": "Concept"}, "candidate"),
        ({"rule_ids": ["good"], "confidence": 0.79}, "staged"),
    ],
)
def test_a_rule_that_was_measured_to_be_right_promotes_what_it_typed_unsurely(
    changes: dict[str, Any], state: str
) -> None:
    assert POLICY.decide(candidate(**{"confidence": 0.85, **changes})).state == state


def test_the_bound_of_a_share_is_wilsons() -> None:
    shares = [
        RuleWorth(right=right, pages=pages).least_share for right, pages in ((60, 60), (50, 60), (0, 9))
    ]
    assert shares == pytest.approx([0.9398, 0.7196, 0.0], abs=5e-4)


@pytest.mark.parametrize(
    ("changes", "state", "why"),
    [
        ({"confidence": 0.90}, "promoted", "0.90 or above"),
        ({"confidence": 0.89}, "candidate", "below 0.90"),
        ({"confidence": 0.80}, "candidate", "below 0.90"),
        ({"confidence": 0.79}, "staged", "below 0.80"),
        ({"needs_review": True}, "candidate", "needs review"),
        ({"has_lead": False}, "candidate", "no lead"),
        ({"origin": "mention"}, "candidate", "only a list names it"),
        ({"origin": "mention", "needs_review": True}, "candidate", "no list has the words that name it"),
        ({"entity_type": "Concept", "confidence": 0.94}, "candidate", "below 0.95"),
        ({"entity_type": "Concept", "confidence": 0.84}, "staged", "below 0.85"),
        ({"entity_type": "Concept", "confidence": 0.95}, "promoted", "0.95 or above"),
    ],
)
def test_the_policy_decides_by_confidence_review_and_lead(
    changes: dict[str, Any], state: str, why: str
) -> None:
    decision = POLICY.decide(candidate(**changes))
    assert (decision.state, decision.state_by) == (state, "policy:test-1")
    assert why in decision.state_reason


def test_the_reason_names_everything_that_stands_in_the_way_of_promotion() -> None:
    decision = POLICY.decide(candidate(confidence=0.85, needs_review=True, has_lead=False))
    expected = "Not promoted: confidence is below 0.90, the page needs review, the page has no lead"
    assert decision.state_reason == expected


def test_a_type_may_promote_what_only_lists_name_but_never_without_their_words() -> None:
    lists = PromotionPolicy(
        id="lists", default=Thresholds(staged=0.5, candidate=0.5, promoted=0.8, requires=()), types={}
    )
    mention = candidate(origin="mention", has_lead=False, confidence=0.85)
    assert lists.decide(mention).state == "promoted"
    assert lists.decide({**mention, "needs_review": True}).state == "candidate"


def test_suppressing_names_the_page_and_the_type_that_it_had() -> None:
    decision = POLICY.suppress({"title": "Varn", "entity_type": "Species", "origin": "page"})
    assert decision.state == "suppressed"
    assert "'Varn' is no longer typed Species" in decision.state_reason


def test_the_shipped_policy_promotes_at_point_nine() -> None:
    policy = load_policy(DEFAULT_POLICY_FILE, WORTHY)
    assert policy.default == Thresholds(staged=0.80, candidate=0.80, promoted=0.90, requires=("page", "lead"))
    assert policy.decide(candidate(confidence=0.90)).state_by == f"policy:{policy.id}"


def test_a_type_may_change_one_threshold_and_keeps_the_other(tmp_path: Path) -> None:
    default = "default: {staged: 0, candidate: 0.8, promoted: 0.9, requires: [lead]}"
    text = f"id: p\n{default}\ntypes: {{Concept: {{promoted: 1}}}}\n"
    assert load(tmp_path, text).types == {
        "Concept": Thresholds(staged=0, candidate=0.8, promoted=1.0, requires=("lead",))
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("default: {staged: 0, candidate: 0.8, promoted: 0.9}\ntypes: {}", "id: is missing"),
        ("id: Ä\ndefault: {staged: 0, candidate: 0.8, promoted: 0.9}\ntypes: {}", "id: String should match"),
        ("id: p\ntypes: {}", "default: is missing"),
        ("id: p\ndefault: {staged: 0, candidate: 0.8, promoted: 0.9}", "types: is missing"),
        ("id: p\ndefault: {staged: 0, candidate: 0.8}\ntypes: {}", "default.promoted: is missing"),
        (
            "id: p\ndefault: {staged: 0, candidate: 0.8, promoted: 1}\ntypes: {}",
            "default.requires: is missing",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0, promoted: 1, requires: [luck]}\ntypes: {}",
            "requires.0: Input",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0.8, promoted: 1.1}\ntypes: {}",
            "default.promoted: Input should be",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: high, promoted: 1}\ntypes: {}",
            "default.candidate: Input should be",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: .nan, promoted: 1}\ntypes: {}",
            "default.candidate: Input should be",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0.8, promoted: true}\ntypes: {}",
            "default.promoted: Input should be",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0.9, promoted: 0.8, requires: []}\ntypes: {}",
            r"default: .*\(0.8\) is below",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0.8, promoted: 0.9}\ntypes: {}\nextra: 1",
            "extra: is no known key",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0.8, promoted: 0.9}\ntypes: {Concept: {promote: 1}}",
            "types.Concept.promote: is no known key",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0.8, promoted: 0.9}\ntypes: {Concept: 1}",
            "types.Concept: must be a mapping",
        ),
        (
            "id: p\ndefault: {staged: 0, candidate: 0, promoted: 1, requires: []}\ntypes: {Specis: {}}",
            "types.Specis: no entity",
        ),
        (
            "id: p\ndefault: {staged: 0.9, candidate: 0.8, promoted: 1, requires: []}\ntypes: {}",
            r"default: .*candidate \(0.8\) is below staged",
        ),
        ("id: p\nid: q", "not a readable YAML file"),
        ("id: [p", "not a readable YAML file"),
        ("- p", "must be a mapping"),
        ("", "must be a mapping"),
    ],
)
def test_a_bad_policy_is_refused_naming_file_and_key(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DataFileError, match=rf"policy\.yaml: .*{problem}"):
        load(tmp_path, text)


def test_a_missing_policy_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"absent\.yaml: not a readable"):
        load_policy(tmp_path / "absent.yaml", WORTHY)


def test_a_policy_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(b"\xff\xfe\x00\x00id")
    with pytest.raises(DataFileError, match=r"policy\.yaml"):
        load_policy(path, WORTHY)
