"""The job that runs a group of work: real commands in processes of their own, recorded step by step."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from time import monotonic, sleep
from typing import Any

import dagster as dg
import pytest
from filelock import FileLock
from sample_dagster import failure_message, run_job
from sample_holocron import Holocron, sample_holocron

from holocron_assets.decisions.controls import ALL, PAUSE, control
from holocron_assets.definitions import defs
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.operations.groups import last_run
from holocron_assets.planning.job_names import ADD_PAGES_JOB, GROUP_JOB, OUTCOME_TAG, REFRESH_JOB
from holocron_assets.settings import PROJECT_FOLDER

FINE = "{name: fine, run: sources list}"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def holocron(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    made = sample_holocron(tmp_path)
    for name, value in {**made.environment, "HOLOCRON_GROUPS": str(tmp_path / "groups")}.items():
        monkeypatch.setenv(name, value)
    return made


def write(holocron: Holocron, *steps: str) -> None:
    (holocron.folder / "groups").mkdir(exist_ok=True)
    text = "title: Some work\nsteps:\n" + "".join(f"  - {step}\n" for step in steps)
    (holocron.folder / "groups" / "some.yaml").write_text(text, encoding="utf-8")


def run(holocron: Holocron, instance: dg.DagsterInstance, group: str = "some") -> Any:
    return run_job(holocron, instance, GROUP_JOB, config={"run_steps": {"config": {"group": group}}})


def step_states(holocron: Holocron) -> dict[str, str]:
    return {row["step"]: row["status"] for row in last_run(holocron.lake, "some")}


@pytest.mark.full
def test_a_run_does_every_step_and_fails_by_name_where_one_does(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    write(holocron, FINE)
    assert run(holocron, instance).success
    assert step_states(holocron) == {"fine": "done"}
    write(holocron, FINE, "{name: wrong, run: 'page Nobody'}", "{name: last, run: sources list}")
    failed = run(holocron, instance)
    assert not failed.success
    assert "group some ended with exit code 1: wrong failed, last canceled" in failure_message(failed)
    assert step_states(holocron) == {"fine": "done", "wrong": "failed", "last": "canceled"}


def test_a_group_that_is_not_there_or_is_run_by_another_process_is_named(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    write(holocron, FINE)
    assert "no group is called 'none' in" in failure_message(run(holocron, instance, "none"))
    with FileLock(holocron.lake.locks / "group-some.lock"):
        assert "another process runs group some" in failure_message(run(holocron, instance))
    assert step_states(holocron) == {}


def test_no_group_is_begun_while_everything_is_held_back(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    write(holocron, FINE)
    control(holocron.lake, PAUSE, ALL, author="ada", reason="x")
    result = run(holocron, instance)
    held = instance.get_run_by_id(result.run_id)
    assert held
    assert (held.status, held.tags[OUTCOME_TAG]) == (dg.DagsterRunStatus.CANCELED, "paused")
    assert step_states(holocron) == {}


@pytest.mark.parametrize("job", [GROUP_JOB, REFRESH_JOB, ADD_PAGES_JOB])
def test_a_job_that_waits_may_take_longer_than_other_runs_and_leaves_places_to_them(job: str) -> None:
    tags = defs.resolve_job_def(job).tags
    assert float(tags["dagster/max_runtime"]) > 24 * 3600
    assert tags["holocron/waits"] == "true"


@pytest.mark.parametrize("folder", [".", "deploy/postgres", "deploy/celery"])
def test_groups_leave_a_place_to_a_refresh_that_they_wait_for_and_both_to_its_runs(folder: str) -> None:
    settings: Any = load_yaml((PROJECT_FOLDER / folder / "dagster.yaml").read_text(encoding="utf-8"))
    runs = settings["concurrency"]["runs"]
    limits = {one["key"]: one["limit"] for one in runs["tag_concurrency_limits"]}
    group, refresh = (defs.resolve_job_def(name).tags.keys() & limits for name in (GROUP_JOB, REFRESH_JOB))
    assert refresh < group
    most_groups, most_waiting = (min(limits[key] for key in keys) for keys in (group, refresh))
    assert most_groups < most_waiting < runs["max_concurrent_runs"]


@pytest.mark.full
def test_a_run_that_is_asked_to_stop_ends_its_steps_and_the_next_run_goes_on(holocron: Holocron) -> None:
    write(holocron, FINE, "{name: slow, run: run}", "{name: last, run: hash}")
    environment = {**os.environ, "SOME": str(holocron.folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = Popen([sys.executable, "-c", _RUN], env=environment)  # noqa: S603 - our own
    deadline = monotonic() + 480
    while step_states(holocron) != {"fine": "done", "slow": "started", "last": "waiting"}:
        assert monotonic() < deadline
        assert process.poll() is None
        sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) != 0
    with FileLock(holocron.lake.locks / "group-some.lock", timeout=0):
        assert step_states(holocron)["slow"] == "started"
    with dg.DagsterInstance.ephemeral() as instance:
        assert run(holocron, instance).success
    assert set(step_states(holocron).values()) == {"done"}
    assert last_run(holocron.lake, "some")[0]["group_run_id"] == "some-000001"


_RUN = """
import os
from pathlib import Path
import dagster as dg
from dagster._utils.interrupts import setup_interrupt_handlers
from sample_dagster import run_job
from sample_holocron import Holocron

setup_interrupt_handlers()  # as in the process of a run
with dg.DagsterInstance.ephemeral() as instance:
    config = {"run_steps": {"config": {"group": "some"}}}
    result = run_job(Holocron(Path(os.environ["SOME"])), instance, "run_group", config=config)
raise SystemExit(not result.success)
"""
