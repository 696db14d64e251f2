"""What works unattended is killed: `holocron ui`, one process of its group, or all of them at once."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterRunStatus
from held import Gate, hold_pages, process_with, processes_of
from small_and_open import small_and_open
from unattended import expect_order, start_ui, until_done
from whole_holocron import WholeHolocron, until

pytestmark = pytest.mark.full


def run_at_work(folder: Path) -> int:
    """The one process of a run."""
    (run,) = _forked(folder, is_run=True)
    return run


def forks_runs(folder: Path) -> int:
    """The process that the runs' processes are forked from."""
    (forks,) = _forked(folder, is_run=False)
    return forks


def _forked(folder: Path, *, is_run: bool) -> list[int]:
    """Processes of one command line, in which only one parent and its children differ."""
    alike = {pid for pid, command in processes_of(folder).items() if "multiprocessing.forkserver" in command}
    return [pid for pid in alike if (parent_of(pid) in alike) == is_run]


def parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("\nPPid:")[2].split()[0])


def with_code(folder: Path) -> int:
    return process_with(folder, "api grpc")


def daemon(folder: Path) -> int:
    return process_with(folder, "dagster._daemon")


def supervisor(folder: Path) -> int:
    return process_with(folder, "runtime.supervisor")


@pytest.mark.fault(1, "SIGKILL of `holocron ui`, then of all it started again, in the middle of a request")
def test_a_killed_ui_takes_all_along_and_the_next_goes_on_from_there(
    tmp_path: Path, clean: dict[str, Any]
) -> None:
    with small_and_open(tmp_path) as whole:
        gate = hold_pages(whole.wiki)
        ui = start_ui(whole)
        gate.somebody_waits()
        until(lambda: whole.runs(DagsterRunStatus.STARTED), "the run is known to work")
        ui.kill()
        ui.wait()
        until(lambda: not processes_of(tmp_path), "all that it started is gone", seconds=60)
        assert whole.runs(DagsterRunStatus.STARTED), "nobody is left to say that it died"

        gate.arrived.clear()
        start_ui(whole)
        gate.somebody_waits()
        for process in processes_of(tmp_path):
            os.kill(process, signal.SIGKILL)
        until(lambda: not processes_of(tmp_path), "all is gone", seconds=60)

        gate.opened.set()
        start_ui(whole)
        until_done(whole)
        expect_order(whole, clean, kills=2)


@pytest.mark.fault(
    1,
    "SIGKILL of a run worker, of the process that forks these, of the one that holds the code, of the daemon,"
    " of the supervisor",
)
def test_the_process_group_comes_back_and_finishes_whichever_process_is_killed(
    tmp_path: Path, clean: dict[str, Any]
) -> None:
    with small_and_open(tmp_path) as whole:
        gate = hold_pages(whole.wiki)
        ui = start_ui(whole)
        for victim in (run_at_work, forks_runs, with_code, daemon):
            end_one_at_work(whole, gate, victim, signal.SIGKILL)
        gate.somebody_waits()
        gate.opened.set()
        until_done(whole)
        assert ui.poll() is None, "no hand was needed"

        os.kill(supervisor(tmp_path), signal.SIGKILL)
        assert ui.wait(60) == 1
        until(lambda: not processes_of(tmp_path), "who has no supervisor is ended", seconds=60)
        expect_order(whole, clean, kills=5)


@pytest.mark.fault(1, "a run worker, the daemon and the process that holds the code asked to stop, at work")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_the_process_group_finishes_whichever_process_is_asked_to_stop(
    tmp_path: Path, clean: dict[str, Any], number: signal.Signals
) -> None:
    with small_and_open(tmp_path) as whole:
        gate = hold_pages(whole.wiki)
        ui = start_ui(whole)
        for victim in (run_at_work, daemon):
            end_one_at_work(whole, gate, victim, number)
        gate.somebody_waits()
        code = with_code(tmp_path)
        os.kill(code, number)
        gate.opened.set()  # it ends once the run has that it started, as Dagster has it; another takes over
        until_done(whole)
        until(lambda: code not in processes_of(tmp_path), "it ends", seconds=60)
        assert ui.poll() is None, "no hand was needed"
        expect_order(whole, clean, kills=3)


def end_one_at_work(
    whole: WholeHolocron, gate: Gate, victim: Callable[[Path], int], number: signal.Signals
) -> None:
    gate.somebody_waits()
    gate.arrived.clear()
    until(lambda: whole.runs(DagsterRunStatus.STARTED), "the run is known to work")
    process = victim(whole.holocron.folder)
    os.kill(process, number)
    until(lambda: process not in processes_of(whole.holocron.folder), "it ends", seconds=120)


@pytest.mark.fault(1, "SIGTERM of `holocron ui` in the middle of a request that hangs")
def test_a_ui_that_is_asked_to_stop_ends_its_runs_in_order(tmp_path: Path, clean: dict[str, Any]) -> None:
    with small_and_open(tmp_path) as whole:
        gate = hold_pages(whole.wiki)
        ui = start_ui(whole)
        gate.somebody_waits()
        until(lambda: whole.runs(DagsterRunStatus.STARTED), "the run is known to work")
        ui.terminate()
        assert ui.wait(120) == 0
        assert "What was done is kept" in whole.log.read_text()
        assert not processes_of(tmp_path)
        assert not whole.runs(DagsterRunStatus.STARTED), "its run said itself that it ended"
        gate.opened.set()
        expect_order(whole, clean, kills=1)
