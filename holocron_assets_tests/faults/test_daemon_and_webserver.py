"""`holocron daemon` and `holocron webserver` on one data folder: two process groups, and either may end."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from dagster import DagsterRunStatus
from held import hold_pages, process_with, processes_of
from small_and_open import small_and_open
from unattended import expect_order, free_port, serve_ui, until_done
from whole_holocron import WholeHolocron, until, whole_holocron

from holocron_assets.planning.job_names import BATCH_JOB

pytestmark = pytest.mark.full

REPOSITORY = 'repositoryLocationName: "holocron_assets", repositoryName: "__repository__"'
LAUNCH = (
    f'mutation {{ launchRun(executionParams: {{selector: {{{REPOSITORY}, jobName: "check_quality"}}}})'
    " { __typename ... on LaunchRunSuccess { run { runId } } } }"
)
TERMINATE = 'mutation {{ terminateRun(runId: "{}") {{ __typename }} }}'
NEW_PAGES = f'sensorSelector: {{{REPOSITORY}, sensorName: "new_pages"}}'
STATE_OF_SENSOR = f"{{ sensorOrError({NEW_PAGES}) {{ ... on Sensor {{ sensorState {{ id status }} }} }} }}"
START_SENSOR = f"mutation {{ startSensor({NEW_PAGES}) {{ __typename }} }}"
STOP_SENSOR = 'mutation {{ stopSensor(id: "{}") {{ __typename }} }}'


class Webserver:
    """A `holocron webserver` of its own process, and what its pages ask it."""

    def __init__(self, whole: WholeHolocron) -> None:
        before = set(processes_of(whole.holocron.folder))
        self._folder, self.port = whole.holocron.folder, free_port()
        self.process = whole.start("webserver", "--port", str(self.port))
        until(self.answers, "the web UI answers", seconds=300, every=0.5)
        self.processes = set(processes_of(self._folder)) - before

    def ask(self, query: str) -> Any:
        answer = httpx.post(
            f"http://127.0.0.1:{self.port}/graphql", json={"query": query}, trust_env=False, timeout=120
        )
        reply = answer.json()
        assert "errors" not in reply, reply
        [done] = reply["data"].values()
        return done

    def is_gone(self) -> bool:
        return not self.processes & set(processes_of(self._folder))

    def kill_leftovers(self) -> None:
        for process in self.processes & set(processes_of(self._folder)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def answers(self) -> bool:
        with suppress(httpx.TransportError):
            return self.ask("{ version }") is not None
        return False


@contextmanager
def daemon_and_webserver(
    folder: Path,
) -> Iterator[tuple[WholeHolocron, "subprocess.Popen[bytes]", Webserver]]:
    with small_and_open(folder) as whole:
        web = Webserver(whole)
        yield whole, whole.start("daemon"), web


def batch_runs(whole: WholeHolocron, status: DagsterRunStatus) -> list[str]:
    return [run.run_id for run in whole.runs(status) if run.job_name == BATCH_JOB]


def test_what_the_webserver_launches_and_switches_is_done_by_the_daemon(tmp_path: Path) -> None:
    with whole_holocron(tmp_path, pages=0) as whole:
        gate = hold_pages(whole.wiki)
        web = Webserver(whole)  # where there is no data yet
        state = web.ask(STATE_OF_SENSOR)["sensorState"]
        assert state["status"] == "RUNNING"
        assert web.ask(STOP_SENSOR.format(state["id"]))["__typename"] != "PythonError"
        launched = web.ask(LAUNCH)
        assert launched["__typename"] == "LaunchRunSuccess"
        run_id = launched["run"]["runId"]
        assert [run.status for run in whole.runs()] == [DagsterRunStatus.QUEUED], "there is no daemon"

        daemon = whole.start("daemon")
        until(lambda: succeeded(whole, run_id), "the daemon does what was launched", seconds=300, every=0.5)
        until(lambda: ticks(whole, "settle") > 2, "other sensors tick", seconds=120, every=1)
        assert ticks(whole, "new_pages") == 0
        assert web.ask(START_SENSOR)["__typename"] == "Sensor"
        gate.somebody_waits()
        gate.opened.set()

        for process in (web.process, daemon):
            process.terminate()
        assert (web.process.wait(120), daemon.wait(120)) == (0, 0)
        assert not processes_of(tmp_path)


LOADS_UNLESS_TORN = """
import pathlib, sys
if pathlib.Path({torn!r}).exists():
    sys.modules["holocron_assets.orchestration.schedules.clock"] = None  # importing it fails
