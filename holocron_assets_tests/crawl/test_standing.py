"""What `holocron status` says of wikis that are not asked as usual."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from crawl_rows import dump_source, wiki_source

from holocron_assets.crawl.politeness.breaker import Breaker
from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.limits import LONGEST_QUEUE_SECONDS, HostLimits
from holocron_assets.crawl.politeness.pace import Pace
from holocron_assets.crawl.politeness.rules import Decision, permit
from holocron_assets.crawl.sources.settings import Politeness, QuietHours
from holocron_assets.crawl.sources.standing import hosts_not_as_usual, left_alone

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def put(limits: HostLimits, state: HostState) -> None:
    limits.learn(lambda _: Decision("ok", retry=False, wait_seconds=None, state=state))


def standing(folder: Path, state: HostState | None, **politeness: Any) -> list[tuple[Any, ...]]:
    """Treatment, until and why of a wiki in such a state."""
    settings = Politeness(contact="someone@example.org", **politeness)
    source = wiki_source(politeness=settings)
    if state:
        with HostLimits(source.host or "", settings, folder) as limits:
            put(limits, state)
    rows = hosts_not_as_usual([source, dump_source(folder)], folder, NOON)
    assert all(row["source"] == "wiki" and row["host"] == source.host for row in rows)
    return [(row["treatment"], row["until"], row["why"]) for row in rows]


def test_a_wiki_that_is_asked_as_usual_is_not_listed_and_nothing_is_made(tmp_path: Path) -> None:
    assert standing(tmp_path, None) == []
    assert list(tmp_path.iterdir()) == []
    assert standing(tmp_path, HostState()) == []


def test_a_wiki_that_is_left_alone_is_listed_with_the_time_and_the_reason(tmp_path: Path) -> None:
    state = HostState(
        not_before=NOON.timestamp() + 3600,
        reason="it wants proof that we are human",
        breaker=Breaker(is_open=True, openings=1),
    )
    expected = [
        (
            "left alone",
            NOON + timedelta(hours=1),
            "it is being left alone (it wants proof that we are human)",
        )
    ]
    assert standing(tmp_path, state) == expected


def test_a_wiki_that_awaits_its_probe_is_listed(tmp_path: Path) -> None:
    state = HostState(reason="no whole answer comes", breaker=Breaker(is_open=True, openings=1))
    assert standing(tmp_path, state) == [("to be tried with one request", None, "no whole answer comes")]


def test_a_wiki_that_is_asked_less_is_listed(tmp_path: Path) -> None:
    state = HostState(reason="its database lags behind", pace=Pace(0.25))
    assert standing(tmp_path, state) == [("asked less", None, "its database lags behind")]


def test_quiet_hours_and_a_reached_limit_are_listed(tmp_path: Path) -> None:
    (found,) = standing(tmp_path, None, quiet_hours=QuietHours(start="08:00", end="18:00"))
    assert found == ("quiet hours", NOON + timedelta(hours=6), "these are its quiet hours (UTC)")


def test_no_run_is_started_for_a_wiki_that_is_left_alone_and_the_reason_is_given(tmp_path: Path) -> None:
    resting = wiki_source("resting", address="http://127.0.0.1:2/api.php")
    asked_less = wiki_source("asked_less", address="http://127.0.0.1:3/api.php")
    for source, state in (
        (resting, HostState(not_before=NOON.timestamp() + 60, reason="it answers with server errors")),
        (asked_less, HostState(pace=Pace(0.5))),
    ):
        with HostLimits(source.host or "", source.politeness, tmp_path) as limits:
            put(limits, state)
    assert left_alone([resting, asked_less], tmp_path, NOON) == {
        "127.0.0.1:2": "127.0.0.1:2: it is being left alone (it answers with server errors), "
        "until 2026-11-21 12:01:00 UTC"
    }


def test_a_wiki_whose_rate_makes_a_run_wait_too_long_is_listed_until_a_run_can_wait(tmp_path: Path) -> None:
    source = wiki_source()
    why = "it asked for fewer requests, 4 times in a row"
    with HostLimits(source.host or "", source.politeness, tmp_path) as limits:
        limits.space_out(30)
        throttled = HostState(reason=why, pace=Pace(1 / 16))
        put(limits, permit(throttled, limits.politeness, NOON.timestamp()).state_once_sent)
    due_at = NOON + timedelta(seconds=16 * 30)
    assert left_alone([source], tmp_path, NOON) == {
        source.host: f"{source.host}: its rate allows no request ({why}), until 2026-11-21 12:08:00 UTC"
    }
    (row,) = hosts_not_as_usual([source], tmp_path, NOON)
    assert (row["treatment"], row["until"], row["pace"]) == ("asked rarely", due_at, 0.062)
    (row,) = hosts_not_as_usual([source], tmp_path, due_at - timedelta(seconds=LONGEST_QUEUE_SECONDS))
    assert (row["treatment"], row["until"]) == ("asked less", None)
