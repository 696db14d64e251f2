"""The machine's clock is moved by a day, back or forward: what was written before still comes out right."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
import time_machine
from asked_lake import ask_lake
from crawl_rows import outcome, put_changes, put_outcomes, put_seeds, wiki_source
from dagster import DagsterRunStatus
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    InProcessCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, SensorInstigatorData
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._utils.schedules import cron_string_iterator

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches, manifest
from holocron_assets.crawl.frontier.pending import pending_pages
from holocron_assets.crawl.frontier.requeue import requeue
from holocron_assets.crawl.waiting import Group
from holocron_assets.decisions.log import all_decisions, decided_now, new_decision, record, standing
from holocron_assets.lake.attempts import is_waiting
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.place.clock import WallClock, utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.unfinished import aside_of
from holocron_assets.orchestration.internals.clocks import bring_ticks_back
from holocron_assets.orchestration.model_runs.dispatch_runs import history
from holocron_assets.orchestration.runs.requesting import run_requests
from holocron_assets.planning.work import Work

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
LOADABLE = LoadableTargetOrigin(python_file="here.py")


@pytest.mark.fault(8, "clock set back a day between two decisions")
def test_a_later_decision_counts_whatever_the_clock_says(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    said: dict[str, Any] = {"author": "Ann", "reason": "it says so", "source": "tiny", "title": "Lamp"}
    for moment, value in ((NOW + DAY, "Droid"), (NOW, "Character"), (NOW + DAY / 2, "Planet")):
        with time_machine.travel(moment, tick=False):
            record(lake, [new_decision("classify", **said, value=value, now=decided_now(lake))])
    assert [row["value"] for row in all_decisions(lake)] == ["Droid", "Character", "Planet"]
    (counts,) = standing(lake).types.values()
    assert counts["value"] == "Planet"


@pytest.mark.fault(8, "clock set back a day after an item failed")
def test_a_due_time_that_no_right_clock_could_have_said_keeps_nothing_waiting() -> None:
    assert is_waiting(NOW + timedelta(seconds=30), NOW)
    assert is_waiting(NOW + timedelta(minutes=10), NOW)
    assert not is_waiting(NOW, NOW)
    assert not is_waiting(NOW + DAY, NOW)
    assert not is_waiting(None, NOW)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as kept:
        yield kept


@dg.job(name="crawl_batch")
def failing() -> None:
    """Stands for a run that left its work undone."""


@pytest.mark.fault(8, "clock set back a day after a run failed")
def test_work_whose_run_failed_on_a_clock_that_was_ahead_is_due_at_once(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    lake, work = Lake(tmp_path / "data"), Work("crawl_batch", "tiny-000001", "fetch")
    run = instance.create_run_for_job(
        failing, tags={"holocron/work": work.key}, status=DagsterRunStatus.STARTED
    )
    instance.report_run_failed(run, "not today")
    (record,) = instance.get_run_records()
    ended_at = record.update_timestamp
    assert run_requests(instance, lake, [work], now=ended_at + timedelta(seconds=1)).requests == []
    requested = run_requests(instance, lake, [work], now=ended_at - DAY)
    assert [request.partition_key for request in requested.requests] == ["tiny-000001"]
    assert run_requests(instance, lake, [work], now=ended_at + DAY).requests


@pytest.mark.fault(8, "clock set back a day after a run of models failed")
def test_models_whose_run_failed_on_a_clock_that_was_ahead_are_asked_at_once(
    instance: dg.DagsterInstance,
) -> None:
    work = Work("derive_small", None, "kinds", about="small:1b")
    run = instance.create_run_for_job(
        failing, tags={"holocron/work": work.key}, status=DagsterRunStatus.STARTED
    )
    instance.report_run_failed(run, "not today")
    assert history(instance, work, "9 left").rests
    with time_machine.travel(utc_now() - DAY):
        assert history(instance, work, "9 left").rests is None


@pytest.mark.fault(8, "clock set back a day below the daemon's sensors")
def test_sensors_that_ticked_on_a_clock_that_was_ahead_tick_again(instance: dg.DagsterInstance) -> None:
    origin = RemoteInstigatorOrigin(
        RemoteRepositoryOrigin(InProcessCodeLocationOrigin(LOADABLE, location_name="here"), "holocron"),
        "new_pages",
    )
    state = InstigatorState(
        origin,
        InstigatorType.SENSOR,
        InstigatorStatus.RUNNING,
        SensorInstigatorData(
            last_tick_timestamp=(NOW + DAY).timestamp(),
            last_tick_start_timestamp=NOW.timestamp(),
            cursor="kept",
        ),
    )
    instance.add_instigator_state(state)
    assert bring_ticks_back(instance, now=NOW + 2 * DAY) == []
    assert bring_ticks_back(instance, now=NOW) == ["new_pages"]
    (repaired,) = instance.all_instigator_state()
    data = repaired.instigator_data
    assert isinstance(data, SensorInstigatorData)
    assert (data.last_tick_timestamp, data.cursor) == (NOW.timestamp(), "kept")
    assert bring_ticks_back(instance, now=NOW) == []


def test_a_clock_that_is_set_back_is_noticed_once() -> None:
    with time_machine.travel(NOW, tick=False):
        clock = WallClock()
        assert not clock.was_set_back()
    with time_machine.travel(NOW - DAY, tick=False):
        assert clock.was_set_back()
        assert not clock.was_set_back()
    with time_machine.travel(NOW, tick=False):
        assert not clock.was_set_back()


@pytest.mark.fault(8, "daylight saving in the zone of a recheck's schedule")
def test_a_schedule_at_an_hour_that_is_skipped_or_comes_twice_comes_once_each_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")

    for first in (datetime(2026, 3, 27, tzinfo=berlin), datetime(2026, 10, 23, tzinfo=berlin)):
        ticks = cron_string_iterator(first.timestamp(), "30 2 * * *", "Europe/Berlin")
        days = [next(ticks).astimezone(berlin).date() for _ in range(5)]
        assert days == [(first + timedelta(days=number)).date() for number in range(5)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake whose pages were asked for while the clock was a day ahead."""
    lake, ahead = Lake(tmp_path / "data"), NOW + DAY
    put_seeds(lake, "Edited", "Failed", "Read")
    put_outcomes(
        lake,
        "wiki-000001",
        outcome("Edited", revision_id=5, fetched_at=ahead),
        outcome("Failed", "failed", attempts=1, fetched_at=ahead, due_at=ahead + timedelta(seconds=30)),
        outcome("Read", revision_id=7, fetched_at=ahead),
    )
    return lake


