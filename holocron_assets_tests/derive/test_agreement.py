"""How far answers agree: numbers that a person would give, by counting on fingers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.repeat.agreement import Compared, agreement_of, agreement_of_values

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["a", "b", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
ANSWERS = st.none() | st.dictionaries(st.sampled_from(["kind", "words", "share"]), VALUES)


@pytest.mark.parametrize(
    ("one", "other", "agreement"),
    [
        ("Person", "Person", 1),
        ("Person", "person", 0),
        (None, None, 1),
        (None, "", 0),
        (True, 1, 0),
        (True, True, 1),
        (0.9, 0.94, 1),
        (0.9, 0.8, 0),
        (100, 104, 1),
        (100, 106, 0),
        (3, "3", 0),
        ([], [], 1),
        (["a"], [], 0),
        (["a", "b"], ["b", "a"], 1),
        (["a", "b", "c"], ["b", "c", "d"], 0.5),
        (["a", "a"], ["a"], 0.5),
        ({"x": 1, "y": "a"}, {"x": 1, "y": "b"}, 0.5),
        ({"x": "a"}, {"x": "a", "y": "b"}, 0.5),
        ([{"x": "a", "y": "b"}, {"x": "c", "y": "d"}], [{"x": "c", "y": "d"}, {"x": "a", "y": "e"}], 0.75),
    ],
)
def test_values_agree_as_far_as_a_person_would_say(one: Any, other: Any, agreement: float) -> None:
    assert agreement_of_values(one, other) == pytest.approx(agreement)
    assert agreement_of_values(other, one) == pytest.approx(agreement)


@given(VALUES, VALUES)
def test_agreement_is_between_0_and_1_and_the_same_both_ways(one: Any, other: Any) -> None:
    agreement = agreement_of_values(one, other)
    assert 0 <= agreement <= 1
    assert agreement_of_values(one, one) == pytest.approx(1)
    assert agreement_of_values(other, other) == pytest.approx(1)


@given(st.lists(st.lists(ANSWERS, min_size=2, max_size=4), max_size=4))
def test_counts_fit_together_whatever_was_answered(answers: list[list[Any]]) -> None:
    agreement = agreement_of([Compared.within(f"page {n}", some) for n, some in enumerate(answers)])
    assert 0 <= agreement.alike <= agreement.items <= len(answers)
    assert 0 <= agreement.overall <= 1
    assert {one.subject for one in agreement.deviations} <= {f"page {n}" for n in range(len(answers))}
    assert agreement.items - agreement.alike == len({one.subject for one in agreement.deviations})


def test_each_field_agrees_by_the_mean_of_the_questions() -> None:
    agreement = agreement_of(
        [
            Compared.within("Varn", [{"kind": "place", "share": 0.9}] * 3),
            Compared.within(
                "Ash", [{"kind": "place", "share": 0.9}] * 2 + [{"kind": "person", "share": 0.9}]
            ),
        ]
    )
    assert (agreement.items, agreement.alike, agreement.unanswered) == (2, 1, 0)
    # of three answers, one in three pairs agrees
    assert agreement.fields == {"kind": pytest.approx(2 / 3), "share": 1}
    assert agreement.overall == pytest.approx(5 / 6)
    [deviation] = agreement.deviations
    assert (deviation.subject, deviation.field, deviation.values) == ("Ash", "kind", ("place", "person"))


def test_an_answer_that_is_lacking_agrees_with_none() -> None:
    agreement = agreement_of([Compared.within("Varn", [{"kind": "place"}, None])])
    assert (agreement.items, agreement.alike, agreement.unanswered, agreement.overall) == (1, 0, 1, 0)
    assert agreement.deviations[0].values == ("place", None)


def test_a_question_that_was_never_answered_says_nothing() -> None:
    agreement = agreement_of([Compared.within("Varn", [None, None])])
    assert (agreement.items, agreement.overall, agreement.fields) == (0, 0, {})


def test_a_field_that_an_answer_leaves_out_deviates() -> None:
    agreement = agreement_of([Compared.within("Varn", [{"kind": "place", "quote": "x"}, {"kind": "place"}])])
    assert agreement.fields == {"kind": 1, "quote": 0}


def test_only_fields_that_both_versions_have_are_compared() -> None:
    one, other = {"kind": "place", "quote": "x"}, {"kind": "place", "reason": "y"}
    agreement = agreement_of([Compared.between("Varn", [one, one], [other, other])])
    assert agreement.fields == {"kind": 1}
    assert agreement.left_out == ("quote", "reason")


def test_fields_can_be_chosen() -> None:
    answers = [{"kind": "place", "note": "a"}, {"kind": "place", "note": "b"}]
    assert agreement_of([Compared.within("Varn", answers)], ["kind"]).overall == 1
    assert agreement_of([Compared.within("Varn", answers)]).overall == 0.5


def test_long_lists_of_which_most_items_are_equal_are_compared_at_once() -> None:
    """Each item with each took minutes."""
    names = [{"name": f"Varn {number}", "type": "Droid"} for number in range(10_000)]
    other = [*reversed(names[1:]), {"name": "Varn", "type": "Droid"}]
    assert agreement_of_values(names, other) == pytest.approx(9_999.5 / 10_000)
