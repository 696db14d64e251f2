"""A code server forks the processes of runs from one that has imported the libraries."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_ollama import comes_true

from holocron_assets.orchestration.internals.runs import LIBRARIES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="runs are forked on Linux only")

SERVER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import its_run
from multiprocessing.forkserver import set_forkserver_preload
from holocron_assets.orchestration.internals.runs import LIBRARIES, RunProcess
if __name__ == "__main__":
    set_forkserver_preload(list(LIBRARIES) if sys.argv[2] == "all" else [])
    run = RunProcess(target=its_run.work)
    run.start()
    run.join()
    print(run.exitcode, flush=True)
"""
LIST_MODULES = """
import json, sys
print(json.dumps(list(sys.modules)), flush=True)
"""
WAIT = """
import os, time
print(os.getpid(), os.getppid(), flush=True)
time.sleep(300)
"""
END_IN_ORDER = """
import atexit, os, signal, time
def on_signal(*_):
    time.sleep(1)
    raise SystemExit(7)
signal.signal(signal.SIGTERM, on_signal)
atexit.register(print, "at exit", flush=True)
print(os.getpid(), os.getppid(), flush=True)
time.sleep(300)
"""


@contextmanager
def server_with_run(
    folder: Path, run: str, *, libraries: str = "none", **environment: str
) -> Iterator["subprocess.Popen[str]"]:
    """A server in a process group of its own, which starts a run and prints the exit code of its process."""
    indented = "".join(f"    {line}\n" for line in run.splitlines())
    (folder / "its_run.py").write_text(f"def work():\n{indented}")
    (folder / "server.py").write_text(SERVER)
    command = [sys.executable, str(folder / "server.py"), str(folder), libraries]
    with subprocess.Popen(  # noqa: S603 - our own program
        command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, process_group=0
    ) as server:
        try:
            yield server
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def modules_of(code: str) -> Sequence[str]:
    """The names of the modules that some code imports, in a process of its own."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code + LIST_MODULES], capture_output=True, text=True, check=True
    )
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    return names


def of_libraries(names: Sequence[str]) -> set[str]:
    ours = {"holocron_assets", "its_run", "__main__", "__mp_main__"}
    return {name for name in names if name.partition(".")[0] not in {*ours, *sys.stdlib_module_names}}


def test_nearly_all_libraries_that_the_code_imports_are_imported_before_a_run_begins() -> None:
    forked = modules_of("".join(f"import {name}\n" for name in LIBRARIES))
    needed = of_libraries(modules_of("import dagster._grpc.impl, holocron_assets.definitions"))
    missing = needed - set(forked)
    assert len(missing) < len(needed) / 20, sorted(missing)


def test_a_run_begins_with_the_libraries_and_imports_our_modules_itself(tmp_path: Path) -> None:
    wrong_address = {"OLLAMA_HOST": "http://[", "HOLOCRON_LLM": "off"}
    with server_with_run(tmp_path, LIST_MODULES, libraries="all", **wrong_address) as server:
        assert server.stdout is not None
        modules = set(json.loads(server.stdout.readline()))
    assert modules >= set(LIBRARIES)
    of_people = {"holocron_assets.definitions", "holocron_assets.planning.batch_derivations"}
    assert not modules & of_people, "they read files that people edit"


@pytest.mark.fault(1, "SIGKILL of the process that forks runs: the code server says that the run died")
def test_a_run_dies_with_the_process_that_forked_it(tmp_path: Path) -> None:
    with server_with_run(tmp_path, WAIT) as server:
        assert server.stdout is not None
        run, forks = map(int, server.stdout.readline().split())
        os.kill(forks, signal.SIGKILL)
        assert int(server.stdout.readline()), "it did not end well"
        assert comes_true(lambda: not Path(f"/proc/{run}").exists())


@pytest.mark.fault(1, "SIGTERM of all processes at once: a run ends in order, and its server hears how")
def test_a_run_that_is_asked_to_end_with_all_others_ends_in_order(tmp_path: Path) -> None:
    with server_with_run(tmp_path, END_IN_ORDER) as server:
        assert server.stdout is not None
        for process in map(int, server.stdout.readline().split()):
            os.kill(process, signal.SIGTERM)
        assert server.stdout.read() == "at exit\n7\n"
