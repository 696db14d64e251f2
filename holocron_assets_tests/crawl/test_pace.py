"""How fast a host is asked: never more than bursts and rate allow, in no window whatever."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.politeness.pace import (
    SLOWEST,
    Pace,
    after_answer_in,
    after_good_answer,
    after_request,
    after_strain,
    seconds_to_next,
)

NOW = 1_800_000_000.0


def leave(pauses: Sequence[float], rate: float, burst: int, strain_at: frozenset[int]) -> list[float]:
    """Moments at which requests leave, when each is asked for so long after the one before."""
    pace, moment, moments = Pace(), NOW, []
    for number, pause in enumerate(pauses):
        if number in strain_at:
            pace = after_strain(pace, moment)
        moment += pause
        moment += seconds_to_next(pace, rate, burst, moment)
        while wait := seconds_to_next(pace, rate, burst, moment):  # the last bit that a float cannot hold
            moment += max(wait, 1e-6)
        pace = after_request(pace, rate, moment)
        moments.append(moment)
    return moments


@given(
    pauses=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.001, 0.3, 5.0, 100.0]), min_size=2, max_size=40),
    rate=st.sampled_from([0.1, 1.0, 2.5, 100.0]),
    burst=st.integers(1, 20),
    strain_at=st.frozensets(st.integers(0, 40), max_size=8),
)
def test_in_no_window_leave_more_than_burst_and_rate_allow_however_the_pace_changes(
    pauses: list[float], rate: float, burst: int, strain_at: frozenset[int]
) -> None:
    moments = leave(pauses, rate, burst, strain_at)
    for first, last in combinations(range(len(moments)), 2):
        assert last - first + 1 <= burst + rate * (moments[last] - moments[first]) + 1e-4


@given(rate=st.sampled_from([0.1, 1.0, 100.0]), burst=st.integers(1, 20))
def test_requests_that_never_rest_leave_as_fast_as_the_rate_allows(rate: float, burst: int) -> None:
    moments = leave([0.0] * 60, rate, burst, frozenset())
    assert moments[-1] - moments[0] == pytest.approx((60 - burst) / rate, abs=1e-3)


def test_without_bursts_requests_are_evenly_spaced() -> None:
    assert [round(moment - NOW, 4) for moment in leave([0.0] * 4, 2, 1, frozenset())] == [0, 0.5, 1, 1.5]


def test_after_a_rest_a_burst_leaves_at_once_and_never_more_than_one() -> None:
    moments = leave([0, 0, 0, 100, 0, 0, 0], 1, 3, frozenset())
    assert [round(moment - NOW, 3) for moment in moments] == [0, 0, 0, 100, 100, 100, 101]


def test_a_slowed_host_gets_slower_spacing_and_smaller_bursts() -> None:
    quarter = Pace(0.25)
    assert seconds_to_next(after_request(quarter, 1, NOW), 1, 3, NOW) == pytest.approx(4)
    eight_at_once = after_request(after_request(quarter, 1, NOW), 1, NOW)
    assert seconds_to_next(eight_at_once, 1, 8, NOW) == pytest.approx(4)


def test_a_host_that_was_never_slowed_is_not_sped_up() -> None:
    assert after_good_answer(Pace(), NOW) == Pace()


def test_answers_typical_time_follows_the_newest_without_jumping() -> None:
    pace = after_answer_in(Pace(), 2.0)
    assert pace.typical_seconds == 2
    assert after_answer_in(pace, 12.0).typical_seconds == pytest.approx(5)


@given(st.integers(0, 40))
def test_strain_halves_the_pace_down_to_its_floor(times: int) -> None:
    pace = Pace()
    for _ in range(times):
        pace = after_strain(pace, NOW)
    assert pace.factor == max(0.5**times, SLOWEST)
