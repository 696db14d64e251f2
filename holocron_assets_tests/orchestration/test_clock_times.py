"""When schedules come: at the times that Dagster's daemon takes, also where clocks change."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from dagster._utils.schedules import schedule_execution_time_iterator

from holocron_assets.crawl.sources.settings import CronTimes
from holocron_assets.orchestration.internals.clocks import clock_changes, next_times

NOW = datetime(2026, 9, 1, 0, 0, 30, tzinfo=UTC)


def berlin(cron: str) -> CronTimes:
    return CronTimes(cron=cron, timezone="Europe/Berlin")


def as_the_daemon_counts(times: CronTimes) -> Iterator[float]:
    """It begins anew after each tick."""
    start = NOW.timestamp()
    while True:
        coming = next(schedule_execution_time_iterator(start, times.cron, times.timezone)).timestamp()
        yield coming
        start = coming + 1


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Africa/Cairo", "Asia/Kolkata"])
@pytest.mark.parametrize(
    "cron",
    [
        *("30 2 * * *", "0 3 * * 0", "0 12 1 * *", "30 2 29 3 *", "30 2,20 * * *", "15,45 2 * * *"),
        *("30 */6 * * *", "*/20 0-3 * * *"),
    ],
)
def test_the_next_times_are_those_at_which_dagster_runs(cron: str, zone: str) -> None:
    times = CronTimes(cron=cron, timezone=zone)
    assert [at.timestamp() for at in next_times(times, NOW, 300)] == [
        *islice(as_the_daemon_counts(times), 300)
    ]


@pytest.mark.parametrize(
    ("cron", "day", "coming"),
    [
        ("30 2,20 * * *", "2027-10-31", ["02:30+01:00", "20:30+01:00"]),
        ("15,45 2 * * *", "2027-10-31", ["02:15+01:00", "02:45+01:00"]),
        ("15,45 2 * * *", "2027-03-28", ["03:00+02:00"]),
        ("30 1-3 * * *", "2027-03-28", ["01:30+01:00", "03:00+02:00", "03:30+02:00"]),
        ("30 2 * * *", "2027-03-28", ["03:00+02:00"]),
    ],
)
def test_a_time_that_a_day_lacks_or_has_twice_comes_once(cron: str, day: str, coming: list[str]) -> None:
    begin = datetime.fromisoformat(f"{day}T00:00+01:00") - timedelta(hours=2)
    moments = [at.isoformat(timespec="minutes") for at in next_times(berlin(cron), begin, 6)]
    assert [at.removeprefix(f"{day}T") for at in moments if at.startswith(day)] == coming


@pytest.mark.parametrize(
    ("cron", "twice", "lacking", "instead"),
    [
        ("30 2 * * *", "02:30", "02:30", "03:00"),
        ("30 2,20 * * *", "02:30", "02:30", "03:00"),
        ("15,45 2 * * *", "02:15 and 02:45", "02:15 or 02:45", "03:00, once"),
        ("0 2-3 * * *", "02:00", "02:00", "03:00"),
        ("*/5 1-5 * * *", "02:00 to 02:55", "02:00 to 02:55", "03:00, once"),
    ],
)
def test_a_time_that_a_day_lacks_or_has_twice_is_shown(
    cron: str, twice: str, lacking: str, instead: str
) -> None:
    assert list(clock_changes(berlin(cron), NOW)) == [
        f"on 2026-10-25 it is {twice} twice in Europe/Berlin: the second time counts",
        f"on 2027-03-28 there is no {lacking} in Europe/Berlin: it comes at {instead}",
    ]


def test_what_dagster_does_differently_is_shown() -> None:
    assert list(clock_changes(CronTimes(cron="30 0,23 * * *", timezone="Africa/Cairo"), NOW)) == [
        "on 2026-10-29 it is 23:30 twice in Africa/Cairo: the second time counts",
        "on 2027-04-30 there is no 00:30 in Africa/Cairo: it comes at 01:30",
    ]
    assert list(clock_changes(CronTimes(cron="30 23 * * *", timezone="Africa/Cairo"), NOW)) == [
        "on 2026-10-29 it is 23:30 twice in Africa/Cairo: the first time counts",
    ]


@pytest.mark.parametrize("cron", ["0 3 * * *", "30 2 15 * *", "*/30 * * * *", "17 * * * *", "0 3,4 * * 0"])
def test_a_time_that_no_clock_change_affects_is_not_shown(cron: str) -> None:
    assert list(clock_changes(berlin(cron), NOW)) == []
    assert list(clock_changes(CronTimes(cron="30 2 * * *"), NOW)) == []