def pending(lake: Lake) -> list[str]:
    return sorted(page.title for page in pending_pages(lake, wiki_source(), limit=9))


@pytest.mark.fault(8, "clock set back a day after pages were read")
@time_machine.travel(NOW, tick=False)
def test_pages_read_on_a_clock_that_was_ahead_are_tried_again_and_kept_current(lake: Lake) -> None:
    edited_at = NOW - timedelta(minutes=10)
    put_changes(lake, ("Edited", "edit", edited_at), ("Read", "edit", edited_at - DAY), revision_id=6)
    assert pending(lake) == ["Edited", "Failed"]


@pytest.mark.fault(8, "clock set back a day before a dead letter is requeued")
def test_what_died_on_a_clock_that_was_ahead_is_brought_back_at_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "data")
    put_outcomes(lake, "wiki-000001", outcome("Dead", "dead", attempts=4, fetched_at=NOW + DAY))
    with time_machine.travel(NOW, tick=False):
        assert len(requeue(lake, source=None, titles=None, author="Ann", reason="mended")) == 1
        assert requeue(lake, source=None, titles=None, author="Ann", reason="mended") == []


@pytest.mark.fault(8, "clock set back a day between two readings of a page")
def test_what_was_read_later_counts_though_its_clock_was_behind(lake: Lake) -> None:
    with time_machine.travel(NOW, tick=False):
        put_changes(lake, ("Edited", "edit", NOW - timedelta(minutes=10)), revision_id=6)
        (batch,) = cut_batches(lake, wiki_source(), now=NOW, gather=False)
        wanted = manifest(lake, batch)
        assert {row["title"] for row in wanted} == {"Edited", "Failed"}
        assert all(row["cut_at"] > NOW + DAY for row in wanted)
        fetch_batch(lake, batch, AnyReader(), "run")
        assert pending(lake) == [], "and nothing is asked for again and again"
        read = {row["title"]: row for row in current(lake)}
    assert (read["Edited"]["revision_id"], read["Failed"]["revision_id"]) == (6, 6)
    with time_machine.travel(NOW + 3 * DAY, tick=False):
        assert {row["title"]: row for row in current(lake)} == read, "nor does the clock change it back later"


@pytest.mark.fault(8, "clock moved forward a day while a file is written")
def test_a_file_that_is_being_written_is_not_taken_for_one_that_a_killed_process_left(tmp_path: Path) -> None:
    target = tmp_path / "data.parquet"
    left = aside_of(target)
    left.touch()
    with replacing(target) as slow:
        slow.write_text("slow")
        with time_machine.travel(utc_now() + DAY, tick=False), replacing(target) as quick:
            quick.write_text("quick")
        assert target.read_text() == "quick"
        assert not left.exists()
    assert target.read_text() == "slow"


@pytest.mark.fault(8, "clock moved forward a day after pages failed, and after others died")
def test_on_a_clock_that_is_ahead_what_waits_is_due_and_what_died_stays_dead(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "data")
    put_seeds(lake, "Dead", "Failed", "Read")
    put_outcomes(
        lake,
        "wiki-000001",
        outcome("Dead", "dead", attempts=4, fetched_at=NOW),
        outcome("Failed", "failed", attempts=1, fetched_at=NOW, due_at=NOW + timedelta(seconds=30)),
        outcome("Read", revision_id=7, fetched_at=NOW),
    )
    with time_machine.travel(NOW, tick=False):
        assert pending(lake) == []
    with time_machine.travel(NOW + DAY, tick=False):
        assert pending(lake) == ["Failed"]


class AnyReader:
    """Reads every page, as of the machine's clock."""

    group_sizes: Sequence[int] = (50,)
    groups_at_once = 1

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        kept = ("source", "batch", "position", "depth", "namespace")
        return [
            outcome(page["title"], revision_id=6, fetched_at=utc_now(), run_id=run_id)
            | {name: page[name] for name in kept}
            for page in group
        ]

    def reads_others_than(self, _: Group) -> bool:
        return False

    def give_up(self) -> None:
        """Nothing takes long here."""


def current(lake: Lake) -> list[dict[str, Any]]:
    return ask_lake(lake, "select title, revision_id from current_pages order by title")
