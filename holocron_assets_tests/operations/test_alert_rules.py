"""What the rules find wrong, and what not; and how alerts begin and end, each with one notice."""

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from crawl_rows import wiki_source
from receiver import SECRET_ENV, SECRET_VALUE, Receiver, webhooks_yaml

from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.notifications.alert_rules import (
    AlertRules,
    Finding,
    findings,
    read_alert_rules,
)
from holocron_assets.operations.notifications.alerts import alert_notices, firing, update_alerts
from holocron_assets.operations.notifications.blind_rules import NoSnapshot, blind_findings
from holocron_assets.operations.notifications.delivering import deliver
from holocron_assets.operations.notifications.notifications import open_book
from holocron_assets.operations.notifications.webhooks import read_webhooks
from holocron_assets.operations.state.status import Alert, HeldBack, Host, Models, SourceSetting, Status
from holocron_assets.operations.state.status_rows import Queue, Stage
from holocron_assets.settings import PROJECT_FOLDER

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def queue(stage: str = "pages", **said: Any) -> Queue:
    """A queue in which all is well: work came just now, and some was done a minute ago."""
    usual: dict[str, Any] = {
        "stage": stage,
        "source": "wiki",
        "interrogation": None,
        "depth": 100,
        "eta_minutes": None,
        "oldest_at": NOW - timedelta(minutes=5),
        "oldest_minutes": 5.0,
        "in_last_hour": 0,
        "out_last_hour": 100,
        "failed_last_hour": 0,
        "dead_last_hour": 0,
        "last_done_at": NOW - timedelta(minutes=1),
    }
    return Queue(**{**usual, **said})


def stuck(stage: str = "pages", **said: Any) -> Queue:
    """A queue whose work waits for two hours, with nothing done for as long."""
    late = NOW - 2 * HOUR
    return queue(
        stage,
        **{"oldest_at": late, "oldest_minutes": 120.0, "last_done_at": late, "out_last_hour": 0, **said},
    )


def _stage(one: Queue, *, due_later: bool) -> Stage:
    """The stage of a queue: its work may be done now, or is due later."""
    nothing: dict[str, Any] = {field.name: 0 for field in fields(Stage)}
    place = {"stage": one.stage, "source": one.source, "interrogation": one.interrogation}
    work = {"waiting": one.depth} if due_later else {"pending": one.depth}
    return Stage(**{**nothing, **place, **work, "oldest_at": one.oldest_at, "next_due_at": None})


def status(*queues: Queue, enabled: bool = True, held: str | None = None, due_later: bool = False) -> Status:
    stages = tuple(_stage(one, due_later=due_later) for one in queues)
    kind = "all" if held == "all" else "source"
    hold = HeldBack(kind, None if held == "all" else held, "pause", "me", "night", NOW, "holocron resume")
    empty: dict[str, Any] = {field.name: () for field in fields(Status)}
    nothing = dict.fromkeys((field.name for field in fields(Models)), None)
    return Status(
        **{
            **empty,
            "at": NOW,
            "models": Models(**nothing),  # type: ignore[arg-type]
            "sources": (SourceSetting("wiki", enabled, "mediawiki_api", "https://wiki"),),
            "stages": stages,
            "queues": queues,
            "paused": (hold,) if held else (),
        }
    )


def found(
    seen: Status,
    rules: AlertRules | None = None,
    *,
    models_are_asked: bool = True,
    awake_since: datetime | None = None,
) -> list[tuple[str, str]]:
    some = findings(seen, rules or AlertRules(), models_are_asked=models_are_asked, awake_since=awake_since)
    return [(one.rule, one.subject) for one in some]


def test_where_all_is_well_nothing_is_found() -> None:
    assert found(status(queue(), queue("interrogations", interrogation="kinds"), queue("review"))) == []
    assert found(status()) == []


