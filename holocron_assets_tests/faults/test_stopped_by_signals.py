"""A process that is asked to stop, or has lost the process that started it, ends in order, and once."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic

import dagster as dg
import pytest
from crawl_rows import put_manifest, wiki_source
from dagster import DagsterRunStatus
from fake_ollama import comes_true
from held import hold_pages
from tiny_wiki import tiny_wiki

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.readers import page_reader
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.retries import NETWORK
from holocron_assets.orchestration.runtime.process_group import end_leftovers

MEMBER = """
import fcntl, os, subprocess, sys, time
lock = open(sys.argv[1], "a+")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.write(str(os.getpid()))
lock.flush()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
print(child.pid, flush=True)
time.sleep(300)
"""
WAITER = """
import os, signal, sys, time
from holocron_assets.interrupts import end_if_asked, ending_by_signal
with ending_by_signal():
    if sys.argv[1] == "deaf":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
    print("ready", flush=True)
    while True:
        time.sleep(0.05)
        end_if_asked()
"""
CODE_SERVER = """
import sys
sys.path.insert(0, sys.argv[1])
import orphan_run
from holocron_assets.orchestration.internals.runs import RunProcess
if __name__ == "__main__":
    run = RunProcess(target=orphan_run.work)
    run.start()
    run.join()
"""


@pytest.mark.fault(1, "SIGKILL of `holocron ui` and its supervisor at once: their processes are left")
def test_a_process_group_without_a_supervisor_is_found_and_killed_whole(
    tmp_path: Path,
) -> None:
    lock_file = tmp_path / "locks" / "group.lock"
    assert not end_leftovers(lock_file), "there is none"
    member = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", MEMBER, str(lock_file)], stdout=subprocess.PIPE, text=True, process_group=0
    )
    with member:
        assert member.stdout is not None
        child = int(member.stdout.readline())
        assert end_leftovers(lock_file)
        assert member.wait(10) == -signal.SIGKILL
    assert not _lives(child)
    assert not end_leftovers(lock_file)


@pytest.mark.fault(1, "SIGTERM and Ctrl+C of a command, also while Dagster holds signals back")
@pytest.mark.parametrize("hearing", ["listening", "deaf"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_that_is_asked_to_stop_exits_as_shells_expect(
    hearing: str, number: signal.Signals, code: int
) -> None:
    command = [sys.executable, "-c", WAITER, hearing]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiter:  # noqa: S603 - our own program
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == "ready\n"
        waiter.send_signal(number)
        try:
            assert waiter.wait(30) == code
        finally:
            waiter.kill()


@pytest.mark.fault(1, "Terminate of a run whose op has retries left")
def test_an_op_that_is_asked_to_stop_is_not_retried() -> None:
    tries = []

    @dg.op(retry_policy=NETWORK)
    def waits() -> None:
        with clear_failures():
            tries.append(1)
            signal.raise_signal(signal.SIGINT)

    @dg.job(executor_def=dg.in_process_executor)
    def waiting() -> None:
        waits()

    with dg.DagsterInstance.ephemeral() as instance:
        done = waiting.execute_in_process(instance=instance, raise_on_error=False)
        assert instance.get_runs()[0].status == DagsterRunStatus.FAILURE
    assert not done.success
    assert len(tries) == 1


@pytest.mark.fault(1, "Ctrl+C while a wiki does not answer")
def test_a_crawl_that_is_asked_to_stop_gives_up_a_request_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.fetch._SECONDS_TO_FINISH", 0.2)
    lake = Lake(tmp_path / "data")
    put_manifest(lake, "wiki-000001", "Lamp")
    with tiny_wiki() as wiki:
        gate = hold_pages(wiki)
        source = wiki_source(address=wiki.api_url)

        def interrupt() -> None:
            gate.somebody_waits()
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        started = monotonic()
        with (
            pytest.raises(KeyboardInterrupt),
            page_reader(
                lake, source, "wiki-000001", lambda _, **_flags: ([], [], None), tmp_path / "shared"
            ) as reader,
        ):
            fetch_batch(lake, "wiki-000001", reader, "test")
        assert monotonic() - started < 20, "a request may take a minute"
        gate.opened.set()


@pytest.mark.fault(1, "SIGKILL of a code server: its run is an orphan")
def test_a_run_ends_with_its_code_server(tmp_path: Path) -> None:
    (tmp_path / "orphan_run.py").write_text(
        "import os, time\n"
        "from holocron_assets.orchestration.runs.orphans import end_with_code_server\n"
        "def work():\n"
        "    end_with_code_server()\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(300)\n"
    )
    (tmp_path / "server.py").write_text(CODE_SERVER)
    command = [sys.executable, str(tmp_path / "server.py"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own program
        assert server.stdout is not None
        run = int(server.stdout.readline())
        server.kill()
        server.wait()
        assert server.stdout.read() == "", "its output is closed once the run ends"
    # A process closes its files a moment before the kernel says that it is gone.
    assert comes_true(lambda: not _lives(run))


def _lives(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
