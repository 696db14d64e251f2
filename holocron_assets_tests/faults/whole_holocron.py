"""A whole Holocron whose processes are real: a test starts them, kills them, and checks what is left."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter
from dagster_at import dagster_at
from fake_mediawiki import FakeWiki
from fake_ollama import Chat, FakeOllama
from sample_holocron import SAMPLE_EXPORT, Holocron
from tiny_wiki import TEXTS, add_tiny_source, copy_of_export, tiny_wiki

from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import PROJECT_FOLDER

BIN = Path(sys.executable).parent
MODEL = "qwen2.5-coder:1.5b"
_AT_LOAD = 4
"""How much longer all takes on a machine that others use too."""
UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.CANCELING,
]


@dataclass
class WholeHolocron:
    """A Holocron in a folder of its own, the wiki and the model server that it asks, and its processes.

    Attributes:
        holocron: its folders.
        wiki: the fake wiki of source `tiny`; it may be made to misbehave.
        ollama: the fake model server; the same prompt gets the same answer.
        environment: what its processes get besides this process's own; a test may add to it.
        started: the processes that were started, oldest first. Each leads a group of its own.
    """

    holocron: Holocron
    wiki: FakeWiki
    ollama: FakeOllama
    environment: dict[str, str] = field(default_factory=dict)
    started: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def lake(self) -> Lake:
        return self.holocron.lake

    def command(self, *arguments: str, seconds: float = 900) -> "subprocess.CompletedProcess[str]":
        """Run a `holocron` command to its end, however it ends."""
        return subprocess.run(  # noqa: S603 - our own command
            [str(BIN / "holocron"), *arguments],
            env=self._whole_environment(),
            cwd=PROJECT_FOLDER,
            capture_output=True,
            text=True,
            timeout=seconds * _AT_LOAD,
            check=False,
        )

    def start(self, *arguments: str, program: str = "holocron") -> "subprocess.Popen[bytes]":
        """Start a command as the leader of a process group; what it says goes to `log`."""
        process = start_group([str(BIN / program), *arguments], self._whole_environment(), self.log)
        self.started.append(process)
        return process

    def start_daemon(self) -> "subprocess.Popen[bytes]":
        """Start the daemon alone, without the web UI; its code server and runs are in its process group."""
        done = self.command("home")
        assert done.returncode == 0, done.stderr
        return self.start("run", "-w", "workspace.yaml", program="dagster-daemon")

    @property
    def log(self) -> Path:
        return self.holocron.folder / "processes.log"

    def finish(self) -> str:
        """Do by `holocron run` all that is left to do, as a person or a timer would after a restart.

        Returns:
            What it printed.
        """
        done = self.command("run")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def hashes(self) -> dict[str, Any]:
        """The content hash, whole and of each table: what `holocron hash --json` says."""
        done = self.command("hash", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        state: dict[str, Any] = json.loads(done.stdout)
        return state

    def rows(self, table: Table) -> list[Row]:
        """All rows of a table, of all partitions."""
        return [row for name in self.lake.partitions(table) for row in read_partition(self.lake, table, name)]

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        """Dagster's instance, read from outside: nothing is reaped or configured by it."""
        with dagster_at(self.holocron.environment["DAGSTER_HOME"]) as instance:
            yield instance

    def runs(self, *statuses: DagsterRunStatus) -> list[dg.DagsterRun]:
        """The runs, newest first; all of them, or those in some statuses."""
        with self.instance() as instance:
            return list(instance.get_runs(RunsFilter(statuses=list(statuses)) if statuses else None))

    def is_busy(self) -> bool:
        return bool(self.runs(*UNFINISHED))

    def end(self) -> None:
        """Kill whatever is left of what was started; a process group outlives its leader."""
        for process in self.started:
            kill_group(process)

    def _whole_environment(self) -> dict[str, str]:
        return {**os.environ, **self.holocron.environment, **self.environment}


def start_group(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    """Start a command as the leader of a process group; what it says goes to the end of a file."""
    with log.open("ab") as said:
        return subprocess.Popen(  # noqa: S603 - our own command
            command,
            env=environment,
            cwd=PROJECT_FOLDER,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def kill_group(process: "subprocess.Popen[bytes]", number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process that a test started, and to all that it started; wait until it is gone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    process.wait(timeout=60)


def until(is_so: Callable[[], object], what: str, *, seconds: float = 120, every: float = 0.05) -> None:
    """Wait until something is so; fail by saying what was waited for.

    Args:
        is_so: whether it is so.
        what: the same in words.
        seconds: for how long, where nothing else runs. Machines that share their cores get more.
        every: seconds between two questions.
    """
    deadline = monotonic() + seconds * _AT_LOAD
    while not is_so():
        assert monotonic() < deadline, f"waited {seconds * _AT_LOAD:g} s in vain: {what}"
        sleep(every)


@contextmanager
def whole_holocron(
    folder: Path, *, texts: Mapping[str, str] = TEXTS, pages: int = 8, interrogations: tuple[str, ...] = ()
) -> Iterator[WholeHolocron]:
    """A Holocron with two sources, and interrogations that a fake model server answers.

    Args:
        folder: where it lives.
        texts: pages of source `tiny`, a fake wiki with an API; see `add_tiny_source` for its seeds.
        pages: how many pages of the sample wiki are in source `small`, an XML export; 0 for no such source.
        interrogations: keys of shipped interrogations that are asked; none switches the models off.
    """
    holocron = Holocron(folder)
    with tiny_wiki(texts) as wiki, FakeOllama(models={MODEL: "5" * 64}, answer=steady_answer) as ollama:
        add_tiny_source(holocron, wiki, enabled=True)
        if pages:
            holocron.add_source("small", copy_of_export(SAMPLE_EXPORT, folder / "small.xml", pages=pages))
        (folder / "interrogations").mkdir()
        (folder / "spaces").mkdir()  # the model server has no model for vectors
        for key in interrogations:
            target = folder / "interrogations" / key
            target.symlink_to(PROJECT_FOLDER / "data" / "interrogations" / key)
        whole = WholeHolocron(holocron, wiki, ollama)
        whole.environment = {
            "HOLOCRON_LLM": "auto" if interrogations else "off",
            "OLLAMA_HOST": ollama.url,
            "HOLOCRON_INTERROGATIONS": str(folder / "interrogations"),
            "HOLOCRON_SPACES": str(folder / "spaces"),
            "HOLOCRON_DISPATCH": str(folder / "dispatch.yaml"),
        }
        try:
            yield whole
        finally:
            whole.end()


def steady_answer(chat: Chat) -> Any:
    """An answer that fits the schema asked for, and depends on nothing but the prompt."""
    digest = hashlib.sha256(chat.prompt.encode()).digest()
    return _fitting(chat.body["format"], digest)


def _fitting(schema: Mapping[str, Any], digest: bytes) -> Any:
    if options := schema.get("enum"):
        return options[digest[0] % len(options)]
    if variants := schema.get("anyOf"):
        return _fitting(variants[0], digest)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _fitting(part, digest[1:]) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_fitting(schema["items"], digest[1:])] * max(1, schema.get("minItems", 0))
    plain = {"number": 0.9, "integer": 1, "boolean": bool(digest[0] % 2), "null": None}
    return plain.get(str(kind), f"word{digest[0]}")