@pytest.mark.parametrize(
    ("done", "failed", "dead", "is_failing"),
    [(90, 10, 0, False), (89, 10, 1, True), (0, 19, 0, False), (0, 20, 0, True), (80, 0, 4, False)],
)
def test_failures_count_by_their_share_once_there_are_enough_tries(
    done: int, failed: int, dead: int, *, is_failing: bool
) -> None:
    seen = status(queue(out_last_hour=done, failed_last_hour=failed, dead_last_hour=dead))
    assert (("failures", "pages of wiki") in found(seen)) is is_failing


def test_a_full_disk_is_found_though_all_that_waits_for_it_is_held_back() -> None:
    full = replace(status(stuck(), held="all").paused[0], author="this machine", reason="0.2 GB are free")
    seen = replace(status(stuck()), paused=(full,))
    assert found(seen) == [("room", "everything")]
    assert found(seen, AlertRules(room=None)) == []


def test_what_was_given_up_counts_over_all_stages() -> None:
    assert found(status(queue(dead_last_hour=3), queue("page_types", dead_last_hour=1))) == []
    assert found(status(queue(dead_last_hour=3), queue("page_types", dead_last_hour=2))) == [
        ("exhausted", "everything")
    ]


def test_what_is_pending_and_how_old_it_is() -> None:
    assert found(status(queue(depth=1_000_000))) == []
    assert found(status(queue(depth=1_000_001))) == [("pending", "pages of wiki")]
    assert found(status(queue(oldest_minutes=10_081.0))) == [("oldest", "pages of wiki")]
    assert found(status(queue("review", oldest_minutes=99_999.0))) == []


@pytest.mark.parametrize(
    ("treatment", "progress"),
    [("quiet hours", []), ("day's limit reached", []), ("left alone", ["no_progress"])],
)
def test_a_source_that_rests_as_its_file_says_makes_its_progress_later(
    treatment: str, progress: list[str]
) -> None:
    host = Host("wiki", "wiki.example", treatment, NOW + HOUR, "02:00 to 06:00", 1.0, 9)
    for stage in ("pages", "files"):
        seen = replace(status(stuck(stage)), hosts=(host,))
        assert [rule for rule, _ in found(seen)] == progress
    assert found(replace(status(stuck(source="other")), hosts=(host,))) == [("no_progress", "pages of other")]


@pytest.mark.parametrize(
    ("rest", "progress"),
    [
        ({"quiet_hours": {"start": "02:00", "end": "11:40"}}, []),
        ({"quiet_hours": {"start": "02:00", "end": "10:40"}}, ["no_progress"]),
        ({"requests_per_day": 9, "timezone": "Asia/Kolkata"}, ["no_progress"]),
        ({"requests_per_day": 9, "timezone": "Pacific/Auckland"}, ["no_progress"]),
        ({"requests_per_day": 9, "timezone": "Pacific/Fiji"}, []),
    ],
)
def test_a_source_whose_rest_is_over_has_an_hour_for_its_first_page(
    rest: dict[str, Any], progress: list[str]
) -> None:
    """It is noon in Greenwich. A day began an hour ago in Auckland, and begins now on Fiji."""
    source = wiki_source(politeness={"contact": "me@example.org", **rest})
    seen = findings(status(stuck()), AlertRules(), models_are_asked=True, sources=[source])
    assert [one.rule for one in seen] == progress


def test_no_progress_is_work_that_waits_while_none_is_done() -> None:
    assert found(status(stuck())) == [("no_progress", "pages of wiki")]
    assert found(status(stuck(last_done_at=None))) == [("no_progress", "pages of wiki")]
    assert found(status(stuck(last_done_at=NOW - timedelta(minutes=59)))) == []
    assert found(status(stuck(oldest_at=NOW - timedelta(minutes=59)))) == [], "it came just now"
    assert found(status(stuck(), due_later=True)) == [], "it failed, and is due later"
    assert found(status(stuck(out_last_hour=None))) == [], "nobody knows when such work is done"


