"""Durations of runs, counted from Dagster's storage: each run once, also one that Dagster forgets later."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.dagster_state import EndedRun, RunTimes
from holocron_assets.operations.state.histograms import RUN_BOUNDS
from holocron_assets.operations.state.metrics import dagster_metrics
from holocron_assets.orchestration.internals import dagster_state
from holocron_assets.orchestration.internals.dagster_state import read_dagster_state

pytestmark = pytest.mark.system

CLOCK = f"{RunTimes.__module__}.utc_now"


@dg.op
def work() -> None:
    """Do nothing."""


@dg.op
def fail() -> None:
    """Fail."""
    raise ValueError("no page")


@dg.job
def quick() -> None:
    """A job that goes well."""
    work()


@dg.job
def broken() -> None:
    """A job that does not."""
    fail()


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as made:
        yield made


def numbers(times: RunTimes) -> dict[str, int]:
    return {row["job_name"]: row["number"] for row in times.rows()}


def test_each_run_that_ended_is_counted_once_however_it_ended(instance: dg.DagsterInstance) -> None:
    times = RunTimes()
    quick.execute_in_process(instance=instance)
    broken.execute_in_process(instance=instance, raise_on_error=False)
    for _ in range(2):
        state = read_dagster_state(instance, times)
        assert numbers(times) == {"quick": 1, "broken": 1}
    quick.execute_in_process(instance=instance)
    read_dagster_state(instance, times)
    assert numbers(times) == {"quick": 2, "broken": 1}
    assert {row["job_name"]: row["number"] for row in state.run_times} == {"quick": 1, "broken": 1}


def test_runs_of_before_are_not_counted_again_by_a_process_that_begins(instance: dg.DagsterInstance) -> None:
    quick.execute_in_process(instance=instance)
    times = RunTimes()
    read_dagster_state(instance, times)
    assert numbers(times) == {}


def test_a_run_that_ended_after_many_that_never_began_is_counted(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dagster_state, "_AT_ONCE", 3)
    times = RunTimes()
    for _ in range(3):
        run = instance.create_run_for_job(quick)
        instance.report_run_canceled(run)
    quick.execute_in_process(instance=instance)
    read_dagster_state(instance, times)
    assert numbers(times) == {"quick": 1}
    before = times.since
    later = utc_now() + timedelta(minutes=5)
    monkeypatch.setattr(CLOCK, lambda: later)
    times.add([EndedRun("never began", "any", later, None)])
    assert times.since > before, "it is not read again each time"


def test_a_run_that_dagster_forgot_stays_counted(instance: dg.DagsterInstance) -> None:
    times = RunTimes()
    run_id = quick.execute_in_process(instance=instance).run_id
    read_dagster_state(instance, times)
    instance.delete_run(run_id)
    read_dagster_state(instance, times)
    assert numbers(times) == {"quick": 1}


def test_prometheus_gets_a_histogram_for_each_job(instance: dg.DagsterInstance) -> None:
    times = RunTimes()
    quick.execute_in_process(instance=instance)
    state = read_dagster_state(instance, times)
    [histogram] = [one for one in dagster_metrics(state) if one.name == "holocron_dagster_run_seconds"]
    found: dict[str, Any] = {
        sample.labels.get("le", sample.name): sample.value
        for sample in histogram.samples
        if sample.labels["job_name"] == "quick"
    }
    assert found["+Inf"] == found["holocron_dagster_run_seconds_count"] == 1
    assert 0 < found["holocron_dagster_run_seconds_sum"] < 60


def test_an_end_that_becomes_visible_late_is_counted_and_one_of_long_ago_is_not() -> None:
    times, now = RunTimes(), utc_now() + timedelta(minutes=5)
    times.add([EndedRun("first", "any", now, 100.0)])
    times.add(
        [EndedRun("late", "any", now - timedelta(seconds=30), 2.0), EndedRun("first", "any", now, 100.0)]
    )
    times.add([EndedRun("tagged again", "any", now - timedelta(hours=3), 2.0)])
    [row] = times.rows()
    assert (row["number"], row["seconds"]) == (2, 102.0)
    assert row["within"] == [(bound >= 2.0) + (bound >= 100.0) for bound in RUN_BOUNDS]


def test_runs_are_counted_once_after_a_clock_that_was_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    now = utc_now()
    ahead = [now + timedelta(hours=3)]
    monkeypatch.setattr(CLOCK, lambda: ahead[0])
    times = RunTimes()
    early, last = (
        EndedRun(name, "any", ahead[0] + timedelta(minutes=ends), 2.0)
        for name, ends in (("early", 1), ("last", 5))
    )
    ahead[0] = last.ended_at
    times.add([early, last])
    ahead[0] = now
    times.add([])
    ahead[0] += timedelta(seconds=15)
    for _ in range(2):
        times.add([early, last, EndedRun("now", "any", now + timedelta(seconds=5), 2.0)])
        assert numbers(times) == {"any": 3}
    assert times.since <= now


def test_a_run_of_a_machine_whose_clock_is_ahead_hides_no_other() -> None:
    times, now = RunTimes(), utc_now()
    for _ in range(2):
        times.add([EndedRun("ahead", "any", now + timedelta(hours=3), 2.0)])
    times.add([EndedRun("here", "any", now + timedelta(seconds=1), 2.0)])
    assert numbers(times) == {"any": 2}
