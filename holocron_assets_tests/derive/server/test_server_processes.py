"""Which process owns the server, which ones join it, and that nothing outlives the one that started it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest

from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.derive.server.process.connection import (
    embedded_server,
    fetch_command,
    keep_log_small,
    model_server,
    running_server,
)
from holocron_assets.lake.place.paths import Lake

Children = Callable[[int], list[int]]
Starter = Callable[[], "subprocess.Popen[str]"]

STARTER = """
import sys
from holocron_assets.derive.server.process.connection import model_server
with model_server() as url:
    print(url, flush=True)
    sys.stdin.read()
"""
"""A process that uses a model server until its input closes."""


def environment_of(folder: Path, model_file: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOLOCRON_DATA": str(folder),
        "HOLOCRON_MODELS": str(folder / "models"),
        "HOLOCRON_MODEL_FILES": str(model_file),
        "HOLOCRON_LLM": "embedded",
    }


@pytest.fixture
def starter(tmp_path: Path, model_file: Path) -> Iterator[Starter]:
    """Starts processes that each use the model server of the same data folder."""
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        process = subprocess.Popen(  # noqa: S603 - the script above
            [sys.executable, "-c", STARTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment_of(tmp_path, model_file),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def soon(is_so: Callable[[], object], seconds: float = 20) -> None:
    until = monotonic() + seconds
    while not is_so():
        assert monotonic() < until, "it did not happen in time"
        sleep(0.02)


def url_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def load(url: str) -> None:
    httpx.post(f"{url}/api/generate", json={"model": "smollm2:135m"}, timeout=60, trust_env=False)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.system
@pytest.mark.fault(9, "SIGKILL of the process that started the embedded server")
def test_nothing_is_left_when_the_starter_is_killed(starter: Starter, children_of: Children) -> None:
    process = starter()
    load(url_of(process))
    [server] = children_of(process.pid)
    [model] = children_of(server)
    process.send_signal(signal.SIGKILL)
    soon(lambda: not is_alive(server) and not is_alive(model), seconds=5)


@pytest.mark.fault(9, "SIGKILL of the embedded server while it loads a model")
def test_a_model_does_not_outlive_its_server_not_even_while_it_is_loaded(
    starter: Starter, children_of: Children
) -> None:
    process = starter()
    url = url_of(process)
    [server] = children_of(process.pid)
    loading = subprocess.Popen(  # noqa: S603 - our own line
        [
            sys.executable,
            "-c",
            f"import httpx; httpx.post('{url}/api/generate', json={{'model': 'smollm2:135m'}})",
        ],
        stderr=subprocess.DEVNULL,
    )
    soon(lambda: children_of(server))
    [model] = children_of(server)
    os.kill(server, signal.SIGKILL)
    soon(lambda: not is_alive(model), seconds=5)
    loading.wait()


@pytest.mark.system
@pytest.mark.fault(9, "the embedded server's owner gone, others joined it")
def test_a_second_process_joins_and_the_next_starts_its_own_when_the_first_is_gone(
    starter: Starter, children_of: Children
) -> None:
    first, second = starter(), starter()
    assert url_of(first) == url_of(second)
    with_a_server = [process for process in (first, second) if children_of(process.pid)]
    assert len(with_a_server) == 1
    with_a_server[0].kill()
    with_a_server[0].wait()
    third = starter()
    assert url_of(third)
    assert children_of(third.pid)


@pytest.mark.system
def test_a_server_goes_on_at_the_beginning_of_its_log_once_that_was_emptied(
    tmp_path: Path, model_file: Path
) -> None:
    environment = {**environment_of(tmp_path, model_file), "HOLOCRON_LOG": "json"}
    log = Lake(tmp_path).locks / "model-server.log"
    with embedded_server(Lake(tmp_path), environment) as url:
        for _ in range(2):
            httpx.post(f"{url}/api/show", json={"model": "none"}, timeout=60, trust_env=False)
            soon(lambda: log.stat().st_size)
            assert log.read_bytes().startswith(b"{"), "and not with the hole that was left"
            with log.open("ab") as more:
                more.write(b"x" * 11_000_000)
            keep_log_small(environment)


@pytest.mark.system
def test_the_server_ends_with_the_block(tmp_path: Path, model_file: Path, children_of: Children) -> None:
    before = set(children_of(os.getpid()))
    with embedded_server(Lake(tmp_path), environment_of(tmp_path, model_file)) as url:
        load(url)
        [server] = set(children_of(os.getpid())) - before
        [model] = children_of(server)
        with embedded_server(Lake(tmp_path), environment_of(tmp_path, model_file)) as joined:
            assert joined == url
        assert is_alive(server)
    assert not is_alive(server)
    assert not is_alive(model)


@pytest.mark.system
@pytest.mark.fault(9, "another server at a dead one's port")
def test_a_port_file_of_a_dead_server_is_not_believed(tmp_path: Path, model_file: Path) -> None:
    environment = environment_of(tmp_path, model_file)
    with embedded_server(Lake(tmp_path), environment) as other:
        elsewhere = tmp_path / "elsewhere"
        port_file = Lake(elsewhere).locks / "model-server.json"
        port_file.write_text(json.dumps({"url": other, "instance": "that of one long gone"}))
        with embedded_server(Lake(elsewhere), environment) as own:
            assert own != other


def test_off_starts_no_server_and_a_configured_server_is_used_by_default(
    tmp_path: Path, model_file: Path
) -> None:
    environment = {"HOLOCRON_DATA": str(tmp_path), "OLLAMA_HOST": "gpu.example:11434"}
    with model_server({**environment, "HOLOCRON_LLM": "off"}) as url:
        assert url is None
    for automatic in ("auto", ""):
        with model_server({**environment, "HOLOCRON_LLM": automatic}) as url:
            assert url == "gpu.example:11434"
    with model_server(
        {**environment_of(tmp_path, model_file), **environment, "HOLOCRON_LLM": "embedded"}
    ) as url:
        assert url
        assert url.startswith("http://127.0.0.1:")


def test_finding_the_server_that_runs_starts_none(
    tmp_path: Path, model_file: Path, children_of: Children
) -> None:
    environment = environment_of(tmp_path, model_file)
    before = children_of(os.getpid())
    assert running_server(environment) is None
    assert children_of(os.getpid()) == before
    with model_server(environment) as url:
        assert running_server(environment) == url
        assert running_server({**environment, "HOLOCRON_LLM": "off"}) is None
        configured = {**environment, "HOLOCRON_LLM": "auto", "OLLAMA_HOST": "gpu.example"}
        assert running_server(configured) == "gpu.example"
    assert running_server(environment) is None


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({}, "holocron models fetch"),
        ({"OLLAMA_HOST": "gpu.example"}, "ollama pull"),
        ({"OLLAMA_HOST": "gpu.example", "HOLOCRON_LLM": "embedded"}, "holocron models fetch"),
    ],
)
def test_the_server_that_is_used_says_which_command_gets_it_a_model(
    environment: dict[str, str], command: str
) -> None:
    assert fetch_command(environment) == command


def test_what_is_set_wrongly_is_named(tmp_path: Path) -> None:
    wrong = {"HOLOCRON_DATA": str(tmp_path), "HOLOCRON_LLM": "on"}
    with pytest.raises(ModelServerError, match="HOLOCRON_LLM is 'on'"), model_server(wrong):
        pass


@pytest.mark.parametrize("address", ["localhost:abc", "http://[bad", "host:99999", "ftp://host", "two words"])
def test_an_invalid_address_is_named_where_it_is_used(tmp_path: Path, address: str) -> None:
    wrong = {"HOLOCRON_DATA": str(tmp_path), "HOLOCRON_LLM": "auto", "OLLAMA_HOST": address}
    for find in (running_server, fetch_command):
        with pytest.raises(ModelServerError, match=re.escape(f"OLLAMA_HOST is {address!r}")):
            find(wrong)
    assert running_server({**wrong, "HOLOCRON_LLM": "embedded"}) is None


@pytest.mark.parametrize(
    "address", ["127.0.0.1", ":11434", "[::1]:11434", "https://gpu.example/ollama/", "gpu.example:80"]
)
def test_every_address_that_the_client_takes_is_taken(tmp_path: Path, address: str) -> None:
    environment = {"HOLOCRON_DATA": str(tmp_path), "HOLOCRON_LLM": "auto", "OLLAMA_HOST": address}
    assert running_server(environment) == address
    wrong = {"HOLOCRON_DATA": str(tmp_path), "HOLOCRON_LLM": "embedded", "OLLAMA_MAX_QUEUE": "none"}
    with pytest.raises(ModelServerError, match="OLLAMA_MAX_QUEUE is 'none'"), model_server(wrong):
        pass
