"""What `holocron run` asks models: all that the rules leave open, and a little of what else there is."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from asked_holocron import write_interrogation
from click.testing import CliRunner, Result
from fake_ollama import LARGE, SMALL, FakeOllama
from rich.console import Console
from sample_dagster import definitions_of
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.cli.work import local_run as local_commands
from holocron_assets.decisions.controls import Scope, control
from holocron_assets.derive.gpu.slots import NotedLock
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS, PAGE_TAGS, RULE_CLASSIFICATIONS
from holocron_assets.orchestration.local import models as local_models
from holocron_assets.orchestration.local.models import ModelStage, _about_rules
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.system

UNSURE = {"of": "rule_classifications", "confidence_below": 0.8}


@pytest.fixture
def holocron(finished_sample: Holocron, tmp_path: Path) -> Holocron:
    return finished_sample.copy_to(tmp_path)


@pytest.fixture
def ollama(holocron: Holocron, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    write_interrogation(holocron.folder, "unsure", SMALL, 500, wants=UNSURE, question="Is it {{ title }}?")
    write_interrogation(holocron.folder, "facts", LARGE, 400, question="Facts of {{ title }}?")
    with FakeOllama(answer=lambda _: {"kind": "person"}) as fake:
        (holocron.folder / "spaces").mkdir()
        environment = {
            **holocron.environment,
            "HOLOCRON_LLM": "auto",
            "OLLAMA_HOST": fake.url,
            "HOLOCRON_INTERROGATIONS": str(holocron.folder / "interrogations"),
            "HOLOCRON_SPACES": str(holocron.folder / "spaces"),
            "HOLOCRON_DISPATCH": str(holocron.folder / "dispatch.yaml"),
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
        monkeypatch.setattr(local_commands, "definitions", lambda: definitions_of(holocron))
        yield fake


def holocron_command(*arguments: str) -> Result:
    """Run one command, as if this process had been started for it."""
    return CliRunner().invoke(main, arguments)


def asked(ollama: FakeOllama) -> Counter[str]:
    return Counter("facts" if "Facts of" in prompt else "unsure" for prompt in ollama.prompts)


def test_all_open_pages_and_the_most_linked_ones_are_asked_about_and_a_second_run_asks_nothing(
    holocron: Holocron, ollama: FakeOllama
) -> None:
    rules = read_partition(holocron.lake, RULE_CLASSIFICATIONS, "sample-000001")
    open_pages = sum(row["confidence"] < 0.8 for row in rules)
    first = holocron_command("run", "--llm-pages", "3")
    assert first.exit_code == 0, first.output
    assert asked(ollama) == {"unsure": open_pages, "facts": 3}
    assert "Asked of models" in first.stdout
    assert "Interrogations" in first.stdout
    rows = [read_partition(holocron.lake, GPU_RUNS, name)[0] for name in holocron.lake.partitions(GPU_RUNS)]
    rows.sort(key=lambda row: row["started_at"])  # a partition's name has the second that it began in
    assert [(row["started_by"], row["model"]) for row in rows] == [("local", SMALL), ("local", LARGE)]

    second = holocron_command("run", "--llm-pages", "3")
    assert second.exit_code == 0, second.output
    assert asked(ollama) == {"unsure": open_pages, "facts": 3}
    assert "Nothing to do: pages, types and entities are up to date." in second.stdout
    listed = json.loads(holocron_command("status", "--json").stdout)["interrogations"]
    pending = {row["interrogation"]: row["due"] for row in listed}
    assert f"{pending['facts']} more questions are due." in second.stdout
    assert pending["unsure"] == 0
    assert pending["facts"] > 50, "the rest is left to the dispatcher"


def test_a_space_is_no_question_that_types_wait_for() -> None:
    """The shipped space chooses its pages by the rules' types, as the question about open pages does."""
    assert [one.name for one in _about_rules()] == ["page_classification"]