"""


def test_code_that_cannot_be_reloaded_is_reported_and_sensors_tick_once_it_is_repaired(
    tmp_path: Path,
) -> None:
    with whole_holocron(tmp_path, pages=0) as whole:
        assert whole.command("home").returncode == 0
        torn, refusal = tmp_path / "torn", "nothing is done until it can: "
        (tmp_path / "sitecustomize.py").write_text(LOADS_UNLESS_TORN.format(torn=str(torn)), encoding="utf-8")
        whole.environment["PYTHONPATH"] = str(tmp_path)
        daemon = whole.start("daemon")
        until(lambda: ticks(whole, "settle"), "sensors tick", seconds=180, every=1)
        torn.touch()
        daemon.send_signal(signal.SIGUSR1)
        until(lambda: refusal in whole.log.read_text(), "the log says so", every=1)
        assert "schedules.clock" in whole.log.read_text().rpartition(refusal)[2]
        torn.unlink()
        before = ticks(whole, "settle")
        daemon.send_signal(signal.SIGUSR1)
        until(lambda: ticks(whole, "settle") > before + 1, "sensors tick again", seconds=180, every=1)
        daemon.terminate()
        assert daemon.wait(120) == 0


def succeeded(whole: WholeHolocron, run_id: str) -> bool:
    with whole.instance() as instance:
        run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.status != DagsterRunStatus.FAILURE
    return run.status == DagsterRunStatus.SUCCESS


def ticks(whole: WholeHolocron, sensor: str) -> int:
    with whole.instance() as instance:
        found = [state for state in instance.all_instigator_state() if state.name == sensor]
        return sum(len(instance.get_ticks(state.instigator_origin_id, state.selector_id)) for state in found)


@pytest.mark.fault(1, "SIGKILL of `holocron webserver` in the middle of a run; Terminate by the next one")
def test_a_run_does_not_notice_that_the_webserver_is_killed_and_the_next_one_can_end_it(
    tmp_path: Path, clean: dict[str, Any]
) -> None:
    with daemon_and_webserver(tmp_path) as (whole, daemon, web):
        gate = hold_pages(whole.wiki)
        gate.somebody_waits()
        until(lambda: batch_runs(whole, DagsterRunStatus.STARTED), "the run is known to work")
        [run_id] = batch_runs(whole, DagsterRunStatus.STARTED)
        working = set(processes_of(tmp_path)) - web.processes
        web.process.kill()
        web.process.wait()
        until(web.is_gone, "all that it started is gone", seconds=60)

        other = Webserver(whole)
        assert working <= set(processes_of(tmp_path)), "the daemon, its code and its run go on"
        assert batch_runs(whole, DagsterRunStatus.STARTED) == [run_id]
        assert other.ask(TERMINATE.format(run_id))["__typename"] == "TerminateRunSuccess"
        until(lambda: run_id in batch_runs(whole, DagsterRunStatus.CANCELED), "it is canceled")
        assert daemon.poll() is None
        gate.opened.set()
        until_done(whole)
        expect_order(whole, clean, kills=1)


@pytest.mark.fault(1, "SIGKILL of `holocron daemon` in the middle of a run, then of all it started again")
def test_a_killed_daemon_takes_its_own_along_and_leaves_the_webserver(
    tmp_path: Path, clean: dict[str, Any]
) -> None:
    with daemon_and_webserver(tmp_path) as (whole, daemon, web):
        gate = hold_pages(whole.wiki)
        gate.somebody_waits()
        until(lambda: whole.runs(DagsterRunStatus.STARTED), "the run is known to work")
        daemon.kill()
        daemon.wait()
        until(lambda: set(processes_of(tmp_path)) == web.processes, "all that it started is gone", seconds=60)
        assert web.ask("{ version }") is not None

        gate.arrived.clear()
        second = whole.start("daemon")
        gate.somebody_waits()
        for process in set(processes_of(tmp_path)) - web.processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        until(lambda: set(processes_of(tmp_path)) == web.processes, "all is gone", seconds=60)
        second.wait()

        gate.opened.set()
        whole.start("daemon")
        until_done(whole)
        expect_order(whole, clean, kills=2)


def test_the_daemon_loads_its_code_anew_while_a_run_goes_on(tmp_path: Path) -> None:
    with whole_holocron(tmp_path, pages=0) as whole:
        gate = hold_pages(whole.wiki)
        daemon = whole.start("daemon")
        gate.somebody_waits()
        until(lambda: batch_runs(whole, DagsterRunStatus.STARTED), "the run is known to work")
        [run_id] = batch_runs(whole, DagsterRunStatus.STARTED)
        with (whole.holocron.sources_folder / "tiny.yaml").open("a") as file:
            file.write('changes: {recheck: {cron: "0 3 * * 0"}}\n')
        assert not is_known(whole, "recheck_tiny")
        daemon.send_signal(signal.SIGUSR1)  # what its unit's ExecReload sends
        until(lambda: is_known(whole, "recheck_tiny"), "it knows the schedule", seconds=240, every=1)
        assert batch_runs(whole, DagsterRunStatus.STARTED) == [run_id]
        gate.opened.set()
        until(lambda: succeeded(whole, run_id), "the run goes on")
        assert daemon.poll() is None
        assert "started again" not in whole.log.read_text()


def is_known(whole: WholeHolocron, name: str) -> bool:
    with whole.instance() as instance:
        return name in {state.name for state in instance.all_instigator_state()}


CLOCK_SET_BACK_ONCE_ASKED = """
import os, pathlib, threading, time, types, time_machine

