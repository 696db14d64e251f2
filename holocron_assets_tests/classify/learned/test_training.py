"""A model that settled pages teach, and how right it says that it is."""

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from holocron_assets.classify.learned.evaluation import Evaluation, temperature
from holocron_assets.classify.learned.model import FAMILIAR, KNOWN, PRIOR, TypeModel
from holocron_assets.classify.learned.training import SettledPage, train
from holocron_assets.lake.tables import TYPE_MODEL

WORDS = {"Species": "animal", "LocationPlace": "moon", "Droid": "robot"}


def pages(*types: str, each: int = 20) -> list[SettledPage]:
    """Pages whose category says their type, beside a word that says nothing."""
    noise = random.Random(7)  # noqa: S311 - any numbers will do
    return [
        SettledPage(
            noise.randrange(2**60),
            name,
            {f"category: {WORDS[name]}": 1.0, f"lead: {noise.choice('abcdef')}": 0.7},
        )
        for name in types
        for _ in range(each)
    ]


def trained(known: Sequence[SettledPage]) -> tuple[TypeModel, Evaluation]:
    found = train(known)
    assert found is not None
    return found


@pytest.mark.parametrize("types", [("Droid", "Species"), ("Droid", "LocationPlace", "Species")])
def test_a_model_knows_the_types_that_its_pages_taught(types: Sequence[str]) -> None:
    model, evaluation = trained(pages(*types))
    for name in types:
        said = model.predict({f"category: {WORDS[name]}": 1.0})
        assert said.type == name
        assert not said.abstains
    assert model.types == sorted(types)
    assert evaluation.macro_f1 == 1
    assert evaluation.pages == 20 * len(types)


def test_of_a_page_that_shows_nothing_known_the_model_abstains() -> None:
    said = trained(pages("Droid", "Species"))[0].predict({"category: engine": 1.0})
    assert said.abstains
    assert said.reasons == []


def test_the_reasons_name_the_features_for_and_against() -> None:
    model, _ = trained(pages("Droid", "Species"))
    said = model.predict({"category: robot": 1.0, "category: animal": 0.3})
    assert [reason.feature for reason in said.reasons[:2]] == ["category: robot", "category: animal"]
    assert said.reasons[0].weight > 0 > said.reasons[1].weight


def test_the_numbers_of_a_vector_are_one_reason() -> None:
    sides = {"LocationPlace": 1.0, "Species": -1.0}
    known = [
        SettledPage(number, name, {"meaning by words d: 0": side, "meaning by words d: 1": side / 2})
        for number, (name, side) in enumerate([*sides.items()] * 20)
    ]
    said = trained(known)[0].predict({"meaning by words d: 0": 1.0, "meaning by words d: 1": 0.5})
    [reason] = said.reasons
    assert (said.type, reason.feature) == ("LocationPlace", "meaning by words d")
    assert reason.weight > 0


def test_the_same_pages_in_another_order_give_the_same_model() -> None:
    known = pages("Droid", "Species", "LocationPlace")
    one, other = trained(known)[0], trained(known[::-1])[0]
    assert one.features == other.features
    assert np.array_equal(one.weights, other.weights)


def test_a_model_is_the_same_after_it_was_kept_as_rows() -> None:
    model, _ = trained(pages("Droid", "Species", "LocationPlace"))
    kept = model.as_table("wiki")
    TYPE_MODEL.check(kept, "wiki")
    again = TypeModel.from_table(pa.concat_tables([kept.slice(0, 3), kept.slice(3)]))
    assert again is not None
    assert (again.types, again.features) == (model.types, model.features)
    assert np.array_equal(again.weights, model.weights)
    assert again.features[:3] == [KNOWN, FAMILIAR, PRIOR]


def test_a_type_with_fewer_than_five_pages_is_not_learned() -> None:
    model, _ = trained([*pages("Droid", "Species"), *pages("LocationPlace", each=4)])
    assert model.types == ["Droid", "Species"]


def test_from_one_type_nothing_is_learned() -> None:
    assert train(pages("Droid")) is None
    assert train([]) is None
    assert TypeModel.from_table(TYPE_MODEL.arrow_schema.empty_table()) is None


def evaluation(*rows: tuple[float, int]) -> Evaluation:
    """Answers of a model of two types: the probability of the first, and the place of the true one."""
    first = np.array([probability for probability, _ in rows])
    return Evaluation(
        ("Droid", "Species"), np.column_stack([first, 1 - first]), np.array([truth for _, truth in rows])
    )


def test_macro_f1_counts_each_type_the_same() -> None:
    found = evaluation((0.9, 0), (0.9, 0), (0.9, 1), (0.2, 1))
    assert found.confusion.tolist() == [[2, 0], [1, 1]]
    assert found.macro_f1 == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_the_calibration_error_is_the_distance_between_what_is_said_and_what_is_right() -> None:
    found = evaluation((0.95, 0), (0.95, 1), (0.65, 0), (0.65, 0))
    assert found.curve == [pytest.approx((0.65, 1.0, 2)), pytest.approx((0.95, 0.5, 2))]
    assert found.calibration_error == pytest.approx((0.35 + 0.45) / 2)


def test_the_temperature_takes_back_what_a_model_says_too_surely() -> None:
    truth = np.array([0, 0, 0, 1] * 25)
    too_sure = np.tile([6.0, 0.0], (100, 1))
    heat = temperature(too_sure, truth)
    assert np.exp(6 / heat) / (1 + np.exp(6 / heat)) == pytest.approx(0.75, abs=0.02)


def test_a_page_of_a_sort_that_no_settled_page_is_of_gets_no_answer() -> None:
    sorts = {"Planet": "LocationPlace", "Pilot": "PersonCharacter"}
    pages = [
        SettledPage(number, sorts[sort], {f"infobox: {sort}": 1.0, "lead: small": 0.5})
        for number, sort in enumerate(["Planet", "Pilot"] * 60)
    ]
    trained = train(pages)
    assert trained
    model = trained[0]
    known = model.predict({"infobox: Planet": 1.0, "lead: small": 0.5})
    assert (known.type, known.is_familiar, known.abstains) == ("LocationPlace", True, False)
    strange = model.predict({"infobox: Droid": 1.0, "lead: small": 0.5})
    assert (strange.is_familiar, strange.abstains) == (False, True)
    assert strange.probability < known.probability


def test_a_few_pages_teach_nothing_that_is_sure() -> None:
    pages = [
        SettledPage(number, name, {f"infobox: {name}": 1.0})
        for number, name in enumerate(["LocationPlace", "PersonCharacter"] * 6)
    ]
    trained = train(pages)
    assert trained
    assert trained[0].predict({"infobox: LocationPlace": 1.0}).abstains
