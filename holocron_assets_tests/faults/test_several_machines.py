"""The whole of Holocron on two machines that share a lake, and one of them dies at work."""

import json
import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus, RunsFilter
from dagster_at import dagster_at
from sample_holocron import Holocron
from several_machines import Cluster, Machine, cluster
from tiny_wiki import add_tiny_source
from whole_holocron import UNFINISHED, WholeHolocron, until

from holocron_assets.settings import PROJECT_FOLDER

PAGES = 40
SECONDS_BETWEEN_REQUESTS = 4.0
TASK_TAG = "dagster-celery/task_id"
TEXTS = {
    "Lamp": "'''Lamp''' was a pilot who knew " + ", ".join(f"[[Pilot {n:02d}]]" for n in range(PAGES)) + ".",
    **{
        name: f"{{{{Character|name={name}}}}}\n'''{name}''' was a pilot who knew [[Lamp]]."
        for name in (f"Pilot {n:02d}" for n in range(PAGES))
    },
}
_INTERROGATION = "entity_facts"
_log = logging.getLogger(__name__)


@pytest.mark.full
@pytest.mark.fault(7, "a machine that dies at work, of two that share a lake")
def test_two_machines_know_what_one_does_and_are_as_polite_though_one_dies(tmp_path: Path) -> None:
    holocron = Holocron(tmp_path / "one")
    asked = tmp_path / "interrogations"
    asked.mkdir()
    (asked / _INTERROGATION).symlink_to(PROJECT_FOLDER / "data" / "interrogations" / _INTERROGATION)
    settings = {
        "HOLOCRON_SOURCES": str(holocron.sources_folder),
        "HOLOCRON_INTERROGATIONS": str(asked),
        "HOLOCRON_DISPATCH": str(tmp_path / "dispatch.yaml"),
        "HOLOCRON_LLM": "auto",
    }
    with cluster(tmp_path, TEXTS, settings) as both:
        add_tiny_source(holocron, both.wiki, enabled=True, titles=TEXTS)
        alone = _known_to_one_machine(holocron, both, settings)
        _log.info("one machine, a lake on its disk: hash %s", alone["sha256"])
        rate = f"requests_per_second: {1 / SECONDS_BETWEEN_REQUESTS}, burst: 1"
        add_tiny_source(holocron, both.wiki, enabled=True, polite=rate, titles=TEXTS, more="batch_size: 5\n")
        both.wiki.requests.clear()
        one, other = both.machines
        one.start_daemon()
        for machine in both.machines:
            machine.start_worker()
        dead = _killed_at_work(both)
        _log.info("%s was killed in run %s", other.name, dead)
        until(lambda: _status(one, dead) == DagsterRunStatus.FAILURE, "the dead run is found", seconds=120)
        other.start_worker()
        until(lambda: _is_done(one), "all is done", seconds=900, every=2)
        for machine in both.machines:
            machine.die()
        one.command("run")  # what the sensors had not come to yet
        together = [json.loads(machine.command("hash", "--json")) for machine in both.machines]
        _log_runs(both, together)
    assert together[0] == together[1] == alone
    assert all(_runs_done(machine) for machine in both.machines), "both machines did runs"
    arrived = [request.arrived_at for request in both.wiki.requests]
    gaps = [later - earlier for earlier, later in pairwise(arrived)]
    assert min(gaps) > 0.9 * SECONDS_BETWEEN_REQUESTS, gaps


def _known_to_one_machine(holocron: Holocron, both: Cluster, settings: dict[str, str]) -> dict[str, Any]:
    whole = WholeHolocron(holocron, both.wiki, both.ollama, {**settings, "OLLAMA_HOST": both.ollama.url})
    whole.finish()
    return whole.hashes()


def _killed_at_work(both: Cluster) -> str:
    """Kill a machine while it crawls a batch, once both have done runs; give the run that died with it."""
    one, other = both.machines
    session, found = both.place.mirror(one.folder).session, list[str]()

    def is_at_work() -> bool:
        crawling = _runs(one, RunsFilter(job_name="crawl_batch", statuses=[DagsterRunStatus.STARTED]))
        theirs = [run.run_id for run in crawling if other.times_logged(run.tags.get(TASK_TAG, "no task"))]
        found[:] = [run_id for run_id in theirs if session.note(f"runs/{run_id}.lock")]
        return bool(found and _runs_done(one) and _runs_done(other))

    until(is_at_work, f"{other.name} crawls a batch", seconds=600, every=0.5)
    other.die()
    return found[0]


def _runs_done(machine: Machine) -> int:
    return machine.times_logged("] succeeded in ")


def _status(machine: Machine, run_id: str) -> DagsterRunStatus:
    return next(run.status for run in _runs(machine) if run.run_id == run_id)


def _is_done(machine: Machine) -> bool:
    if _runs(machine, RunsFilter(statuses=UNFINISHED)):
        return False
    counted = (
        "select (select count(*) from current_pages) as pages, (select count(*) from entities) as entities"
    )
    (counts,) = json.loads(machine.command("sql", counted, "--json"))
    return bool(counts["pages"] > PAGES and counts["entities"])


def _runs(machine: Machine, wanted: RunsFilter | None = None) -> list[dg.DagsterRun]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLOCRON_POSTGRES_URL", machine.environment["HOLOCRON_POSTGRES_URL"])
        patch.setenv("HOLOCRON_BROKER", machine.environment["HOLOCRON_BROKER"])
        with dagster_at(machine.environment["DAGSTER_HOME"]) as instance:
            return list(instance.get_runs(wanted))


def _log_runs(both: Cluster, together: list[dict[str, Any]]) -> None:
    for run in reversed(_runs(both.machines[0])):
        task, what = run.tags.get(TASK_TAG), f"{run.job_name} {run.tags.get('dagster/partition', '')}"
        places = [machine.name for machine in both.machines if task and machine.times_logged(task)]
        _log.info("run %s %s: %s, %s", run.run_id[:8], what, run.status.value, places or "by hand")
    arrived = [request.arrived_at for request in both.wiki.requests]
    gaps = sorted(later - earlier for earlier, later in pairwise(arrived))
    asked = f"{len(arrived)} requests in {arrived[-1] - arrived[0]:.0f} s, never two within {gaps[0]:.2f} s"
    _log.info("the wiki was asked %s; it allows one each %g s", asked, SECONDS_BETWEEN_REQUESTS)
    for machine, known in zip(both.machines, together, strict=True):
        _log.info("%s did %d runs; hash %s", machine.name, _runs_done(machine), known["sha256"])
