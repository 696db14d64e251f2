"""Whether a request may leave now, and what is in the way."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.politeness.breaker import Breaker
from holocron_assets.crawl.politeness.days import Day
from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.pace import Pace
from holocron_assets.crawl.politeness.rules import Permit, permit
from holocron_assets.crawl.sources.settings import Politeness

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()


def asked(state: HostState | None = None, now: float = NOON, **politeness: Any) -> Permit:
    return permit(state or HostState(), Politeness.model_validate(politeness), now)


def in_the_way(found: Permit) -> tuple[str, float]:
    assert found.obstacle
    return found.obstacle.hindrance, found.obstacle.wait_seconds


def test_an_unknown_host_may_be_asked_and_the_request_is_counted() -> None:
    found = asked()
    assert found.obstacle is None
    assert not found.one_at_a_time
    assert found.state_once_sent.day.requests == 1
    assert found.state_once_sent.pace.spaced_until == NOON + 1
    assert found.state.day.requests == 0


def test_the_rate_is_in_the_way_of_a_second_request() -> None:
    after = asked().state_once_sent
    assert in_the_way(asked(after, NOON + 0.25)) == ("rate", 0.75)
    assert asked(after, NOON + 1).obstacle is None


def test_a_slowed_host_is_asked_at_its_share_of_the_rate() -> None:
    after = asked(HostState(pace=Pace(0.25))).state_once_sent
    assert in_the_way(asked(after)) == ("rate", 4)


@pytest.mark.parametrize(("is_open", "hindrance"), [(False, "held"), (True, "breaker_open")])
def test_a_hold_says_why(is_open: bool, hindrance: str) -> None:  # noqa: FBT001 - a column of the table
    state = HostState(not_before=NOON + 60, reason="it is down", breaker=Breaker(is_open=is_open, openings=1))
    found = asked(state)
    assert in_the_way(found) == (hindrance, 60)
    assert found.obstacle
    assert found.obstacle.reason == "it is being left alone (it is down)"


def test_a_half_open_breaker_lets_one_request_through_at_a_time() -> None:
    found = asked(HostState(not_before=NOON - 1, breaker=Breaker(is_open=True, openings=1)))
    assert (found.obstacle, found.one_at_a_time) == (None, True)


def test_quiet_hours_are_in_the_way() -> None:
    hours = {"start": "08:00", "end": "18:00"}
    found = asked(quiet_hours=hours, timezone="Europe/Berlin")
    assert in_the_way(found) == ("quiet_hours", 5 * 3600)


def test_the_days_limit_is_in_the_way() -> None:
    state = HostState(day=Day(NOON + 3600, 100))
    assert in_the_way(asked(state, requests_per_day=100)) == ("daily_limit", 3600)
    assert asked(state, requests_per_day=101).obstacle is None


def test_of_several_obstacles_the_longest_is_given() -> None:
    state = HostState(not_before=NOON + 60, day=Day(NOON + 3600, 100))
    assert in_the_way(asked(state, requests_per_day=100)) == ("daily_limit", 3600)


@given(moved=st.floats(1, 400 * 86_400))
def test_a_clock_that_was_set_back_changes_neither_rate_nor_limit(moved: float) -> None:
    state = replace(asked().state_once_sent, day=Day(NOON + 3600, 5))
    after = asked(state, NOON - moved)
    assert in_the_way(after)[1] == pytest.approx(1, abs=1e-3)
    limited = asked(state, NOON - moved, requests_per_day=5)
    assert in_the_way(limited)[0] == "daily_limit"
    assert in_the_way(limited)[1] == pytest.approx(3600, abs=1e-3)