is_set_back = threading.Event()

def follow():
    while not pathlib.Path({asked!r}).exists():
        time.sleep(0.1)
    import grpc._channel, grpc._server
    time_machine.travel(time.time() - 7200).start()
    time.time()  # the clock goes on from the first look at it
    machine = types.SimpleNamespace(**{{**vars(time), "time": time_machine.escape_hatch.time.time}})
    grpc._channel.time = grpc._server.time = machine  # the clock of gRPC's core
    is_set_back.set()

def follow_too():  # a process that is forked has its parent's clock, and none of its threads
    if not is_set_back.is_set():
        threading.Thread(target=follow, daemon=True).start()

follow_too()
os.register_at_fork(after_in_child=follow_too)
"""


@pytest.mark.fault(8, "clock set back two hours below `holocron daemon`, one of its runs and the webserver")
def test_a_daemon_whose_clock_is_set_back_starts_runs_at_once_and_those_under_way_do_not_notice(
    tmp_path: Path,
) -> None:
    with whole_holocron(tmp_path, pages=0) as whole:
        gate, asked = hold_pages(whole.wiki), tmp_path / "asked"
        moved = CLOCK_SET_BACK_ONCE_ASKED.format(asked=str(asked))
        (tmp_path / "sitecustomize.py").write_text(moved, encoding="utf-8")
        whole.environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        web, daemon = Webserver(whole), whole.start("daemon")
        gate.somebody_waits()
        until(lambda: batch_runs(whole, DagsterRunStatus.STARTED), "the run is known to work")
        [run_id] = batch_runs(whole, DagsterRunStatus.STARTED)
        old = process_with(tmp_path, "dagster._daemon")
        others = set(processes_of(tmp_path)) - {old}

        asked.touch()
        until(lambda: "The clock was set back" in whole.log.read_text(), "it is noticed")
        launched = web.ask(LAUNCH)["run"]["runId"]
        until(lambda: succeeded(whole, launched), "a run leaves the queue", seconds=60, every=0.5)
        left = set(processes_of(tmp_path))
        assert old not in left
        assert others <= left
        assert batch_runs(whole, DagsterRunStatus.STARTED) == [run_id]
        gate.opened.set()
        until(lambda: succeeded(whole, run_id), "the run goes on")
        assert daemon.poll() is None
        assert "All of it is started again" not in whole.log.read_text()


@pytest.mark.fault(1, "SIGKILL of `holocron webserver` and its supervisor at once: the port is still taken")
def test_a_webserver_whose_supervisor_was_killed_too_is_ended_by_the_next_on_its_port(tmp_path: Path) -> None:
    with whole_holocron(tmp_path, pages=0) as whole:
        web = Webserver(whole)
        web.process.send_signal(signal.SIGSTOP)  # it would end what its supervisor leaves
        os.kill(process_with(tmp_path, "runtime.supervisor"), signal.SIGKILL)
        web.process.kill()
        web.process.wait()
        try:
            assert web.ask("{ version }") is not None, "nobody is left to end it"
            second = whole.start("webserver", "--port", str(web.port))
            until(web.is_gone, "it is ended", seconds=60)
        finally:
            web.kill_leftovers()
        until(web.answers, "the next one answers in its place", seconds=300, every=0.5)
        assert second.poll() is None
        assert "Ended processes that a killed `holocron webserver` had left" in whole.log.read_text()


def test_a_lake_has_one_daemon_and_a_port_one_webserver(tmp_path: Path) -> None:
    with whole_holocron(tmp_path, pages=0) as whole:
        daemon, web = whole.start("daemon"), Webserver(whole)
        for second in (["daemon"], ["ui", "--port", str(free_port())]):
            done = whole.command(*second)
            assert done.returncode == 1
            assert f"works on {tmp_path / 'data'} already" in done.stderr
        done = whole.command("webserver", "--port", str(web.port))
        assert done.returncode == 1
        assert f"on port {web.port}; end it first" in done.stderr
        assert daemon.poll() is None

    with whole_holocron(tmp_path / "other", pages=0) as whole:
        ui, address = serve_ui(whole)
        until(lambda: _listens(address), "it answers", seconds=300, every=0.5)
        done = whole.command("daemon")
        assert done.returncode == 1
        assert "`holocron ui` or `holocron daemon` works on" in done.stderr
        done = whole.command("webserver", "--port", address.rpartition(":")[2])
        assert done.returncode == 1
        assert "cannot be used" in done.stderr
        assert ui.poll() is None


def _listens(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{address}/server_info", trust_env=False, timeout=60).status_code == 200
    return False
