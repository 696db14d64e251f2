"""What a wiki sees of our politeness over hours and days, and what we write down of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from fake_crawl import Crawl, crawling
from fake_mediawiki import CAPTCHA, Behaviour, page

from holocron_assets.crawl.errors import HostBusy, WikiUnavailable
from holocron_assets.crawl.http import polite_requests

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
Clock = time_machine.Traveller


@contextmanager
def crawl_at(moment: datetime, folder: Path, **politeness: Any) -> Iterator[tuple[Crawl, Clock]]:
    """A crawl whose clock stands at a moment, and the clock."""
    with crawling(folder, **politeness) as crawl, time_machine.travel(moment) as clock:
        yield crawl, clock


@pytest.fixture(autouse=True)
def no_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits between tries have tests of their own."""
    monkeypatch.setattr(polite_requests, "_MOST_TRIES", 1)


def due_after(crawl: Crawl, error: type[WikiUnavailable] = WikiUnavailable) -> datetime:
    with pytest.raises(error) as caught:
        crawl.fetch("A")
    return caught.value.due_at


def columns(crawl: Crawl, *names: str) -> list[tuple[Any, ...]]:
    crawl.outcomes()  # the rows fit the table
    return [tuple(attempt[name] for name in names) for attempt in crawl.attempts]


@pytest.mark.fault(4, "a captcha page with status 403")
def test_a_captcha_is_met_once_and_reported_in_plain_words(tmp_path: Path) -> None:
    with crawl_at(NOON, tmp_path) as (crawl, clock):
        crawl.wiki.will(page(403, CAPTCHA))
        with pytest.raises(WikiUnavailable, match=r"left alone for .* s: it wants proof that we are human"):
            crawl.fetch("A")
        for minutes in (1, 30, 59):
            clock.move_to(NOON + timedelta(minutes=minutes))
            due = due_after(crawl, HostBusy)
        assert len(crawl.wiki.requests) == 1
        assert columns(crawl, "outcome", "breaker", "status", "pace")[:2] == [
            ("captcha", "open", 403, 0.5),
            ("breaker_open", "open", None, 0.5),
        ]
        clock.move_to(due + timedelta(seconds=1))
        crawl.fetch("A")
        assert crawl.attempts[-1]["decision"] == "asked again, as a probe was answered well"


@pytest.mark.fault(4, "a wiki that is down for a day")
def test_a_wiki_that_is_down_for_a_day_is_asked_a_few_times_in_it(tmp_path: Path) -> None:
    with crawl_at(NOON, tmp_path) as (crawl, clock):
        crawl.wiki.will(*[page(500, "broken")] * 1000)
        due = NOON
        while due < NOON + timedelta(days=1):
            clock.move_to(due + timedelta(seconds=1))
            due = due_after(crawl)
        assert 10 <= len(crawl.wiki.requests) <= 13
        breakers = [breaker for (breaker,) in columns(crawl, "breaker")]
        assert breakers == ["closed"] * 4 + ["open"] * (len(breakers) - 4)


@pytest.mark.fault(4, "a wiki under strain")
@pytest.mark.parametrize(
    "strain", [page(429, "", Retry_After="0"), page(503, ""), page(504, "")], ids=["429", "503", "504"]
)
def test_strain_slows_down_and_good_answers_speed_up_again_and_the_rows_record_it(
    tmp_path: Path, strain: Behaviour
) -> None:
    with crawl_at(NOON, tmp_path) as (crawl, clock):
        crawl.wiki.will(strain)
        clock.move_to(due_after(crawl))
        for _ in range(10):
            clock.shift(10)
            crawl.fetch("A")
        recorded = [row for row in columns(crawl, "pace", "decision") if row[1]]
        assert recorded[0][0] == 0.5
        assert "asked less, at 50.0% of its rate" in recorded[0][1]
        assert recorded[1] == (0.625, "asked more, at 62.5% of its rate")


@pytest.mark.fault(4, "a wiki that answers slowly")
def test_a_wiki_that_answers_slowly_is_asked_less_then_left_alone(tmp_path: Path) -> None:
    with crawl_at(NOON, tmp_path, slow_seconds=0.05) as (crawl, _):
        crawl.wiki.delay_seconds = 0.06
        for _ in range(6):
            crawl.fetch("A")
        with pytest.raises(HostBusy, match=r"its answers take 0.1 s, however little it is asked"):
            crawl.fetch("A")
        assert [pace for (pace,) in columns(crawl, "pace")][:5] == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32]
        assert crawl.outcomes() == ["ok"] * 6 + ["breaker_open"]


def test_in_quiet_hours_nothing_is_sent(tmp_path: Path) -> None:
    hours = {"start": "08:00", "end": "18:00"}
    with crawl_at(NOON, tmp_path, quiet_hours=hours, timezone="Europe/Berlin") as (crawl, clock):
        assert due_after(crawl, HostBusy) == datetime(2026, 11, 21, 17, tzinfo=UTC)
        assert (crawl.wiki.requests, crawl.outcomes()) == ([], ["quiet_hours"])
        assert crawl.attempts[0]["error"] == "these are its quiet hours (Europe/Berlin)"
        clock.move_to(datetime(2026, 11, 21, 17, tzinfo=UTC))
        crawl.fetch("A")


def test_a_days_limit_counts_for_all_runs_and_ends_with_the_day(tmp_path: Path) -> None:
    with crawl_at(NOON, tmp_path, requests_per_day=3) as (crawl, clock):
        for _ in range(3):
            crawl.restart()
            crawl.fetch("A")
        midnight = datetime(2026, 11, 22, tzinfo=UTC)
        assert due_after(crawl, HostBusy) == midnight
        assert crawl.outcomes()[-1] == "daily_limit"
        assert "the 3 requests that it may be sent in a day were sent" in crawl.attempts[-1]["error"]
        clock.move_to(midnight)
        crawl.fetch("A")
        assert len(crawl.wiki.requests) == 4


def test_a_days_limit_is_neither_lost_nor_kept_for_ever_when_the_clock_is_moved(tmp_path: Path) -> None:
    with crawl_at(NOON + timedelta(days=3650), tmp_path, requests_per_day=1) as (crawl, clock):
        crawl.fetch("A")
        clock.move_to(NOON)
        assert due_after(crawl, HostBusy) == pytest.approx(
            NOON + timedelta(hours=12), abs=timedelta(seconds=5)
        )


def test_a_short_hold_that_another_process_caused_is_recorded_in_the_row(tmp_path: Path) -> None:
    with crawling(tmp_path) as crawl:
        crawl.wiki.will(page(503, ""))
        due_after(crawl)
        crawl.fetch("A")
        (held,) = columns(crawl, "held_s")[-1]
        assert 0.9 < held < 2
        assert crawl.attempts[-1]["limiter_wait_s"] < 0.5
