"""What counts as wrong, and how wrong."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sample_holocron import Holocron
from watched_sample import living_dagster, status_of

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.health import (
    Check,
    dagster_checks,
    health_report,
    lake_checks,
    settings_check,
    worst,
)
from holocron_assets.operations.state.kept_snapshot import Taken
from holocron_assets.operations.state.status import HeldBack, Host, Status
from holocron_assets.operations.state.status_rows import Queue, Stage

LONG_AGO, LATELY = timedelta(hours=2), timedelta(minutes=2)


@pytest.fixture(scope="module")
def nothing_waits(finished_sample: Holocron) -> Status:
    """A real status, of which nothing waits."""
    return replace(status_of(finished_sample), stages=(), queues=())


def waiting(  # noqa: PLR0913 - each is a column
    status: Status,
    stage: str,
    *,
    since: timedelta,
    done: timedelta | None = None,
    source: str = "sample",
    interrogation: str | None = None,
) -> Status:
    """A status in which three more items wait."""
    one = Stage(
        stage=stage, source=source, interrogation=interrogation, pending=3, in_flight=0, waiting=0, review=0,
        dead=0, skipped=0, done=0, oldest_at=status.at - since, next_due_at=None,
    )  # fmt: skip
    queue = Queue(
        stage=stage, source=source, interrogation=interrogation, depth=3, oldest_at=one.oldest_at,
        oldest_minutes=since / timedelta(minutes=1), in_last_hour=0, out_last_hour=0, failed_last_hour=0,
        dead_last_hour=0, last_done_at=None if done is None else status.at - done, eta_minutes=None,
    )  # fmt: skip
    return replace(status, stages=(*status.stages, one), queues=(*status.queues, queue))


def outcome(checks: Sequence[Check], name: str) -> tuple[str, str]:
    return next((check.outcome, check.reason) for check in checks if check.name == name)


def progress(status: Status, awake_since: datetime | None = None) -> tuple[str, str]:
    return outcome(lake_checks(Taken(status, None, 0.1, 0), awake_since), "progress")


def models(status: Status, awake_since: datetime | None = None) -> tuple[str, str]:
    return outcome(lake_checks(Taken(status, None, 0.1, 0), awake_since), "models")


def test_a_full_disk_is_named_and_is_no_lack_of_progress(nothing_waits: Status) -> None:
    why = "0.20 GB are free on the disk of /data, and 1 GB must be (HOLOCRON_FREE_GB)"
    hold = HeldBack("all", None, "drain", "this machine", why, nothing_waits.at, "it goes on by itself")
    full = replace(waiting(nothing_waits, "pages", since=LONG_AGO), paused=(hold,))
    checks = lake_checks(Taken(full, None, 0.1, 0))
    assert outcome(checks, "room") == ("degraded", f"nothing new is started: {why}")
    assert progress(full)[0] == "ok"


def test_where_nothing_waits_nothing_is_wrong(nothing_waits: Status) -> None:
    checks = lake_checks(Taken(nothing_waits, None, 0.1, 0))
    assert worst(checks) == "ok"
    assert health_report(checks)["checks"]["progress"]["reason"] == "nothing waits that may be done now"


def test_work_that_waits_for_long_while_nothing_of_its_kind_is_done_is_a_failure(
    nothing_waits: Status,
) -> None:
    status = waiting(nothing_waits, "pages", since=LONG_AGO, done=timedelta(hours=3))
    assert progress(status) == (
        "failed",
        "pages: 3 wait, the oldest for 2.0 h, and none was done in the last hour",
    )


def test_work_that_waited_while_the_machine_slept_has_an_hour_from_when_it_woke(
    nothing_waits: Status, server_gone: Status
) -> None:
    status = waiting(nothing_waits, "pages", since=LONG_AGO)
    assert progress(status, status.at - LATELY) == ("ok", "work goes on: pages")
    assert progress(status, status.at - timedelta(hours=1))[0] == "failed"
    status = waiting(server_gone, "pages", since=LONG_AGO)
    assert models(status, status.at - LATELY)[0] == "degraded", "pages may be fetched"


def test_work_of_which_some_was_done_lately_goes_on(nothing_waits: Status) -> None:
    status = waiting(nothing_waits, "pages", since=LONG_AGO, done=LATELY)
    assert progress(status) == ("ok", "work goes on: pages")


def test_work_that_came_lately_may_take_its_time(nothing_waits: Status) -> None:
    assert progress(waiting(nothing_waits, "pages", since=LATELY))[0] == "ok"


def test_a_stage_that_stands_still_while_another_goes_on_is_half_a_failure(nothing_waits: Status) -> None:
    status = waiting(nothing_waits, "pages", since=LONG_AGO, done=LATELY)
    status = waiting(status, "entities", since=LONG_AGO)
    assert progress(status) == (
        "degraded",
        "entities: 3 wait, the oldest for 2.0 h, and none was done in the last hour",
    )


def test_a_source_that_waits_for_its_turn_after_another_is_no_failure(nothing_waits: Status) -> None:
    status = waiting(nothing_waits, "pages", since=LONG_AGO, source="one", done=LATELY)
    status = waiting(status, "pages", since=LONG_AGO, source="other")
    assert progress(status)[0] == "ok"


def test_people_may_take_as_long_as_they_like(nothing_waits: Status) -> None:
    assert progress(waiting(nothing_waits, "review", since=timedelta(days=90)))[0] == "ok"


@pytest.mark.parametrize(("scope", "name"), [("all", None), ("source", "sample")])
def test_what_a_person_holds_back_is_no_failure(nothing_waits: Status, scope: str, name: str | None) -> None:
    held = HeldBack(scope, name, "pause", "Ada", "the wiki asked us to", utc_now(), "holocron resume")
    status = waiting(nothing_waits, "pages", since=LONG_AGO)
    assert progress(replace(status, paused=(held,)))[0] == "ok"


def test_a_hold_of_something_else_excuses_nothing(nothing_waits: Status) -> None:
    held = HeldBack("source", "other", "pause", "Ada", "why", utc_now(), "holocron resume")
    status = waiting(nothing_waits, "pages", since=LONG_AGO)
    assert progress(replace(status, paused=(held,)))[0] == "failed"


@pytest.mark.parametrize("stage", ["pages", "files"])
def test_a_wiki_that_is_left_alone_is_no_failure(nothing_waits: Status, stage: str) -> None:
    host = Host("sample", "a.wiki:443", "left alone", nothing_waits.at + LONG_AGO, "429", 0.5, 12)
    status = waiting(nothing_waits, stage, since=LONG_AGO)
    assert progress(replace(status, hosts=(host,)))[0] == "ok"


def test_a_source_that_is_switched_off_is_no_failure(nothing_waits: Status) -> None:
    off = replace(nothing_waits, sources=(replace(nothing_waits.sources[0], enabled=False),))
    assert progress(waiting(off, "pages", since=LONG_AGO))[0] == "ok"


def test_models_that_are_switched_off_are_missed_by_nobody(nothing_waits: Status) -> None:
    status = waiting(nothing_waits, "interrogations", since=LONG_AGO, interrogation="entity_facts")
    assert models(status) == ("ok", "no model is asked: HOLOCRON_LLM is off")
    assert progress(status)[0] == "ok"


def test_a_model_server_that_is_gone_is_a_failure_once_it_is_wanted(
    nothing_waits: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_LLM", "auto")
    gone = replace(nothing_waits, models=replace(nothing_waits.models, problem="no answer", loaded=None))
    assert models(gone) == ("degraded", "no answer")
    wanted = waiting(gone, "interrogations", since=LONG_AGO, interrogation="entity_facts")
    assert models(wanted) == ("failed", "no answer")
    assert progress(wanted)[0] == "ok", "one fault is reported once"
    lacking = replace(wanted, models=replace(wanted.models, problem="lacks a model", loaded=()))
    assert models(lacking) == ("degraded", "lacks a model")


@pytest.fixture
def server_gone(nothing_waits: Status, monkeypatch: pytest.MonkeyPatch) -> Status:
    """One in which a model is wanted, and the server gives no answer."""
    monkeypatch.setenv("HOLOCRON_LLM", "auto")
    gone = replace(nothing_waits, models=replace(nothing_waits.models, problem="no answer", loaded=None))
    return waiting(gone, "interrogations", since=LONG_AGO, interrogation="entity_facts")


def test_a_model_server_that_is_gone_while_pages_are_fetched_is_half_a_failure(server_gone: Status) -> None:
    fetching = waiting(server_gone, "pages", since=LONG_AGO, done=LATELY)
    assert models(fetching) == ("degraded", "no answer")
    stuck = waiting(server_gone, "pages", since=LONG_AGO)
    assert models(stuck) == ("failed", "no answer"), "then nothing works"


@pytest.mark.parametrize(
    ("scope", "name"), [("all", None), ("source", "sample"), ("interrogation", "entity_facts")]
)
def test_a_model_server_that_is_stopped_while_a_person_holds_its_work_is_no_failure(
    server_gone: Status, scope: str, name: str | None
) -> None:
    held = HeldBack(scope, name, "pause", "Ada", "the card is needed", utc_now(), "holocron resume")
    assert models(replace(server_gone, paused=(held,))) == (
        "ok",
        "what is to be asked is held back. Otherwise: no answer",
    )
    other = waiting(server_gone, "interrogations", since=LATELY, source="two", interrogation="tagging")
    assert models(replace(other, paused=(held,)))[0] == ("ok" if scope == "all" else "failed")


def test_a_source_that_is_switched_off_needs_no_model_server(server_gone: Status) -> None:
    off = replace(server_gone, sources=(replace(server_gone.sources[0], enabled=False),))
    assert models(off)[0] == "ok"
    back = replace(off, models=replace(off.models, problem=None, loaded=()))
    assert progress(back)[0] == "ok"


def test_settings_that_cannot_be_used_are_half_a_failure() -> None:
    assert settings_check({}).outcome == "ok"
    found = settings_check({"schedules": "nite: no such group", "webhooks": "privat: no such key"})
    assert found.outcome == "degraded"
    assert found.reason == (
        "the settings of schedules cannot be used: nite: no such group; "
        "the settings of webhooks cannot be used: privat: no such key"
    )


def test_a_lake_that_cannot_be_read_is_a_failure() -> None:
    (check,) = lake_checks(Taken(None, "FolderGoneError: the lake is gone", 0.1, 1))
    assert check == Check("lake", "failed", "it cannot be read: FolderGoneError: the lake is gone")


def test_a_daemon_that_was_not_heard_of_for_minutes_is_a_failure() -> None:
    assert worst(dagster_checks(Taken(living_dagster(), None, 0.1, 0))) == "ok"
    silent = living_dagster(heard_at=utc_now() - timedelta(minutes=4))
    found = outcome(dagster_checks(Taken(silent, None, 0.1, 0)), "daemon")
    assert found[0] == "failed"
    assert found[1].startswith("SENSOR was not heard of since ")


def test_a_daemon_that_never_ran_is_a_failure_that_names_the_way_out() -> None:
    state = replace(living_dagster(), heard_at={"SENSOR": None, "SCHEDULER": None})
    assert outcome(dagster_checks(Taken(state, None, 0.1, 0)), "daemon") == (
        "failed",
        "it was not heard of so far; `holocron ui` starts it",
    )


@pytest.mark.parametrize(("ticked_before", "when"), [(None, "so far"), (timedelta(minutes=6), "since 20")])
def test_a_daemon_that_lives_while_no_sensor_ticks_is_a_failure(
    ticked_before: timedelta | None, when: str
) -> None:
    ticked_at = utc_now() - ticked_before if ticked_before else None
    state = replace(living_dagster(), ticked_at=ticked_at)
    found = outcome(dagster_checks(Taken(state, None, 0.1, 0)), "daemon")
    assert found[0] == "failed"
    assert found[1].startswith(f"it lives, but no sensor has ticked {when}")


def test_a_storage_that_cannot_be_read_is_a_failure() -> None:
    (check,) = dagster_checks(Taken(None, "OperationalError: no such table", 0.1, 1))
    assert (check.name, check.outcome) == ("dagster_storage", "failed")