def test_a_run_waits_for_the_process_that_already_asks_models_and_names_it(
    holocron: Holocron, ollama: FakeOllama
) -> None:
    lock = NotedLock(holocron.lake, "gpu-gpu")
    assert lock.try_take("holocron repeat trial")
    command = [str(Path(sys.executable).parent / "holocron"), "run", "--llm-pages", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603 - our own command
        assert running.stdout
        waiting_line = next(line for line in running.stdout if line.startswith("Waiting for the models"))
        assert ollama.chats == []
        lock.give_back()
        running.communicate(timeout=800)
    assert "holocron repeat trial (process" in waiting_line
    assert running.returncode == 0
    assert ollama.chats


@pytest.fixture
def lists(holocron: Holocron, ollama: FakeOllama) -> None:
    """The shipped interrogation of list pages; the server names one page of the sample for each list."""
    key = "entity_extraction"
    shipped = PROJECT_FOLDER / "data" / "interrogations" / key
    (holocron.folder / "interrogations" / key).symlink_to(shipped)
    (model,) = (one.model for one in load_interrogations() if one.key == key)
    ollama.models[model] = "9" * 64
    ollama.answer = lambda chat: (
        named_by(chat.prompt) if "entities" in chat.body["format"]["properties"] else {"kind": "person"}
    )


def named_by(prompt: str) -> dict[str, Any]:
    name = re.findall(r"[A-Z][a-z]{5,}", prompt)[-1]
    said = {"evidence": name, "name": name, "type": "LocationPlace", "aliases": [], "attributes": []}
    return {"entities": [said]}


@pytest.mark.usefixtures("lists")
def test_what_tags_of_pages_read_of_an_answer_is_written_by_the_run_that_asked(holocron: Holocron) -> None:
    first = holocron_command("run", "--llm-pages", "3")
    assert first.exit_code == 0, first.output
    (rows,) = (read_partition(holocron.lake, PAGE_TAGS, name) for name in holocron.lake.partitions(PAGE_TAGS))
    assert "chunk" in {row["target_kind"] for row in rows}

    second = holocron_command("run", "--llm-pages", "3")
    assert "Nothing to do: pages, types and entities are up to date." in second.stdout


@pytest.mark.usefixtures("ollama")
def test_a_persons_priority_counts_for_questions_about_entities(holocron: Holocron) -> None:
    about = {"over": "entities", "question": "Who is {{ name }}?"}
    write_interrogation(holocron.folder, "who", SMALL, 400, **about)
    write_interrogation(holocron.folder, "who_else", SMALL, 300, **about)
    stage = ModelStage(open_lake(holocron.lake.root), [], few=2, console=Console())
    assert [one.interrogations for one in stage.of_entities()] == [["who"], ["who_else"]]
    last = Scope("interrogation", "who_else")
    control(holocron.lake, "prioritize", last, author="ada", reason="I know", priority=900)
    assert [one.interrogations for one in stage.of_entities()] == [["who_else"], ["who"]]


def test_the_model_server_is_started_once_and_only_for_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = list[str]()

    @contextmanager
    def server() -> Iterator[None]:
        happened.append("started")
        yield
        happened.append("ended")

    monkeypatch.setattr(local_models, "model_server", server)
    monkeypatch.setattr(local_models, "fetch_lacking", lambda _: None)
    stage = ModelStage(Lake(tmp_path), [], few=1, console=Console())
    with stage.server():
        pass
    assert happened == []
    with stage.server() as start:
        start()
        start()
        assert happened == ["started"]
    assert happened == ["started", "ended"]


def test_with_models_off_nothing_is_asked(ollama: FakeOllama) -> None:
    done = holocron_command("run", "--llm", "off")
    assert done.exit_code == 0, done.output
    assert (ollama.chats, dict(ollama.gets)) == ([], {})
    assert "Asked of models" not in done.stdout


def test_a_missing_model_fails_the_run_s_exit_code_and_nothing_else(
    holocron: Holocron, ollama: FakeOllama
) -> None:
    ollama.models.clear()
    done = holocron_command("run")
    assert done.exit_code == 1
    assert "failed" in done.stdout
    assert SMALL in done.stdout
    assert "ollama pull" in done.stdout
    assert holocron.lake.database.is_file(), done.stdout
