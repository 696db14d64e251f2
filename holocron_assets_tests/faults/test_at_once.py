"""The same work is started twice at once: by two people, by a person and the sensors, by two daemons."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from held import hold_pages
from small_and_open import expect_nothing_lost_or_doubled, small_and_open
from whole_holocron import WholeHolocron, until

from holocron_assets.lake.tables import BATCH_PAGES, ENTITIES
from holocron_assets.planning.job_names import BATCH_JOB

pytestmark = pytest.mark.full


@pytest.mark.fault(2, "two `holocron run` at once, both at one batch")
def test_two_runs_of_one_batch_fetch_each_page_once(tmp_path: Path, clean: dict[str, Any]) -> None:
    with small_and_open(tmp_path) as whole:
        gate = hold_pages(whole.wiki)
        both = [whole.start("run"), whole.start("run")]
        gate.somebody_waits()
        until(lambda: len(batch_runs(whole)) == 2, "both are at the batch", seconds=240)
        gate.opened.set()
        assert [one.wait(300) for one in both] == [0, 0], whole.log.read_text()
        whole.finish()
        expect_nothing_lost_or_doubled(whole, clean, kills=0)


@pytest.mark.fault(2, "two daemons, the second past `holocron ui`'s lock, and a person: all at one batch")
def test_two_daemons_and_a_person_double_nothing_but_requests(tmp_path: Path, clean: dict[str, Any]) -> None:
    with small_and_open(tmp_path) as whole:
        source = whole.holocron.sources_folder / "tiny.yaml"
        # On a slow machine all are here after minutes only; and each may have a request under way.
        patient = "{timeout_seconds: 600.0, requests_in_flight: 4, contact:"
        source.write_text(source.read_text().replace("{contact:", patient))
        gate = hold_pages(whole.wiki)
        whole.start_daemon()
        whole.start("run", "-w", "workspace.yaml", program="dagster-daemon")
        gate.somebody_waits()
        [batch] = whole.lake.partitions(BATCH_PAGES)
        person = whole.start("run")
        launched = whole.command("launch", BATCH_JOB, "--partition", batch)
        assert launched.returncode == 0, launched.stderr
        until(lambda: persons_run(whole), "the person is at the batch too", seconds=240)
        gate.opened.set()
        assert person.wait(300) == 0, whole.log.read_text()
        for _ in range(3):
            dispatched = whole.command("dispatch")
            assert dispatched.returncode == 0, dispatched.stderr
        until(lambda: whole.lake.partitions(ENTITIES) and not whole.is_busy(), "all is done", seconds=300)
        whole.end()
        whole.finish()
        # Two daemons may start one run twice: the later one asks for what is under way there.
        expect_nothing_lost_or_doubled(whole, clean, kills=3)


def batch_runs(whole: WholeHolocron) -> list[dg.DagsterRun]:
    """The runs that are at a batch now."""
    return [run for run in whole.runs(DagsterRunStatus.STARTED) if run.job_name == BATCH_JOB]


def persons_run(whole: WholeHolocron) -> bool:
    """Whether `holocron run` is at a batch: its run is in no queue, which lets one at a batch at a time."""
    return any(run.remote_job_origin is None for run in batch_runs(whole))
