"""`kill -9` in the middle of a run that asks a model: what is asked again, and whose the GPU is then."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import dagster as dg
import pytest
from asked_holocron import AskedHolocron, asked_holocron, write_interrogation
from dagster import DagsterRunStatus
from fake_ollama import SMALL, FakeOllama

from holocron_assets.derive.gpu.slots import GPU_POOL, NotedLock
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import LLM_RUNS
from holocron_assets.orchestration.internals.instance import open_instance
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.full

RUN = """
from holocron_assets.definitions import defs
from holocron_assets.orchestration.internals.instance import open_instance
with open_instance() as instance:
    job = defs.resolve_job_def("derive")
    print(job.execute_in_process(instance=instance, raise_on_error=False).success, flush=True)
"""
SLOTS = 2


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedHolocron]:
    write_interrogation(tmp_path, "kinds", SMALL, 500)
    with FakeOllama(slots=SLOTS, delay_seconds=0.1) as ollama:
        yield asked_holocron(tmp_path, ollama, monkeypatch, batches=2, pages=15)


def run() -> "subprocess.Popen[str]":
    """The job, in a process and group of its own."""
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-W", "ignore", "-c", RUN],
        cwd=PROJECT_FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def finish() -> None:
    with run() as process:
        out, _ = process.communicate(timeout=480)
    assert out.strip().endswith("True")


def kill_in_the_middle(asked: AskedHolocron, after: int) -> None:
    deadline = monotonic() + 480
    with run() as process:
        while len(asked.ollama.chats) < after:
            assert monotonic() < deadline
            sleep(0.01)
        process.send_signal(signal.SIGKILL)


def statuses(instance: dg.DagsterInstance) -> list[DagsterRunStatus]:
    return [run.status for run in reversed(instance.get_runs())]


def test_a_killed_run_repeats_no_call_but_those_under_way_and_its_slot_is_free_at_once(
    asked: AskedHolocron,
) -> None:
    kill_in_the_middle(asked, 10)
    kill_in_the_middle(asked, 20)
    killed_at = datetime.now(UTC)
    lake = asked.holocron.lake
    assert not NotedLock(lake, "gpu-gpu").is_held()

    finish()
    with open_instance() as instance:
        assert statuses(instance) == [
            DagsterRunStatus.FAILURE,
            DagsterRunStatus.FAILURE,
            DagsterRunStatus.SUCCESS,
        ]
        assert not instance.event_log_storage.get_concurrency_info(GPU_POOL).claimed_slots

    # What was under way when its process died is due again half a minute later: it may be what killed it.
    sleep(max((killed_at + timedelta(seconds=31) - datetime.now(UTC)).total_seconds(), 0))
    finish()
    rows = [row for name in lake.partitions(LLM_RUNS) for row in read_partition(lake, LLM_RUNS, name)]
    assert len(rows) == 30
    assert {row["status"] for row in rows} == {"ok"}
    times = asked.asked()
    assert len(times) == 30
    assert max(times.values()) <= 3
    under_way = SLOTS + 1  # one more than the server has slots
    assert times.total() - 30 <= 2 * under_way, "no more than what two kills found under way"
