"""Which models `holocron run` fetches, and which it misses."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from asked_holocron import write_interrogation
from rich.console import Console

from holocron_assets.derive.server.errors import UnknownModelError
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.local import models
from holocron_assets.orchestration.local.models import ModelStage, fetch_lacking

UNKNOWN = "large-model-of-ollama:70b"


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of fetched models. The embedded server is used, and no model's file is here."""
    environment = {
        "HOLOCRON_DATA": tmp_path / "data",
        "HOLOCRON_INTERROGATIONS": tmp_path / "interrogations",
        "HOLOCRON_SPACES": tmp_path / "spaces",
        "HOLOCRON_MODELS": tmp_path / "models",
        "HOLOCRON_LLM": "embedded",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, str(value))
    (tmp_path / "spaces").mkdir()
    names: list[str] = []

    def fetch(wanted: Iterable[str], *_: Any) -> None:
        names.extend(shipped_catalog().find(name).name for name in wanted)

    monkeypatch.setattr(models, "fetch_models", fetch)
    return names


def test_of_several_models_the_first_that_can_be_fetched_is_fetched(
    fetched: list[str], tmp_path: Path
) -> None:
    small = shipped_catalog().small
    write_interrogation(tmp_path, "facts", UNKNOWN, 1, alternatives=[small, shipped_catalog().default])
    fetch_lacking(Console())
    assert fetched == [small]


@pytest.mark.usefixtures("fetched")
def test_an_interrogation_whose_models_are_all_unknown_is_an_error(tmp_path: Path) -> None:
    write_interrogation(tmp_path, "facts", UNKNOWN, 1)
    with pytest.raises(UnknownModelError, match=UNKNOWN):
        fetch_lacking(Console())


def test_the_model_of_a_disabled_interrogation_is_neither_fetched_nor_missed(
    fetched: list[str], tmp_path: Path
) -> None:
    write_interrogation(tmp_path, "facts", UNKNOWN, 1, enabled=False)
    write_interrogation(tmp_path, "more", shipped_catalog().default, 1, enabled=False)
    fetch_lacking(Console())
    assert fetched == []
    assert ModelStage(Lake(tmp_path / "data"), [], few=1, console=Console()).lacking() is None
