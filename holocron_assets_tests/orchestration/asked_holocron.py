"""A Holocron of a few batches of tiny pages, with interrogations that a fake Ollama answers."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_ollama import FakeOllama
from sample_holocron import Holocron
from wiki_lake import write_wiki

from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import GPU_RUNS

QUESTION: dict[str, Any] = {
    "version": 1,
    "title": "What a page is about",
    "evidence": [{"source": "page", "label": "Page", "part": "text"}],
    "prompt": "Say what the page is about.",
    "question": "{{ title }}?",
    "answer_schema": {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string", "enum": ["person", "place"], "description": "What it is"}},
    },
    "options": {"num_ctx": 4096, "num_predict": 50},
    "timeout_seconds": 20,
}


@dataclass(frozen=True)
class AskedHolocron:
    """A Holocron that asks models.

    Attributes:
        holocron: the Holocron.
        ollama: who answers.
        batches: its batches; page N of each is called `Page BATCH N`.
    """

    holocron: Holocron
    ollama: FakeOllama
    batches: tuple[str, ...]

    @property
    def gpu_runs(self) -> list[dict[str, Any]]:
        """Rows of `gpu_runs`, in order."""
        lake = self.holocron.lake
        return [row for name in lake.partitions(GPU_RUNS) for row in read_partition(lake, GPU_RUNS, name)]

    def asked(self) -> Counter[str]:
        """Chats by what was asked, each question once counted."""
        return Counter(chat.messages[0]["content"][:20] + chat.prompt[-40:] for chat in self.ollama.chats)

    def models_asked(self) -> list[str]:
        """The models of all chats, each as often as it was changed to."""
        models = [chat.model for chat in self.ollama.chats]
        return [model for before, model in zip([None, *models], models, strict=False) if model != before]


def write_interrogation(folder: Path, key: str, model: str, priority: int, **more: Any) -> None:
    """Drop an interrogation into a Holocron's folder."""
    asked = {**QUESTION, "key": key, "model": model, "priority": priority, **more}
    (folder / "interrogations").mkdir(exist_ok=True)
    (folder / "interrogations" / f"{key}.yaml").write_text(json.dumps(asked), encoding="utf-8")


def asked_holocron(
    folder: Path, ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch, *, batches: int, pages: int
) -> AskedHolocron:
    """A Holocron whose environment names the fake and its own folders."""
    ollama.answer = lambda _: {"kind": "person"}
    holocron = Holocron(folder)
    for folder_of_files in (holocron.sources_folder, folder / "spaces"):
        folder_of_files.mkdir()
    names = tuple(f"wiki{number}-000001" for number in range(1, batches + 1))
    for name in names:
        titles = [f"Page {name[:5]} {number}" for number in range(pages)]
        write_wiki(holocron.lake, {title: f"'''{title}''' is a pilot." for title in titles}, name)
    environment = {
        **holocron.environment,
        "HOLOCRON_LLM": "auto",
        "OLLAMA_HOST": ollama.url,
        "OLLAMA_NUM_PARALLEL": "2",
        "HOLOCRON_INTERROGATIONS": str(folder / "interrogations"),
        "HOLOCRON_SPACES": str(folder / "spaces"),
        "HOLOCRON_DISPATCH": str(folder / "dispatch.yaml"),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return AskedHolocron(holocron, ollama, names)
