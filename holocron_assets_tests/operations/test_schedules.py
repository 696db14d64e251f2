"""The file of schedules: what it may say."""

from pathlib import Path

import pytest

from holocron_assets.crawl.sources.files import SourceError
from holocron_assets.crawl.sources.settings import CronTimes
from holocron_assets.operations.schedules import Schedules, read_schedules
from holocron_assets.settings import PROJECT_FOLDER


def read(file: Path) -> Schedules:
    for place in ("sources/a", "sources/b", "groups/By-Night", "groups/day", "groups/night"):
        known = file.parent / f"{place}.yaml"
        known.parent.mkdir(exist_ok=True)
        known.touch()
    return read_schedules(file, sources=file.parent / "sources", groups=file.parent / "groups")


def test_the_shipped_file_says_what_counts_without_it(tmp_path: Path) -> None:
    shipped = PROJECT_FOLDER / "data"
    file = shipped / "schedules.yaml"
    said = read_schedules(file, sources=shipped / "sources", groups=shipped / "groups")
    assert said == Schedules()
    assert read(tmp_path / "none.yaml") == Schedules()


def test_a_file_behind_links_that_lead_to_themselves_is_named(tmp_path: Path) -> None:
    file = tmp_path / "schedules.yaml"
    file.symlink_to(file)
    with pytest.raises(SourceError, match=r"schedules\.yaml: cannot be read"):
        read(file)


def test_what_is_left_out_is_as_it_is_by_default(tmp_path: Path) -> None:
    file = tmp_path / "schedules.yaml"
    file.write_text("compaction: {cron: '0 2 * * *', timezone: Europe/Berlin}\n", encoding="utf-8")
    said = read(file)
    assert (said.compaction, said.upkeep) == (
        CronTimes(cron="0 2 * * *", timezone="Europe/Berlin"),
        Schedules().upkeep,
    )


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
            r"line 3, key 'groups\[1\].group': no group is called 'nite'; there are By-Night, day, night",
        ),
        (
            "groups:\n  - {group: By-Night, cron: '0 2 * * *'}",
            r"line 2, key 'groups\[0\].group': 'By-Night' must start with a small letter .* of this group",
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
