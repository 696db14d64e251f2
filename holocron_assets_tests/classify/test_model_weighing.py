from pathlib import Path
from typing import Any

import pytest

from holocron_assets.classify.model_weighing import (
    MODEL_WEIGHING_FILE,
    ModelWeighing,
    load_model_weighing,
    read_model_weighing,
    weigh_answer,
)
from holocron_assets.classify.rule_file import RuleError

FIGURES = {"same": 0.9, "listed": 0.7, "alone": 0.6, "against": 0.3}
WEIGHING = ModelWeighing.model_validate(
    {"doubted": 0.5, "default": {**FIGURES, "same": 0.75}, "models": {"small:1b": FIGURES}}
)
DROID_PERHAPS = {
    "primary_type": "Droid",
    "confidence": 0.6,
    "types": [{"type": "Droid", "weight": 0.6}, {"type": "Species", "weight": 0.2}],
}
NOTHING = {"primary_type": "Unknown", "confidence": 0.0, "types": [{"type": "Concept", "weight": 0.1}]}


def answer(page_type: str, **changed: Any) -> dict[str, Any]:
    return {
        "primary_type": page_type,
        "model": "small:1b",
        "needs_review": False,
        "supported": True,
        "confidence": 1.0,
        **changed,
    }


@pytest.mark.parametrize(
    ("rules", "page_type", "expected"),
    [
        (DROID_PERHAPS, "Droid", ("same", 0.9)),
        (DROID_PERHAPS, "Species", ("listed", 0.7)),
        (DROID_PERHAPS, "Concept", ("against", 0.3)),
        (NOTHING, "Concept", ("listed", 0.7)),
        (NOTHING, "Droid", ("alone", 0.6)),
    ],
)
def test_an_answer_is_worth_what_such_answers_were_right(
    rules: dict[str, Any], page_type: str, expected: tuple[str, float]
) -> None:
    assert weigh_answer(rules, answer(page_type), WEIGHING) == expected


@pytest.mark.parametrize("own_confidence", [0.0, 0.5, 1.0])
def test_what_a_model_says_of_its_own_confidence_counts_for_nothing(own_confidence: float) -> None:
    assert weigh_answer(DROID_PERHAPS, answer("Droid", confidence=own_confidence), WEIGHING).confidence == 0.9


def test_a_model_that_nobody_measured_has_figures_of_its_own() -> None:
    assert weigh_answer(DROID_PERHAPS, answer("Droid", model="unheard-of"), WEIGHING).confidence == 0.75


@pytest.mark.parametrize("doubt", [{"needs_review": True}, {"supported": False}])
def test_an_answer_that_is_in_doubt_is_never_surer_than_the_file_allows(doubt: dict[str, Any]) -> None:
    assert weigh_answer(DROID_PERHAPS, answer("Droid", **doubt), WEIGHING).confidence == 0.5


def test_a_model_that_nobody_measured_settles_nothing() -> None:
    figures = load_model_weighing().default
    assert max(figures.model_dump().values()) < 0.8


def test_a_model_alone_or_against_the_rules_settles_nothing() -> None:
    for figures in load_model_weighing().models.values():
        assert figures.against < 0.8
    assert load_model_weighing().doubted < 0.8


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [("same: 0.75", "same: 1.75", "default.same"), ("doubted: 0.50", "doubt: 0.50", "doubt")],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path: Path, old: str, new: str, key: str) -> None:
    file = tmp_path / "weighing.yaml"
    file.write_text(MODEL_WEIGHING_FILE.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(RuleError, match=rf"weighing\.yaml: key '{key}"):
        read_model_weighing(file)
