"""A run that works unattended is ended from outside: by a person in Dagster's UI, and for its long time."""

from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from dagster import DagsterRunStatus
from held import hold_pages
from served_ui import post
from small_and_open import small_and_open
from unattended import expect_order, serve_ui, start_ui, until_done
from whole_holocron import WholeHolocron, until

from holocron_assets.planning.job_names import BATCH_JOB
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.full

TERMINATE = 'mutation {{ terminateRun(runId: "{}") {{ __typename }} }}'


@pytest.mark.fault(1, "Terminate in the UI of a run in the middle of a request that hangs")
def test_a_run_that_a_person_ends_is_canceled_within_seconds_and_its_work_is_done_by_the_next(
    tmp_path: Path, clean: dict[str, Any]
) -> None:
    with small_and_open(tmp_path) as whole:
        gate = hold_pages(whole.wiki)
        _, address = serve_ui(whole)
        gate.somebody_waits()
        until(lambda: batch_runs(whole, DagsterRunStatus.STARTED), "the run is known to work")
        [run_id] = batch_runs(whole, DagsterRunStatus.STARTED)
        asked_at = monotonic()
        answer = post(address, TERMINATE.format(run_id), origin=address, **{"sec-fetch-site": "same-origin"})
        assert answer.json()["data"]["terminateRun"]["__typename"] == "TerminateRunSuccess"
        until(lambda: run_id in batch_runs(whole, DagsterRunStatus.CANCELED), "it is canceled")
        assert monotonic() - asked_at < 45, "a request may take a minute"
        with whole.instance() as instance:
            claimed = instance.event_log_storage.get_concurrency_info("crawl").claimed_slots
        assert run_id not in {slot.run_id for slot in claimed}
        gate.opened.set()
        until_done(whole)
        expect_order(whole, clean, kills=1)


@pytest.mark.fault(1, "a run that hangs for longer than `max_runtime_seconds`")
def test_a_run_that_takes_too_long_is_ended_as_failed_and_its_work_is_done_by_the_next(
    tmp_path: Path, clean: dict[str, Any]
) -> None:
    with small_and_open(tmp_path) as whole:
        configuration = (PROJECT_FOLDER / "dagster.yaml").read_text()
        short = configuration.replace(
            "max_runtime_seconds: 21600", "max_runtime_seconds: 40\n  poll_interval_seconds: 5"
        )
        assert short != configuration
        home = Path(whole.holocron.environment["DAGSTER_HOME"])
        home.mkdir(exist_ok=True)
        (home / "dagster.yaml").write_text(short)
        gate = hold_pages(whole.wiki)
        start_ui(whole)
        gate.somebody_waits()
        until(lambda: batch_runs(whole, DagsterRunStatus.FAILURE), "it is ended", seconds=200, every=1)
        [run_id, *_] = batch_runs(whole, DagsterRunStatus.FAILURE)
        with whole.instance() as instance:
            messages = [entry.message for entry in instance.all_logs(run_id)]
        assert any("Exceeded maximum runtime of 40 seconds" in message for message in messages)
        gate.opened.set()
        until_done(whole)
        expect_order(whole, clean, kills=len(batch_runs(whole, DagsterRunStatus.FAILURE)))


def batch_runs(whole: WholeHolocron, status: DagsterRunStatus) -> list[str]:
    return [run.run_id for run in whole.runs(status) if run.job_name == BATCH_JOB]
