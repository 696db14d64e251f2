"""The block `changes` of a source file: what it may say, and how errors are named."""

from pathlib import Path

import pytest
from dagster._utils.schedules import is_valid_cron_schedule
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.sources.files import SourceError, load_source
from holocron_assets.crawl.sources.settings import Changes, Recheck
from holocron_assets.crawl.sources.source import Source

WIKI = """name: wiki
enabled: true
kind: mediawiki_api
address: https://wiki.example.org/api.php
seeds: {all_pages: true}
politeness: {contact: someone@example.org}
"""


def wiki_file(folder: Path, changes: str) -> Source:
    file = folder / "wiki.yaml"
    file.write_text(WIKI + changes)
    return load_source(file)


def test_without_the_block_a_wiki_is_asked_every_five_minutes_and_never_checked(tmp_path: Path) -> None:
    assert wiki_file(tmp_path, "").changes == Changes(every_minutes=5, recheck=None)


def test_the_block_says_how_often_to_read_changes_and_when_to_check(tmp_path: Path) -> None:
    said = "changes: {every_minutes: 30, recheck: {cron: '0 3 * * 0', timezone: Europe/Berlin}}\n"
    wanted = Changes(every_minutes=30, recheck=Recheck(cron="0 3 * * 0", timezone="Europe/Berlin"))
    assert wiki_file(tmp_path, said).changes == wanted


@pytest.mark.parametrize(
    ("recheck", "key", "problem"),
    [
        ("{cron: '0 3 * *'}", "cron", "five fields"),
        ("{cron: '60 3 * * 0'}", "cron", "'60 3 * * 0' is none: Bad minute"),
        ("{cron: '0 3 * * someday'}", "cron", "'someday' in"),
        ("{cron: '0 5-3 * * 0'}", "cron", "is none: Bad hour"),
        ("{cron: '0 3 30 2 *'}", "cron", "is none: Bad day-of-month"),
        ("{cron: '@weekly'}", "cron", "five fields"),
        ("{cron: '0 3 * * 5L'}", "cron", "'l' in '0 3 * * 5L' is no month or day"),
        ("{cron: '0 3 LW * *'}", "cron", "'lw' in"),
        ("{cron: '0 3 * * 0', timezone: Europe/Atlantis}", "timezone", "name of a time zone"),
        ("{timezone: UTC}", "cron", "is missing"),
        ("{cron: '0 3 * * 0', zone: UTC}", "zone", "did you mean 'timezone'"),
    ],
)
def test_a_schedule_that_cannot_be_is_named_with_line_and_key(
    tmp_path: Path, recheck: str, key: str, problem: str
) -> None:
    with pytest.raises(SourceError) as caught:
        wiki_file(tmp_path, f"changes:\n  recheck: {recheck}\n")
    message = str(caught.value)
    assert f"wiki.yaml, line 8, key 'changes.recheck.{key}'" in message
    assert problem in message


@pytest.mark.parametrize("minutes", ["0", "1441", "5.5", "often"])
def test_readings_are_a_minute_to_a_day_apart(tmp_path: Path, minutes: str) -> None:
    with pytest.raises(SourceError, match=r"changes\.every_minutes"):
        wiki_file(tmp_path, f"changes: {{every_minutes: {minutes}}}\n")


def test_a_dump_has_no_changes_to_read(tmp_path: Path) -> None:
    file = tmp_path / "dump.yaml"
    file.write_text(
        "name: dump\nenabled: true\nkind: mediawiki_dump\naddress: a.xml\nchanges: {every_minutes: 5}\n"
    )
    with pytest.raises(SourceError, match="line 5, key 'changes': is for wikis"):
        load_source(file)


_ITEMS = st.one_of(
    st.just("*"),
    st.integers(0, 70).map(str),
    st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda ends: f"{ends[0]}-{ends[1]}"),
    st.sampled_from(
        ["mon", "jan", "SUN", "dec-jan", "mon-fri", "L", "5L", "LW", "?", "1#2", "", "1/2", "*/0"]
    ),
)
_FIELDS = st.lists(_ITEMS, min_size=1, max_size=3).map(",".join)
_STEPPED = st.tuples(_FIELDS, st.sampled_from(["", "/2", "/90"])).map("".join)


@given(st.lists(_STEPPED, min_size=4, max_size=6).map(" ".join))
def test_whatever_is_taken_for_a_schedule_dagster_can_keep(cron: str) -> None:
    try:
        Recheck(cron=cron)
    except ValueError:
        return
    assert is_valid_cron_schedule(cron)
