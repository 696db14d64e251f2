"""The embedded server is killed while a run asks a real model of one slot, whose choices repeat."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest
from asked_holocron import write_interrogation
from held import processes_of
from sample_holocron import Holocron
from unattended import free_port
from whole_holocron import BIN, start_group, until
from wiki_lake import write_wiki

from holocron_assets.derive.gpu.slots import NotedLock
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = [pytest.mark.full, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

Children = Callable[[int], list[int]]

MODEL = "smollm2:135m"
BATCH = "wiki-000001"
PAGES = 10
# Choices, and no prose: the last bits of a model's figures depend on which beginnings of prompts are in its
# cache, and one that was killed has none. That tips a word now and then, but no choice between these.
SCHEMA = {
    "type": "object",
    "required": ["kind", "craft"],
    "properties": {
        "kind": {"type": "string", "enum": ["person", "place", "animal"], "description": "What it is"},
        "craft": {"type": "string", "enum": ["pilot", "smith", "cook"], "description": "What it does"},
    },
}
RUN = """
from holocron_assets.definitions import defs
from holocron_assets.orchestration.internals.instance import open_instance
with open_instance() as instance:
    job = defs.resolve_job_def("derive")
    print(job.execute_in_process(instance=instance, raise_on_error=False).success, flush=True)
"""


class Asking:
    """A Holocron that asks the embedded server about a few pages."""

    def __init__(self, folder: Path, model_file: Path) -> None:
        folder.mkdir()
        self.holocron = Holocron(folder)
        self.holocron.sources_folder.mkdir()
        titles = [f"Page {number}" for number in range(PAGES)]
        write_wiki(self.lake, {title: f"'''{title}''' is a pilot." for title in titles}, BATCH)
        options = {"num_ctx": 1024, "num_predict": 40}
        write_interrogation(folder, "about", MODEL, 500, answer_schema=SCHEMA, options=options)
        self.environment = {
            **os.environ,
            **self.holocron.environment,
            "HOLOCRON_LLM": "embedded",
            "HOLOCRON_MODELS": str(folder / "models"),
            "HOLOCRON_MODEL_FILES": str(model_file),
            "HOLOCRON_INTERROGATIONS": str(folder / "interrogations"),
            "OLLAMA_NUM_PARALLEL": "1",
        }

    @property
    def lake(self) -> Lake:
        return self.holocron.lake

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-W", "ignore", "-c", RUN],
            cwd=PROJECT_FOLDER,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @contextmanager
    def unattended(self) -> "Iterator[subprocess.Popen[bytes]]":
        """`holocron ui`, whose sensors find the work; it is gone with all it started in the end."""
        command = [str(BIN / "holocron"), "ui", "--port", str(free_port())]
        process = start_group(command, self.environment, self.holocron.folder / "ui.log")
        try:
            yield process
        finally:
            process.terminate()
            process.wait(120)

    def finish(self) -> dict[str, str]:
        """Run until all is answered: what was under way is due again after half a minute."""
        deadline = monotonic() + 960
        while True:
            with self.start() as process:
                process.communicate(timeout=800)
            if len(found := self.answers()) == PAGES:
                return found
            assert monotonic() < deadline, self.rows()
            sleep(1)

    def rows(self) -> list[Row]:
        names = self.lake.partitions(LLM_RUNS)
        return [row for name in names for row in read_partition(self.lake, LLM_RUNS, name)]

    def answers(self) -> dict[str, str]:
        return {str(row["subject"]): str(row["output"]) for row in self.rows() if row["status"] == "ok"}

    def journaled(self) -> int:
        """Answers that are in the journal by now."""
        journal = self.lake.journal(LLM_RUNS, f"about-{BATCH}")
        return journal.read_bytes().count(b'"status":"ok"') if journal.exists() else 0


@pytest.fixture(scope="module")
def undisturbed(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the model answers if nothing happens to it."""
    return Asking(tmp_path_factory.mktemp("undisturbed") / "one", model_file).finish()


@pytest.mark.fault(9, "SIGKILL in the middle of a run that asks the embedded server")
@pytest.mark.parametrize("whom", ["the model, as for want of memory", "the server", "each in turn"])
def test_answers_are_those_of_an_undisturbed_run(
    tmp_path: Path, model_file: Path, undisturbed: dict[str, str], children_of: Children, whom: str
) -> None:
    asking = Asking(tmp_path / "one", model_file)

    def kill(*, server: bool, after: int, run: "subprocess.Popen[str]") -> None:
        until(lambda: asking.journaled() >= after or run.poll() is not None, "answers are there")
        assert run.poll() is None, "it ended before it could be disturbed"
        [serving] = [pid for pid in children_of(run.pid) if is_running(pid, "server.serving")]
        [model] = [pid for pid in children_of(serving) if is_running(pid, "process.child")]
        os.kill(serving if server else model, signal.SIGKILL)

    with asking.start() as run:
        if whom != "the server":
            kill(server=False, after=2, run=run)
        if whom != "the model, as for want of memory":
            kill(server=True, after=4, run=run)
        run.communicate(timeout=800)
    assert asking.journaled() >= 2
    assert asking.finish() == undisturbed
    assert {row["status"] for row in asking.rows()} == {"ok"}
    assert max(row["attempts"] for row in asking.rows()) == 1, "a call that we lost counted against its item"
    assert not NotedLock(asking.lake, "gpu-gpu").is_held()


@pytest.mark.fault(1, "SIGKILL of `holocron ui`, all its processes and the embedded server at once")
def test_all_that_is_killed_while_a_real_model_answers_goes_on_from_there(
    tmp_path: Path, model_file: Path, undisturbed: dict[str, str]
) -> None:
    asking = Asking(tmp_path / "one", model_file)
    folder = asking.holocron.folder
    with asking.unattended():
        until(lambda: asking.journaled() >= 2, "answers are there", seconds=300)
        killed = processes_of(folder)
        assert any("process.child" in command for command in killed.values()), killed
        for process in killed:
            os.kill(process, signal.SIGKILL)
        until(lambda: not processes_of(folder), "all is gone", seconds=60)
    assert not asking.answers(), "it was killed after all was done"
    with asking.unattended() as ui:
        until(lambda: len(asking.answers()) == PAGES, "all is answered", seconds=300, every=1)
        ui.terminate()
        assert ui.wait(120) == 0
    assert not processes_of(folder)
    assert asking.answers() == undisturbed
    assert {row["status"] for row in asking.rows()} == {"ok"}
    assert len(asking.rows()) == PAGES


def is_running(pid: int, module: str) -> bool:
    return module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
