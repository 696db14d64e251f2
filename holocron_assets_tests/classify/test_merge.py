"""People over models over unsure rules, and everybody's answer kept."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pages_read import signals

from holocron_assets.classify.merge import page_type_row
from holocron_assets.classify.model_weighing import ModelWeighing
from holocron_assets.classify.rules import classify_page
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import PAGE_TYPES

WEIGHING = ModelWeighing.model_validate(
    {
        "doubted": 0.5,
        "default": {"same": 0.7, "listed": 0.6, "alone": 0.5, "against": 0.3},
        "models": {"small:1b": {"same": 0.92, "listed": 0.85, "alone": 0.7, "against": 0.4}},
    }
)
SURE = signals("Vessa", "Vessa was a planet.", infobox_template="Planet", categories=["Planets"])
SILENT = signals("Osk")
UNSURE = signals("Vessa", categories=["Planets"])


def answered(page_type: str, **changed: Any) -> dict[str, Any]:
    """A row of derived_page_classification, as far as it is read."""
    return {
        "primary_type": page_type,
        "types": [],
        "confidence": 1.0,
        "needs_review": False,
        "supported": True,
        "work_medium": None,
        "canon_context": None,
        "description": "Vessa is a world of salt.",
        "tags": ["salt"],
        "rationale": "It says so",
        "model": "small:1b",
        **changed,
    }


def decided(page_type: str) -> dict[str, Any]:
    return {
        "kind": "classify",
        "value": page_type,
        "author": "ada",
        "reason": "It is a ship in the film",
        "decided_at": datetime(2026, 3, 1, tzinfo=UTC),
    }


def predicted(page: Row, page_type: str, probability: float) -> dict[str, Any]:
    """A row of type_predictions, as far as it is read."""
    return {
        "revision_id": page["revision_id"],
        "primary_type": page_type,
        "probability": probability,
        "second_type": "Concept",
        "second_probability": 0.01,
        "is_familiar": True,
        "abstains": probability < 0.8,
        "reasons": [
            {"feature": "category: Planets", "weight": 2.5},
            {"feature": "lead: ship", "weight": -0.5},
        ],
    }


def merged(
    page: Row, model: Row | None = None, decision: Row | None = None, learned: Row | None = None
) -> Row:
    row = page_type_row(
        page,
        classify_page(page),
        "run-1",
        model=model,
        learned=learned,
        decision=decision,
        weighing=WEIGHING,
    )
    assert PAGE_TYPES.to_arrow([row], "sample-000001").num_rows == 1
    return row


def settled(row: Row) -> tuple[str, float, str, bool]:
    return row["primary_type"], row["confidence"], row["method"], row["needs_review"]


def test_the_rules_leave_the_unsure_page_of_these_tests_unsure() -> None:
    page_type, confidence, _, needs_review = settled(merged(UNSURE))
    assert (page_type, needs_review) == ("LocationPlace", True)
    assert 0.4 < confidence < 0.8


def test_a_model_that_agrees_with_the_rules_guess_settles_the_page() -> None:
    row = merged(UNSURE, answered("LocationPlace"))
    assert settled(row) == ("LocationPlace", 0.92, "model", False)
    assert row["reason"] == ("small:1b says LocationPlace, which is the rules' best guess too: It says so")
    assert row["rule_ids"] == ["place.celestial"]


def test_both_answers_are_kept_whichever_counts() -> None:
    for row in (merged(UNSURE, answered("Droid")), merged(SURE, answered("Droid"))):
        assert (row["rules_type"], row["model"], row["model_type"]) == ("LocationPlace", "small:1b", "Droid")
        assert (
            row["rules_confidence"]
            == classify_page(SURE if row["confidence"] > 0.8 else UNSURE)["confidence"]
        )
        assert row["model_confidence"] == 1.0


def test_a_model_that_disagrees_does_not_move_what_the_rules_are_sure_of() -> None:
    assert merged(SURE, answered("Droid")) == {
        **merged(SURE),
        "model": "small:1b",
        "model_type": "Droid",
        "model_confidence": 1.0,
    }


def test_if_a_model_disagrees_the_surer_answer_is_left_for_review() -> None:
    row = merged(UNSURE, answered("Droid"))
    assert settled(row) == ("LocationPlace", classify_page(UNSURE)["confidence"], "rules", True)
    assert row["reason"].endswith("; small:1b says Droid")


def test_where_the_rules_know_nothing_a_model_answers_alone_with_a_review() -> None:
    row = merged(SILENT, answered("Droid", types=[{"type": "Species", "weight": 0.5}]))
    assert settled(row) == ("Droid", 0.7, "model", True)
    assert row["types"] == [{"type": "Droid", "weight": 0.7}, {"type": "Species", "weight": 0.15}]
    assert row["reason"] == "small:1b says Droid, of which the rules know nothing: It says so"


@pytest.mark.parametrize("doubt", [{"needs_review": True}, {"supported": False}])
def test_an_answer_in_doubt_settles_nothing(doubt: dict[str, Any]) -> None:
    assert settled(merged(UNSURE, answered("LocationPlace", **doubt))) == settled(merged(UNSURE))
    assert settled(merged(SILENT, answered("Droid", **doubt))) == ("Droid", 0.5, "model", True)


def test_agreement_makes_no_answer_less_sure_than_the_rules_were() -> None:
    row = merged(UNSURE, answered("LocationPlace", model="unheard-of"))
    assert row["confidence"] >= classify_page(UNSURE)["confidence"]


def test_a_model_that_does_not_know_changes_nothing_but_that_it_was_asked() -> None:
    row = merged(UNSURE, answered("Unknown"))
    assert settled(row) == settled(merged(UNSURE))
    assert row["model_type"] == "Unknown"


def test_description_and_tags_are_kept_only_of_a_model_whose_type_counts() -> None:
    agreeing, other = merged(UNSURE, answered("LocationPlace")), merged(UNSURE, answered("Droid"))
    assert (agreeing["description"], agreeing["tags"]) == ("Vessa is a world of salt.", ["salt"])
    assert (other["description"], other["tags"]) == (None, None)


def test_a_persons_decision_counts_over_sure_rules_and_models() -> None:
    row = merged(SURE, answered("LocationPlace"), decided("VehicleCraft"))
    assert settled(row) == ("VehicleCraft", 1.0, "person", False)
    assert row["reason"] == "ada decided on 2026-03-01: It is a ship in the film"
    assert row["types"] == [{"type": "VehicleCraft", "weight": 1.0}]
    assert (row["rule_ids"], row["rules_type"], row["model_type"]) == ([], "LocationPlace", "LocationPlace")


@pytest.mark.parametrize(
    ("page", "model", "expected"),
    [
        (SILENT, {"work_medium": "book", "canon_context": "legends"}, ("book", "legends")),
        (SILENT, {}, ("unknown", "unknown")),
        (signals("Osk", continuity="canon"), {"canon_context": "legends"}, ("unknown", "canon")),
    ],
)
def test_a_work_that_a_model_found_has_the_medium_and_continuity_of_the_answer(
    page: Row, model: dict[str, str], expected: tuple[str, str]
) -> None:
    row = merged(page, answered("WorkMedia", **model))
    assert (row["work_medium"], row["canon_context"]) == expected


def test_what_is_no_work_has_no_medium_whatever_a_model_says() -> None:
    row = merged(UNSURE, answered("LocationPlace", work_medium="book", canon_context="canon"))
    assert (row["work_medium"], row["canon_context"]) == (None, None)


def test_a_work_by_decision_keeps_the_medium_that_the_rules_know() -> None:
    page = signals("Salt", infobox_template="Book", continuity="real")
    row = merged(page, decision=decided("WorkMedia"))
    assert row["work_medium"] == classify_page(page)["work_medium"]


def test_where_the_rules_are_unsure_the_learned_model_counts_if_it_is_the_surest() -> None:
    row = merged(UNSURE, learned=predicted(UNSURE, "VehicleCraft", 0.93))
    assert settled(row) == ("VehicleCraft", 0.93, "learned", False)
    assert row["reason"] == (
        "the learned model says VehicleCraft at 0.93, because of category: Planets; against it: lead: ship"
    )
    assert row["types"] == [{"type": "VehicleCraft", "weight": 0.93}, {"type": "Concept", "weight": 0.01}]
    surer = merged(UNSURE, answered("LocationPlace"), learned=predicted(UNSURE, "VehicleCraft", 0.85))
    assert settled(surer)[1:3] == (0.92, "model")
    assert surer["reason"].endswith("; the learned model says VehicleCraft")
    assert (surer["learned_type"], surer["learned_probability"]) == ("VehicleCraft", 0.85)


def test_the_learned_model_moves_neither_sure_rules_nor_a_person() -> None:
    learned = predicted(SURE, "VehicleCraft", 0.99)
    assert settled(merged(SURE, learned=learned)) == settled(merged(SURE))
    assert merged(UNSURE, decision=decided("Droid"), learned=learned)["method"] == "person"


def test_a_learned_model_that_abstains_or_read_another_revision_changes_no_type() -> None:
    before = settled(merged(UNSURE))
    assert settled(merged(UNSURE, learned=predicted(UNSURE, "VehicleCraft", 0.79))) == before
    other = merged(UNSURE, learned={**predicted(UNSURE, "VehicleCraft", 0.99), "revision_id": -1})
    assert settled(other) == before
    assert other["learned_type"] is None