def test_what_waited_while_the_machine_slept_is_not_late_until_the_minutes_passed_since_it_woke() -> None:
    late = [("no_progress", "pages of wiki")]
    for minutes, fires in ((0, []), (59, []), (60, late)):
        assert found(status(stuck()), awake_since=NOW - timedelta(minutes=minutes)) == fires
    alert = Alert("no_progress", "pages of wiki", "100 of pages of wiki wait", NOW - 9 * HOUR)
    fired_before = replace(status(stuck()), alerts=(alert,))
    assert found(fired_before, awake_since=NOW) == late, "it neither ends nor begins again"


@pytest.mark.parametrize("held", ["all", "wiki"])
def test_what_a_person_holds_back_is_neither_late_nor_stuck(held: str) -> None:
    assert found(status(stuck(oldest_minutes=99_999.0, depth=10**9), held=held)) == []
    assert found(status(stuck(), held="another")) == [("no_progress", "pages of wiki")]


def test_a_source_that_is_off_and_models_that_are_not_asked_are_not_waited_for() -> None:
    assert found(status(stuck(), enabled=False)) == []
    asks = stuck("interrogations", interrogation="kinds")
    assert found(status(asks)) == [("no_progress", "interrogations of wiki")]
    assert found(status(asks), models_are_asked=False) == []


def test_interrogations_take_turns_and_wait_for_each_other() -> None:
    waits = stuck("interrogations", interrogation="late")
    goes_on = queue("interrogations", interrogation="soon")
    assert found(status(waits, goes_on)) == []


def test_a_rule_that_is_null_finds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text("failures: null\nexhausted: null\npending: null\noldest: null\nno_progress: null\n")
    worst = stuck(depth=10**9, oldest_minutes=10.0**6, failed_last_hour=99, dead_last_hour=99)
    assert len(found(status(worst))) == 5
    assert found(status(worst), read_alert_rules(file)) == []


@pytest.mark.parametrize("number", [".inf", "99999999999", ".nan"])
@pytest.mark.parametrize("said", ["no_progress: {minutes: NUMBER}", "resolved_after_minutes: NUMBER"])
def test_a_time_beyond_what_can_be_counted_is_refused(tmp_path: Path, said: str, number: str) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text(said.replace("NUMBER", number))
    with pytest.raises(SettingsError, match="minutes"):
        read_alert_rules(file)


@pytest.mark.parametrize(
    ("hours", "message"),
    [
        (35.9, None),
        (36.1, "the newest backup in /var/backups/holocron is 36 hours old"),
        (None, "there is no finished backup of this lake in /var/backups/holocron"),
    ],
)
def test_a_backup_that_is_too_old_or_not_there_is_found_where_one_is_wanted(
    hours: float | None, message: str | None
) -> None:
    rules = AlertRules.model_validate({"backups": {"folder": "/var/backups/holocron"}})
    newest = None if hours is None else NOW - hours * HOUR
    some = blind_findings(rules, now=NOW, newest_backup=newest)
    assert [one.message for one in some] == ([message] if message else [])
    assert blind_findings(AlertRules(), now=NOW) == [], "nobody makes any"


@pytest.mark.parametrize(
    ("no_snapshot", "message"),
    [
        (None, None),
        (NoSnapshot(NOW - 0.9 * HOUR), None),
        (NoSnapshot(NOW - 1.1 * HOUR), "no snapshot of the status has come to an end for 66 minutes"),
        (NoSnapshot(NOW, "OSError: gone"), "the status cannot be read: OSError: gone"),
    ],
)
def test_snapshots_that_fail_or_do_not_end_raise_an_alert(
    no_snapshot: NoSnapshot | None, message: str | None
) -> None:
    some = blind_findings(AlertRules(), now=NOW, missing=no_snapshot)
    assert [(one.rule, one.message) for one in some] == ([("no_look", message)] if message else [])
    assert blind_findings(AlertRules(no_look=None), now=NOW, missing=no_snapshot) == []


