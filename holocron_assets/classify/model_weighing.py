"""How sure a language model's answer makes a page's type, by comparison with the rules' answer."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from holocron_assets.classify.rule_file import read_figures
from holocron_assets.classify.taxonomy import UNKNOWN
from holocron_assets.frozen_model import FrozenModel, StrictShare
from holocron_assets.lake.declaration.schema import Row

MODEL_WEIGHING_FILE = Path(__file__).with_name("model_weighing.yaml")

Standing = Literal["same", "listed", "alone", "against"]


class Figures(FrozenModel):
    """The share of a model's answers that are right, by their relation to the rules' (see the file)."""

    same: StrictShare
    listed: StrictShare
    alone: StrictShare
    against: StrictShare


class ModelWeighing(FrozenModel):
    """The figures of every measured model, between 0 and 1; the file says what each is for."""

    doubted: StrictShare
    default: Figures
    models: Mapping[str, Figures]


class Weighed(NamedTuple):
    """How much a model's answer counts.

    Attributes:
        standing: its relation to the rules' answer.
        confidence: how sure it makes its type, between 0 and 1.
    """

    standing: Standing
    confidence: float


def read_model_weighing(path: Path) -> ModelWeighing:
    """Read the figures.

    Raises:
        RuleError: the file cannot be read, or a key is missing, unknown or out of range.
    """
    return read_figures(path, ModelWeighing)


@cache
def load_model_weighing() -> ModelWeighing:
    """The project's figures, read once (see `read_model_weighing`)."""
    return read_model_weighing(MODEL_WEIGHING_FILE)


def weigh_answer(rules: Row, answer: Row, weighing: ModelWeighing) -> Weighed:
    """How much a model's answer counts, compared with that of the rules.

    Args:
        rules: the page's row of rule_classifications.
        answer: its row of derived_page_classification, with a known type.
        weighing: the figures.
    """
    standing = _standing(rules, answer["primary_type"])
    figures = weighing.models.get(answer["model"], weighing.default)
    confidence: float = getattr(figures, standing)
    if answer["needs_review"] or not answer["supported"]:
        confidence = min(confidence, weighing.doubted)
    return Weighed(standing, confidence)


def _standing(rules: Row, answered: str) -> Standing:
    if answered == rules["primary_type"]:
        return "same"
    if any(weighted["type"] == answered for weighted in rules["types"]):
        return "listed"
    return "alone" if rules["primary_type"] == UNKNOWN else "against"
