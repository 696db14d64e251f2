"""`holocron dispatch`, `stale` and `status`: what a person and a script learn of models."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asked_holocron import write_interrogation
from click.testing import CliRunner, Result
from fake_ollama import FakeOllama
from sample_holocron import Holocron

from holocron_assets.cli.main import main

pytestmark = pytest.mark.system

MODEL = "qwen2.5-coder:1.5b"


class Commands:
    """A Holocron whose commands a test runs, and the server that its models are on."""

    def __init__(self, holocron: Holocron, ollama: FakeOllama) -> None:
        self.holocron, self.ollama = holocron, ollama
        self.settings = holocron.folder / "dispatch.yaml"
        self.spaces = holocron.folder / "spaces"
        self.spaces.mkdir()
        self.more: dict[str, str] = {}

    def run(self, *arguments: str, **environment: str) -> Result:
        variables = {"HOLOCRON_LLM": "auto", "OLLAMA_HOST": self.ollama.url, "COLUMNS": "140"}
        settings = {"HOLOCRON_DISPATCH": str(self.settings), "HOLOCRON_SPACES": str(self.spaces)}
        everything = {**self.holocron.environment, **settings, **variables, **self.more, **environment}
        return CliRunner().invoke(main, arguments, env=everything)

    def json(self, *arguments: str, **environment: str) -> Any:
        result = self.run(*arguments, "--json", **environment)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def words(self, *arguments: str, **environment: str) -> str:
        result = self.run(*arguments, **environment)
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())


@pytest.fixture
def commands(finished_sample: Holocron, tmp_path: Path) -> Iterator[Commands]:
    with FakeOllama(models={MODEL: "1" * 64}) as ollama:
        yield Commands(finished_sample.copy_to(tmp_path), ollama)


def files(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


def test_a_dry_run_shows_model_turns_reasons_and_scores(commands: Commands) -> None:
    report = commands.json("dispatch", "--dry-run")
    assert (report["mode"], report["at_work"], report["loaded"]) == ("live", None, [])
    assert report["lacking"] == []
    (plan,) = (one for one in report["plans"] if one["pool"] == "gpu")
    assert (plan["pool"], plan["model"]) == ("gpu", MODEL)
    assert plan["turns"] == [{"interrogation": "page_classification", "items": 100}]
    assert plan["reasons"] == [
        f"{MODEL} has the highest priority, 800: page_classification has 1 partition not begun."
    ]
    assert [score["priority"] for score in plan["scores"]][:2] == [800, 600]
    assert {score["uncounted"] for score in plan["scores"]} >= {1}


def test_a_dry_run_changes_nothing(commands: Commands) -> None:
    commands.json("dispatch", "--dry-run")
    before = files(commands.holocron.folder)
    commands.json("dispatch", "--dry-run")
    commands.words("dispatch", "--dry-run")
    assert files(commands.holocron.folder) == before
    assert not (commands.holocron.folder / "dagster").exists()
    assert (commands.ollama.chats, commands.ollama.loads) == ([], {})


def test_a_person_reads_the_same(commands: Commands) -> None:
    words = commands.words("dispatch", "--dry-run")
    assert f"Pool gpu: {MODEL} has the highest priority, 800" in words


def test_in_shadow_mode_a_person_launches_nothing_either(commands: Commands) -> None:
    commands.settings.write_text("mode: shadow", encoding="utf-8")
    assert "Shadow mode" in commands.words("dispatch")
    assert not (commands.holocron.folder / "dagster").exists()


def test_with_models_off_only_sql_and_code_are_decided(commands: Commands) -> None:
    said = commands.words("dispatch", "--dry-run", HOLOCRON_LLM="off")
    assert said.startswith("No model is asked: HOLOCRON_LLM is off. Pool gpu: Nothing is to be asked.")
    report = commands.json("dispatch", "--dry-run", HOLOCRON_LLM="off")
    assert (report["mode"], report["lacking"]) == ("off", [])
    plans = {one["pool"]: one for one in report["plans"]}
    assert plans["gpu"]["model"] is None
    assert plans["code"]["model"] == "python"
    asked = {score["interrogation"] for score in plans["code"]["scores"]}
    assert {"listed_names", "sentence_statements"} <= asked


def test_with_models_off_the_status_says_so(commands: Commands) -> None:
    status = commands.json("status", HOLOCRON_LLM="off")
    assert status["models"]["loaded"] is None
    assert status["models"]["problem"] == "no model is asked: HOLOCRON_LLM is off"


def test_a_server_that_is_down_is_said_to_be(commands: Commands) -> None:
    result = commands.run("dispatch", "--dry-run", OLLAMA_HOST="http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "no model server answers" in " ".join(result.stderr.split())


def test_settings_that_cannot_be_read_are_named(commands: Commands) -> None:
    commands.settings.write_text("mode: perhaps", encoding="utf-8")
    result = commands.run("dispatch", "--dry-run")
    assert result.exit_code == 1
    assert "dispatch.yaml: mode: " in " ".join(result.stderr.split())


def test_a_model_that_nobody_can_ask_is_reported(commands: Commands) -> None:
    commands.ollama.models.clear()
    assert commands.json("dispatch", "--dry-run")["lacking"] == [MODEL]
    assert f"`ollama pull {MODEL}`" in commands.words("stale")
    assert commands.json("status")["models"]["problem"] == f"the model server has not got {MODEL}"


def test_stale_counts_what_was_never_opened(commands: Commands) -> None:
    rows = {row["interrogation"]: row for row in commands.json("stale")}
    assert rows["page_classification"] == {
        "interrogation": "page_classification",
        "model": MODEL,
        "why": ["new"],
        "partition": None,
        "partitions": 1,
        "to_ask": None,
        "kept": None,
        "dead": None,
    }
    assert "1 never begun" in commands.words("stale")


def test_status_shows_how_far_each_interrogation_is(commands: Commands) -> None:
    report = commands.json("status")
    rows = {row["interrogation"]: row for row in report["interrogations"]}
    row = rows["page_classification"]
    assert (row["model"], row["done"], row["to_do"]) == (MODEL, 0, 1)
    assert row["wanted"] == row["due"] > 0
    assert (row["answered"], row["waiting"], row["dead"]) == (0, 0, 0)
    assert report["models"]["problem"] is None
    assert report["gpu_runs"] == []


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"HOLOCRON_LLM": "off"}, "HOLOCRON_LLM is off"),
        ({"OLLAMA_HOST": "http://127.0.0.1:9"}, "no model server answers"),
        ({"OLLAMA_HOST": "localhost:abc"}, "OLLAMA_HOST is 'localhost:abc', which is no address"),
    ],
)
def test_status_is_shown_without_a_model_too(
    commands: Commands, environment: dict[str, str], problem: str
) -> None:
    report = commands.json("status", **environment)
    assert problem in report["models"]["problem"]
    rows = {row["interrogation"]: row for row in report["interrogations"]}
    assert rows["page_classification"]["to_do"] == 1


def test_a_broken_interrogation_is_named_in_one_line_and_the_rest_is_shown(tmp_path: Path) -> None:
    broken = tmp_path / "mood.yaml"
    broken.write_text("key: mood\n", encoding="utf-8")
    environment = {**os.environ, "HOLOCRON_INTERROGATIONS": str(tmp_path), "HOLOCRON_DATA": str(tmp_path)}
    holocron = Path(sys.executable).with_name("holocron")
    done = subprocess.run(  # noqa: S603 - our own command
        [holocron, "stale"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr.startswith(f"An interrogation is left out: {broken}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command", [("dispatch",), ("artifacts", "nothing"), ("recheck", "--source", "nothing")], ids=" ".join
)
def test_a_command_names_what_is_left_out_once(
    commands: Commands, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "mood.yaml").write_text("key: mood\n", encoding="utf-8")
    commands.more["HOLOCRON_INTERROGATIONS"] = str(tmp_path / "broken")
    assert commands.run(*command).stderr.count("An interrogation is left out: ") == 1


@pytest.fixture
def two_domains(commands: Commands, tmp_path: Path) -> Commands:
    """Two interrogations: one of biology that is not enabled, and one of history."""
    write_interrogation(tmp_path, "organs", MODEL, 500, domain="biology", enabled=False)
    write_interrogation(tmp_path, "battles", MODEL, 400, domain="history", scale_limit={"hour": 5})
    commands.more["HOLOCRON_INTERROGATIONS"] = str(tmp_path / "interrogations")
    return commands


def test_what_is_not_enabled_is_not_dispatched_and_every_list_says_so(two_domains: Commands) -> None:
    report = two_domains.json("dispatch", "--dry-run")
    assert [score["interrogation"] for one in report["plans"] for score in one["scores"]] == ["battles"]
    why = "interrogation organs is paused by its file: `enabled: false`"
    assert [held.startswith(why) for held in report["held_back"]] == [True]
    assert [row["interrogation"] for row in two_domains.json("stale")] == ["battles"]
    assert why in two_domains.words("stale")
    (held,) = two_domains.json("status")["paused"]
    assert (held["scope"], held["name"], held["action"], held["author"], held["since"]) == (
        *("interrogation", "organs", "pause", "its file"),
        None,
    )


def test_a_domain_narrows_the_status_and_what_is_stale(two_domains: Commands) -> None:
    report = two_domains.json("status", "--domain", "history")
    assert [(row["interrogation"], row["domain"]) for row in report["interrogations"]] == [
        ("battles", "history")
    ]
    assert {stage["interrogation"] for stage in report["stages"]} == {"battles"}
    assert "biology" in two_domains.words("status")
    assert two_domains.words("stale", "--domain", "biology").startswith("Nothing: every answer")
    wrong = two_domains.run("status", "--domain", "botany")
    assert wrong.exit_code == 2
    assert "no interrogation is of domain 'botany'; there are biology, history" in wrong.output


def test_a_person_does_not_ask_what_is_not_enabled(two_domains: Commands) -> None:
    refused = two_domains.run("ask", "organs", "Issa Dorrane")
    assert refused.exit_code == 1
    assert "nothing new of organs is asked: its file says `enabled: false`" in " ".join(
        refused.stderr.split()
    )
    assert two_domains.ollama.chats == []
