"""Machines: network namespaces with folders of their own, that share a store, a database and a broker.

Each namespace has its own loopback and is joined to a bridge. What the machines share listens on the bridge's
address, as do the wiki and the model server that they ask.
"""

import os
import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fake_mediawiki import FakeWiki
from fake_ollama import FakeOllama
from shared_lakes import SharedPlace, shared_place
from tiny_wiki import tiny_wiki
from whole_holocron import BIN, MODEL, kill_group, start_group, steady_answer, until

from holocron_assets.settings import PROJECT_FOLDER


@dataclass
class Machine:
    """A namespace with a data folder of its own.

    Attributes:
        name: the namespace.
        folder: of its data folder, its Dagster home and its log.
        environment: what its processes get besides this process's own.
        started: the processes that were started; each leads a group of its own.
    """

    name: str
    folder: Path
    environment: dict[str, str]
    started: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.folder / "processes.log"

    def command(self, *arguments: str, seconds: float = 300) -> str:
        """Run a `holocron` command to its end; give what it printed."""
        done = subprocess.run(  # noqa: S603 - our own command
            self._inside(str(BIN / "holocron"), *arguments),
            env=self._whole_environment(),
            cwd=PROJECT_FOLDER,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a program that goes on; what it says goes to the machine's log."""
        command = self._inside(str(BIN / program), *arguments)
        process = start_group(command, self._whole_environment(), self.log)
        self.started.append(process)
        return process

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """Start a worker that takes one run at a time, and wait until it takes any."""
        before = self.times_logged("ready.")
        process = self.start("holocron", "worker", "--concurrency", "1", "--name", self.name)
        until(lambda: self.times_logged("ready.") > before, f"{self.name} takes runs", seconds=120)
        return process

    def start_daemon(self) -> "subprocess.Popen[bytes]":
        """Start Dagster's daemon with the sensors, in this machine."""
        self.command("home")
        return self.start("dagster-daemon", "run", "-w", "workspace.yaml")

    def times_logged(self, text: str) -> int:
        """How often its processes said something."""
        return self.log.read_text(encoding="utf-8").count(text) if self.log.exists() else 0

    def die(self) -> None:
        """Kill everything in it at once, as when its power goes."""
        for process in self.started:
            kill_group(process)
        self.started.clear()

    def _inside(self, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *command]

    def _whole_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


@dataclass(frozen=True)
class Cluster:
    """Two machines, and what they share and ask."""

    machines: tuple[Machine, Machine]
    place: SharedPlace
    wiki: FakeWiki
    ollama: FakeOllama


@contextmanager
def cluster(folder: Path, texts: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[Cluster]:
    """Two machines on a network of their own; the test is skipped where one part cannot be had.

    Args:
        folder: where their folders are made.
        texts: the wiki's pages.
        environment: what processes on both get besides what they share.
    """
    _skip_without("redis-server")
    pytest.importorskip("dagster_celery", reason="needs extra `scale`")
    with ExitStack() as stack:
        address, names = stack.enter_context(network())
        place = stack.enter_context(shared_place(address))
        broker = stack.enter_context(_redis(address, folder))
        wiki = stack.enter_context(tiny_wiki(texts, address=address))
        ollama = FakeOllama(models={MODEL: "5" * 64}, answer=steady_answer, address=address)
        stack.enter_context(ollama)
        machines = [_machine(name, folder / name, place, broker) for name in names]
        for machine in machines:
            machine.environment |= {"OLLAMA_HOST": ollama.url, **environment}
            stack.callback(machine.die)
        yield Cluster((machines[0], machines[1]), place, wiki, ollama)


def _machine(name: str, folder: Path, place: SharedPlace, broker: str) -> Machine:
    folder.mkdir(parents=True)
    own = {
        "HOLOCRON_DATA": str(folder / "data"),
        "HOLOCRON_STATE": str(folder / "state"),
        "DAGSTER_HOME": str(folder / "dagster"),
        "HOLOCRON_BROKER": broker,
    }
    return Machine(name, folder, {**place.environment, **own})


@contextmanager
def network() -> Iterator[tuple[str, list[str]]]:
    """A bridge and two namespaces on it; gives the bridge's address and the namespaces' names.

    The test is skipped where they cannot be made.
    """
    _skip_without("ip")
    if os.geteuid():
        pytest.skip("needs root, to make network namespaces")
    mark = uuid.uuid4().hex[:6]
    number = int(mark[:2], 16)
    bridge, names = f"hb{mark}", [f"holocron-{mark}-{letter}" for letter in "ab"]
    with ExitStack() as stack:
        _ip("link", "add", bridge, "type", "bridge")
        stack.callback(_ip, "link", "delete", bridge)
        _ip("address", "add", f"10.87.{number}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for place, name in enumerate(names, start=2):
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "delete", name)
            here, there = _plug(name), f"hw{mark}{place}"
            _ip("link", "add", here, "type", "veth", "peer", "name", there)
            _ip("link", "set", here, "master", bridge, "up")
            _ip("link", "set", there, "netns", name)
            for command in (
                ("address", "add", f"10.87.{number}.{place}/24", "dev", there),
                ("link", "set", there, "up"),
                ("link", "set", "lo", "up"),
            ):
                _ip("-n", name, *command)
        yield f"10.87.{number}.1", names


def fall_silent(name: str) -> None:
    """Let nothing out of a namespace and nothing in; no side is notified, as when a cable is cut far away."""
    _ip("link", "set", _plug(name), "nomaster")


def _plug(name: str) -> str:
    """The end of a namespace's link that is on the bridge."""
    _, mark, letter = name.split("-")
    return f"hv{mark}{letter}"


@contextmanager
def _redis(address: str, folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind((address, 0))
        port = probe.getsockname()[1]
    options = [
        "--bind",
        address,
        "--port",
        str(port),
        "--protected-mode",
        "no",
        "--save",
        "",
        "--dir",
        str(folder),
    ]
    with subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL) as server:  # noqa: S603, S607
        try:
            until(lambda: _answers(address, port), "Redis answers")
            yield f"redis://{address}:{port}/0"
        finally:
            server.terminate()


def _answers(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607
    if done.returncode:
        pytest.skip(
            f"no network of its own can be made here: ip {' '.join(arguments)}: {done.stderr.strip()}"
        )


def _skip_without(*programs: str) -> None:
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"needs {program} on PATH")
