"""The file of schedules: what it may say, and what daylight saving does."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from dagster._utils.schedules import cron_string_iterator

from holocron_assets.crawl.change_settings import CronTimes
from holocron_assets.crawl.source_files import SourceError
from holocron_assets.operations.schedules import Schedules, clock_changes, next_times, read_schedules
from holocron_assets.settings import PROJECT_FOLDER

NOW = datetime(2026, 9, 1, tzinfo=UTC)


def read(file: Path) -> Schedules:
    for place in ("sources/a", "sources/b", "groups/day", "groups/night"):
        known = file.parent / f"{place}.yaml"
        known.parent.mkdir(exist_ok=True)
        known.touch()
    return read_schedules(file, sources=file.parent / "sources", groups=file.parent / "groups")


def berlin(cron: str) -> CronTimes:
    return CronTimes(cron=cron, timezone="Europe/Berlin")


def test_the_shipped_file_says_what_counts_without_it(tmp_path: Path) -> None:
    shipped = PROJECT_FOLDER / "data"
    file = shipped / "schedules.yaml"
    said = read_schedules(file, sources=shipped / "sources", groups=shipped / "groups")
    assert said == Schedules()
    assert read(tmp_path / "none.yaml") == Schedules()


def test_what_is_left_out_is_as_it_is_by_default(tmp_path: Path) -> None:
    file = tmp_path / "schedules.yaml"
    file.write_text("compaction: {cron: '0 2 * * *', timezone: Europe/Berlin}\n", encoding="utf-8")
    said = read(file)
    assert (said.compaction, said.upkeep) == (berlin("0 2 * * *"), Schedules().upkeep)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("upkeep: {cron: '61 * * * *'}", "line 1, key 'upkeep.cron': must be a cron schedule"),
        ("upkeep: {cron: '* * *'}", "must be a cron schedule of five fields"),
        ("\nupkeep: {cron: '0 2 31 2 *'}", "line 2, key 'upkeep.cron'"),
        ("upkeep: {cron: '0 2 * * *', timezone: Berlin}", "line 1, key 'upkeep.timezone'"),
        ("upkep: {cron: '0 2 * * *'}", "is no known key; did you mean 'upkeep'"),
        ("refresh:\n  - {sorce: a, cron: '0 2 * * *'}", r"line 2, key 'refresh\[0\].sorce'.*'source'"),
        ("refresh:\n  - {source: a}", r"refresh\[0\].cron': is missing"),
        (
            "refresh:\n  - {source: c, cron: '0 2 * * *'}",
            r"line 2, key 'refresh\[0\].source': no source is called 'c'; there are a, b",
        ),
        (
            "groups:\n  - {group: night, cron: '0 2 * * *'}\n  - {group: nite, cron: '0 2 * * *'}",
            r"line 3, key 'groups\[1\].group': no group is called 'nite'; there are day, night",
        ),
        ("groups:\n  - {cron: '0 2 * * *'}", r"line 2, key 'groups\[0\].group': is missing"),
        ("groups:\n  - {group: night, cron: '0 25 * * *'}", r"line 2, key 'groups\[0\].cron'"),
        ("- upkeep", "must be a mapping of keys"),
        ("upkeep: [", "is not valid YAML"),
    ],
)
def test_whatever_is_wrong_is_named_with_file_line_and_key(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "schedules.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=problem) as error:
        read(file)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("cron", ["30 2 * * *", "0 3 * * 0", "0 3 * * *", "0 12 1 * *", "30 2 29 3 *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])
def test_the_next_times_are_those_at_which_dagster_runs(cron: str, zone: str) -> None:
    times = CronTimes(cron=cron, timezone=zone)
    theirs = cron_string_iterator(NOW.timestamp(), cron, zone)
    assert [at.timestamp() for at in next_times(times, NOW, 300)] == [
        next(theirs).timestamp() for _ in range(300)
    ]


def test_a_time_that_a_day_lacks_or_has_twice_is_told() -> None:
    assert list(clock_changes(berlin("30 2 * * *"), NOW)) == [
        "on 2026-10-25 it is 02:30 twice in Europe/Berlin: the second time counts",
        "on 2027-03-28 there is no 02:30 in Europe/Berlin: it comes at 03:00",
    ]
    assert list(clock_changes(berlin("0 3 * * *"), NOW)) == []
    assert list(clock_changes(berlin("*/30 * * * *"), NOW)) == []
    assert list(clock_changes(CronTimes(cron="30 2 * * *"), NOW)) == []
