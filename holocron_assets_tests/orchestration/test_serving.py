"""What `holocron ui`, `daemon` and `webserver` refuse before they start anything, and whose the runs are."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar, NoReturn

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster import DagsterRunStatus
from filelock import FileLock
from sample_holocron import Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.derive.server.process.connection import running_server
from holocron_assets.lake.place import clock
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.orchestration.internals.instance import open_instance, open_to_read, reap_without_daemon
from holocron_assets.orchestration.runtime import services as serving
from holocron_assets.orchestration.runtime.process_group import (
    LOAD_ANEW,
    Duties,
    ProcessGroup,
    ProcessGroupError,
    end_leftovers,
)
from holocron_assets.orchestration.runtime.services import SharedModels, serve
from holocron_assets.orchestration.runtime.supervisor import Supervisor
from holocron_assets.telemetry.logs import configure_logs

ON_A_FULL_DISK = """
import os, resource, signal, sys
from pathlib import Path
from holocron_assets.orchestration.runtime.process_group import Duties, ProcessGroup
from holocron_assets.orchestration.runtime.supervisor import Supervisor

class OnAFullDisk(ProcessGroup):
    starts = 0

    def start(self, pause):
        self.starts += 1
        if self.starts > 1:
            os.kill(os.getpid(), signal.SIGTERM)
            pause()
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # no byte can be written
        try:
            super().start(pause)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

folder = Path(sys.argv[1])
group = OnAFullDisk(folder / "group.lock", folder, Duties(daemon=True, port=None))
sys.exit(Supervisor(group, has_daemon=False).keep())
"""

ABANDONED = """
import os, signal, sys
from pathlib import Path
from time import sleep
from holocron_assets.orchestration.runtime.process_group import Duties, ProcessGroup
from holocron_assets.orchestration.runtime.supervisor import Supervisor

class Abandoned(ProcessGroup):
    def start(self, pause):
        sleep(1)  # meanwhile it is seen that the input is closed
        os.kill(os.getpid(), signal.SIGTERM)
        pause()

folder = Path(sys.argv[1])
group = Abandoned(folder / "group.lock", folder, Duties(daemon=True, port=None))
sys.exit(Supervisor(group, has_daemon=False).keep())
"""


class SlowToLoad(ProcessGroup):
    """A process group without processes. While its code is loaded, the clock is set back by two hours."""

    did: ClassVar[list[str]] = []

    def start(self, pause: Callable[[], None]) -> None:
        pause()
        self.did.append("start")

    def code_problem(self) -> str | None:
        vars(clock)["time"] = lambda: time.time() - 7200
        return None

    def check(self) -> None:
        if "start daemon" in self.did:
            raise ProcessGroupError("it was seen")

    def end_daemon(self, pause: Callable[[], None]) -> None:
        pause()
        self.did.append("end daemon")

    def start_daemon(self) -> None:
        self.did.append("start daemon")


class Broken(ProcessGroup):
    """A process group without processes, whose code cannot be loaded."""

    def start(self, pause: Callable[[], None]) -> None:
        pause()

    def code_problem(self) -> str | None:
        return "SyntaxError: invalid syntax"

    def check(self) -> None:
        raise ProcessGroupError("it was seen")


@pytest.fixture
def holocron(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    made = sample_holocron(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def refusal(*command: str) -> str:
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1, done.output
    assert isinstance(done.exception, SystemExit)
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["daemon", "ui"])
def test_a_lake_has_one_daemon_whichever_command_started_it(holocron: Holocron, command: str) -> None:
    with FileLock(holocron.lake.locks / "daemon.lock"):
        said = refusal(command)
    assert f"a `holocron ui` or `holocron daemon` works on {holocron.lake.root} already" in said
    assert "`holocron webserver`, which works next to it" in said


def test_a_webserver_may_run_next_to_a_daemon_but_not_next_to_another_on_its_port(
    holocron: Holocron, taken: int
) -> None:
    with FileLock(holocron.lake.locks / "daemon.lock"):
        assert f"port {taken} of 127.0.0.1 cannot be used" in refusal("webserver", "--port", str(taken))
    with FileLock(holocron.lake.locks / f"webserver-{taken}.lock"):
        said = refusal("webserver", "--port", str(taken))
    assert f"another `holocron webserver` serves {holocron.lake.root} on port {taken}; end it first" in said


@pytest.mark.usefixtures("holocron")
def test_a_command_that_only_reads_changes_no_runs_and_no_limits() -> None:
    @dg.job
    def some_job() -> None:
        pass

    with open_instance() as instance:
        run_id = instance.create_run_for_job(some_job, status=DagsterRunStatus.STARTED).run_id
        instance.event_log_storage.set_concurrency_slots("crawl", 7)
    with open_to_read() as instance:
        assert status_of(instance, run_id) == DagsterRunStatus.STARTED
        assert instance.event_log_storage.get_concurrency_info("crawl").slot_count == 7
    reap_without_daemon()
    with open_to_read() as instance:
        assert status_of(instance, run_id) == DagsterRunStatus.FAILURE
        assert instance.event_log_storage.get_concurrency_info("crawl").slot_count == 3


def status_of(instance: dg.DagsterInstance, run_id: str) -> DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


@pytest.mark.parametrize(
    ("duties", "name", "command"),
    [
        (Duties(daemon=True, port=3000), "daemon", "holocron ui"),
        (Duties(daemon=True, port=None), "daemon", "holocron daemon"),
        (Duties(daemon=False, port=3001), "webserver-3001", "holocron webserver"),
    ],
    ids=str,
)
def test_a_process_group_is_named_after_the_duty_that_only_one_may_have(
    duties: Duties, name: str, command: str
) -> None:
    assert (duties.name, duties.command) == (name, command)


@pytest.mark.full
def test_a_model_server_that_did_not_start_at_first_is_tried_again(
    holocron: Holocron, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.setenv("HOLOCRON_LLM", "auto")
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "no number")
    with SharedModels() as models:
        monkeypatch.delenv("OLLAMA_NUM_PARALLEL")
        for _ in range(2):
            models.check()
        assert running_server() is None, "not at once"
        models.check()
        assert running_server() is not None
    assert running_server() is None, f"it outlives the daemon of {holocron.folder}"
    assert "OLLAMA_NUM_PARALLEL is 'no number'" in capsys.readouterr().err


@pytest.mark.usefixtures("holocron")
def test_wrong_settings_are_reported_once_and_do_not_end_the_daemon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLOCRON_LLM", "perhaps")
    with SharedModels() as models:
        for _ in range(10):
            models.check()
    assert capsys.readouterr().err.count("HOLOCRON_LLM is 'perhaps'") == 1


@pytest.mark.usefixtures("holocron")
def test_a_machine_that_starts_no_more_processes_does_not_end_the_daemon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_process() -> NoReturn:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(serving, "running_server", lambda: None)
    monkeypatch.setattr(serving, "model_server", no_process)
    with SharedModels() as models:
        for _ in range(10):
            models.check()
    assert "it is tried again later: Resource temporarily unavailable" in capsys.readouterr().err


@pytest.mark.usefixtures("holocron")
@pytest.mark.parametrize("problem", [FolderGoneError("the disk is gone"), OSError(errno.EIO, "broken")])
def test_a_disk_that_is_gone_for_a_moment_does_not_end_the_daemon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem: Exception
) -> None:
    def gone() -> NoReturn:
        raise problem

    monkeypatch.setattr(serving, "running_server", lambda: None)
    monkeypatch.setattr(serving, "model_server", lambda: nullcontext("a server"))
    with SharedModels() as models:
        monkeypatch.setattr(serving, "running_server", gone)
        monkeypatch.setattr(serving, "model_server", gone)
        for _ in range(10):
            models.check()
    assert f"it is tried again later: {problem}" in capsys.readouterr().err


def test_the_log_of_a_model_server_that_lives_for_long_stays_small(
    holocron: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "running_server", lambda: "http://127.0.0.1:9")
    monkeypatch.setattr(serving, "model_server", lambda: nullcontext("a server"))
    log = holocron.lake.locks / "model-server.log"
    with SharedModels() as models:
        for megabytes, kept in ((9, 9), (11, 0)):
            log.write_bytes(b"x" * megabytes * 1_000_000)
            models.check()
            assert log.stat().st_size == kept * 1_000_000


@pytest.mark.system
def test_processes_are_started_again_after_a_disk_was_full_and_none_is_left(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ON_A_FULL_DISK, str(tmp_path)]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stderr
        said = supervisor.stderr.read()
    assert (supervisor.returncode, "File too large. All of it is started again" in said) == (0, True), said
    assert not end_leftovers(tmp_path / "group.lock"), "a process holds the lock"


@pytest.fixture
def own_signals() -> Iterator[None]:
    """What this process does when signals come is as before once the test is over."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, LOAD_ANEW)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("own_signals")
