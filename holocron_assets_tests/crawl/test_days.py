"""Quiet hours and the day's limit, over midnight, time zones and the days when clocks are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.politeness.days import (
    Day,
    after_request,
    quiet_seconds,
    requests_in,
    seconds_to_next_day,
)
from holocron_assets.crawl.sources.settings import QuietHours

WORKING_HOURS = QuietHours(start="08:00", end="18:00")
NIGHT = QuietHours(start="22:30", end="06:00")
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]


def at(text: str, zone: str = "Europe/Berlin", fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def quiet(hours: QuietHours, text: str, fold: int = 0) -> float:
    """Hours for which it stays quiet in Berlin."""
    return quiet_seconds(hours, "Europe/Berlin", at(text, fold=fold)) / 3600


@pytest.mark.parametrize(
    ("moment", "hours"),
    [
        ("07:59:59", 0),
        ("08:00:00", 10),
        ("12:00:00", 6),
        ("17:59:24", 0.01),
        ("18:00:00", 0),
        ("23:00:00", 0),
    ],
)
def test_quiet_hours_begin_and_end_by_the_clock(moment: str, hours: float) -> None:
    assert quiet(WORKING_HOURS, f"2026-11-21 {moment}") == pytest.approx(hours)


@pytest.mark.parametrize(
    ("moment", "hours"),
    [
        ("22:29:00", 0),
        ("22:30:00", 7.5),
        ("23:59:00", 6 + 1 / 60),
        ("00:00:00", 6),
        ("05:00:00", 1),
        ("06:00:00", 0),
    ],
)
def test_quiet_hours_may_go_over_midnight(moment: str, hours: float) -> None:
    assert quiet(NIGHT, f"2026-11-21 {moment}") == pytest.approx(hours)


def test_quiet_hours_are_those_of_their_time_zone() -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()
    assert quiet_seconds(WORKING_HOURS, "Europe/Berlin", noon) == 4 * 3600
    assert quiet_seconds(WORKING_HOURS, "Asia/Tokyo", noon) == 0


def test_a_night_in_which_the_clock_is_set_forward_is_an_hour_shorter() -> None:
    assert quiet(NIGHT, "2026-03-28 23:00:00") == 6
    assert quiet(NIGHT, "2026-10-24 23:00:00") == 8  # and set back, an hour longer


def test_an_hour_that_comes_twice_is_quiet_twice() -> None:
    hours = QuietHours(start="01:00", end="02:30")
    assert quiet(hours, "2026-10-25 02:15:00") == 0.25
    assert quiet(hours, "2026-10-25 02:45:00") == 0
    assert quiet(hours, "2026-10-25 02:15:00", fold=1) == 0.25


def test_quiet_hours_that_end_in_an_hour_that_is_left_out_end_soon_after() -> None:
    assert quiet(QuietHours(start="01:00", end="02:30"), "2026-03-29 01:30:00") == 1


CLOCK_TIMES = st.times().map(lambda time: f"{time:%H:%M}")


@given(
    start=CLOCK_TIMES,
    end=CLOCK_TIMES,
    zone=st.sampled_from(ZONES),
    moment=st.floats(1_767_225_600, 1_830_000_000),  # 2026 and 2027
)
def test_quiet_hours_end_within_a_day_and_repeated_asking_finds_their_end(
    start: str, end: str, zone: str, moment: float
) -> None:
    if start == end:
        return
    hours = QuietHours(start=start, end=end)
    seconds = quiet_seconds(hours, zone, moment)
    local = f"{datetime.fromtimestamp(moment, ZoneInfo(zone)):%H:%M}"
    assert (seconds > 0) == (start <= local < end if start < end else local >= start or local < end)
    assert 0 <= seconds <= timedelta(hours=26).total_seconds()


def test_without_quiet_hours_it_is_never_quiet() -> None:
    assert quiet_seconds(None, "UTC", 0) == 0


def test_a_day_allows_so_many_requests_and_the_next_day_again_so_many() -> None:
    moment, day = at("2026-11-21 20:00:00"), Day()
    for _ in range(3):
        assert seconds_to_next_day(day, 3, moment) == 0
        day = after_request(day, "Europe/Berlin", moment)
    assert seconds_to_next_day(day, 3, moment) == 4 * 3600
    assert seconds_to_next_day(day, 4, moment) == 0
    assert seconds_to_next_day(day, None, moment) == 0
    tomorrow = at("2026-11-22 00:00:00")
    assert seconds_to_next_day(day, 3, tomorrow) == 0
    assert after_request(day, "Europe/Berlin", tomorrow).requests == 1
    assert (requests_in(day, moment), requests_in(day, tomorrow)) == (3, 0)


@given(zone=st.sampled_from(ZONES), moment=st.floats(1_767_225_600, 1_830_000_000))
def test_a_day_ends_at_its_zones_next_midnight(zone: str, moment: float) -> None:
    day = after_request(Day(), zone, moment)
    assert 0 < day.ends_at - moment <= timedelta(hours=25).total_seconds()
    assert f"{datetime.fromtimestamp(day.ends_at, ZoneInfo(zone)):%H:%M}" == "00:00"
    assert requests_in(day, day.ends_at - 1e-3) == 1


def test_a_day_that_ends_in_years_comes_from_a_wrong_clock_and_is_over() -> None:
    assert seconds_to_next_day(Day(at("2036-01-01 00:00:00"), 99), 3, at("2026-11-21 20:00:00")) == 0
