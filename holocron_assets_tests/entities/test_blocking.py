"""Which names are compared at all."""

from collections.abc import Sequence
from itertools import combinations
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.entities.identity.blocking import REACH, Places, Wanted, neighbours


def all_wanted(number: int) -> Wanted:
    return Wanted(np.ones(number, np.bool_), lambda one, _: np.ones(len(one), np.bool_))


def found(blocks: Sequence[str | None], order: Sequence[str], wanted: Wanted) -> list[tuple[int, int]]:
    one, other = neighbours(blocks, order, wanted)
    return sorted(zip(one.tolist(), other.tolist(), strict=True))


BLOCKS = st.lists(st.one_of(st.none(), st.sampled_from("abc")), max_size=REACH + 1)


@settings(deadline=None)
@given(BLOCKS)
def test_of_small_blocks_each_is_compared_with_each_once(blocks: list[str | None]) -> None:
    pairs = [
        (one, other)
        for one, other in combinations(range(len(blocks)), 2)
        if blocks[one] is not None and blocks[one] == blocks[other]
    ]
    assert found(blocks, [""] * len(blocks), all_wanted(len(blocks))) == pairs


@settings(deadline=None)
@given(BLOCKS, st.data())
def test_what_nobody_asks_about_is_not_found(blocks: list[str | None], data: st.DataObject) -> None:
    asked = np.array(data.draw(st.lists(st.booleans(), min_size=len(blocks), max_size=len(blocks))), np.bool_)

    def pairs(one: Places, other: Places) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        wanted: np.ndarray[tuple[int], np.dtype[np.bool_]] = asked[one] | asked[other]
        return wanted

    whole = found(blocks, [""] * len(blocks), all_wanted(len(blocks)))
    expected = [(one, other) for one, other in whole if asked[one] or asked[other]]
    assert found(blocks, [""] * len(blocks), Wanted(asked, pairs)) == expected


def test_of_a_large_block_those_are_compared_that_stand_next_in_its_order() -> None:
    number = REACH * 3
    order = [f"{place * 7 % number:04}" for place in range(number)]
    for one, other in found(["a"] * number, order, all_wanted(number)):
        assert abs(int(order[one]) - int(order[other])) <= REACH


def test_nothing_at_all_is_no_pair() -> None:
    assert found([], [], all_wanted(0)) == []
    assert found([None, None], ["", ""], all_wanted(2)) == []


@pytest.mark.full
def test_one_block_of_two_hundred_thousand_is_compared_in_linear_time() -> None:
    number = 200_000
    started = process_time()
    one, _ = neighbours(["a"] * number, [""] * number, all_wanted(number))
    assert len(one) < REACH * number
    assert process_time() - started < 20