def test_a_process_asked_to_stop_while_its_supervisor_starts_passes_the_signal_on(
    holocron: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start_late(*_: object) -> "subprocess.Popen[bytes]":
        os.kill(os.getpid(), signal.SIGTERM)
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        started.append(subprocess.Popen(command))  # noqa: S603 - the line above
        return started[0]

    monkeypatch.setattr(serving, "_start_supervisor", start_late)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert serve(holocron.lake, Duties(daemon=False, port=port)) == 0
    assert started[0].returncode == -signal.SIGTERM


def test_a_request_to_end_does_not_hide_that_the_command_is_gone(holocron: Holocron, tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", ABANDONED, str(tmp_path)],
        env={**os.environ, **holocron.environment},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 1, "it is killed at once, and nothing waits for it"


@pytest.mark.usefixtures("holocron")
def test_a_clock_that_is_set_back_while_the_code_loads_is_noticed_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "time", time.time)  # so that the end of this test sets it right again
    supervisor = Supervisor(
        SlowToLoad(tmp_path / "group.lock", tmp_path, Duties(daemon=True, port=None)), has_daemon=True
    )
    with pytest.raises(ProcessGroupError, match="it was seen"):
        supervisor._live()  # noqa: SLF001 - `keep` takes over this process's signals
    assert SlowToLoad.did == ["start", "end daemon", "start daemon"]


def test_code_that_cannot_be_loaded_is_an_error_for_who_reads_only_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLOCRON_LOG", "json")
    monkeypatch.setenv("HOLOCRON_LOG_LEVEL", "error")
    configure_logs()
    duties = Duties(daemon=False, port=None)
    supervisor = Supervisor(Broken(tmp_path / "group.lock", tmp_path, duties), has_daemon=False)
    try:
        with pytest.raises(ProcessGroupError, match="it was seen"):
            supervisor._live()  # noqa: SLF001 - `keep` takes over this process's signals
    finally:
        configure_logs({})
    [line] = capsys.readouterr().err.splitlines()
    assert "nothing is done until it can: SyntaxError: invalid syntax" in json.loads(line)["event"]
    assert json.loads(line)["level"] == "error"