def test_the_file_that_is_shipped_says_what_the_defaults_say(tmp_path: Path) -> None:
    assert read_alert_rules(PROJECT_FOLDER / "data" / "alerts.yaml") == read_alert_rules(tmp_path / "none")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("failures: {percent: 0}", "failures.percent"),
        ("exhausted: {items: many}", "exhausted.items"),
        ("oldest: {hours: 3}", "oldest.hours"),
        ("backups: {folder: backups}", "backups.folder: .*a whole path"),
        ("backups: {hours: 36}", "backups.folder"),
        ("no_progres: {minutes: 3}", "no_progres"),
        ("room: {minutes: 5}", "room.minutes: is no known key; none is allowed here$"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(tmp_path: Path, said: str, why: str) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text(said)
    with pytest.raises(SettingsError, match=why):
        read_alert_rules(file)


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv(SECRET_ENV, SECRET_VALUE)
    with Receiver() as one:
        webhooks_yaml(tmp_path / "webhooks.yaml", team=one.url)
        yield one


FAILING = Finding("failures", "pages of wiki", 50.0, 10.0, "half of it fails")


def tick(tmp_path: Path, *found_wrong: Finding) -> None:
    """What one tick of both sensors does."""
    lake, webhooks = Lake(tmp_path / "data"), read_webhooks(tmp_path / "webhooks.yaml")
    with open_book(lake, patience_seconds=0) as book:
        rows = update_alerts(lake, found_wrong, resolved_after_minutes=10)
        book.note(alert_notices(rows), webhooks)
        deliver(book, webhooks)


def test_an_alert_is_sent_once_when_it_begins_and_once_when_it_is_over(
    tmp_path: Path, receiver: Receiver
) -> None:
    with time_machine.travel(utc_now(), tick=False) as clock:
        for is_wrong in (True, True, False, True, False, False):  # a minute apart
            tick(tmp_path, *([replace(FAILING, value=60.0)] if is_wrong else []))
            clock.shift(60)
        (began,) = receiver.received
        assert began.body["type"] == "alert.firing"
        assert began.body["data"]["message"] == "half of it fails"
        clock.shift(timedelta(minutes=8))
        tick(tmp_path)
        assert len(receiver.received) == 2
        over = receiver.received[-1].body
        assert over["type"] == "alert.resolved"
        assert over["data"]["fired_at"] == began.body["data"]["fired_at"]
        assert firing(Lake(tmp_path / "data")) == []
        clock.shift(60)
        tick(tmp_path, FAILING)  # it begins anew
        tick(tmp_path, FAILING)
    assert [one.body["type"] for one in receiver.received][2:] == ["alert.firing"]
    assert len(set(receiver.ids)) == 3


def test_two_subjects_are_two_alerts(tmp_path: Path, receiver: Receiver) -> None:
    tick(tmp_path, FAILING, replace(FAILING, subject="page_types"))
    assert len(receiver.received) == 2
    assert len(firing(Lake(tmp_path / "data"))) == 2


def test_a_notice_that_a_kill_kept_from_being_noted_is_sent_once_the_next_time(
    tmp_path: Path, receiver: Receiver
) -> None:
    update_alerts(Lake(tmp_path / "data"), [FAILING], resolved_after_minutes=10)  # and it is killed
    tick(tmp_path, FAILING)
    tick(tmp_path, FAILING)
    assert len(receiver.received) == 1


def test_an_alert_does_not_hang_when_the_clock_is_set_back(tmp_path: Path, receiver: Receiver) -> None:
    with time_machine.travel(utc_now(), tick=False) as clock:
        tick(tmp_path, FAILING)
        tick(tmp_path)
        clock.shift(-timedelta(days=1))
        tick(tmp_path)
        clock.shift(timedelta(minutes=11))
        tick(tmp_path)
    assert [one.body["type"] for one in receiver.received] == ["alert.firing", "alert.resolved"]
