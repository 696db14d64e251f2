"""The model that the protocol is tested with, and a server that has it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holocron_assets.lake.paths import Lake
from holocron_assets.models.catalog import Model, shipped_catalog
from holocron_assets.models.connection import embedded_server
from holocron_assets.models.errors import ModelFileError
from holocron_assets.models.fetching import own_model_files


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The file of `smollm2:135m`, 98 MB, fetched once for all test runs of this user."""
    try:
        return own_model_files().fetch(smallest())
    except ModelFileError as error:
        pytest.skip(f"the model that this needs cannot be had: {error}")


@pytest.fixture(scope="session")
def children_of() -> Callable[[int], list[int]]:
    """Gives the processes that one started and that still live, from /proc."""

    def find(parent: int) -> list[int]:
        states = {int(file.parent.name): _state(file) for file in Path("/proc").glob("[0-9]*/stat")}
        return [pid for pid, (state, started_by) in states.items() if started_by == parent and state != "Z"]

    return find


def _state(file: Path) -> tuple[str, int]:
    try:
        state, parent = file.read_text().rpartition(")")[2].split()[:2]
    except OSError:  # it ended meanwhile
        return "Z", 0
    return state, int(parent)


def smallest() -> Model:
    return shipped_catalog().find("smollm2:135m")


@pytest.fixture(scope="module")
def server(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an embedded server that works on two requests at a time."""
    folder = tmp_path_factory.mktemp("served")
    environment = {
        **os.environ,
        "HOLOCRON_MODELS": str(folder / "models"),
        "HOLOCRON_MODEL_FILES": str(model_file),
        "OLLAMA_NUM_PARALLEL": "2",
    }
    with embedded_server(Lake(folder), environment) as url:
        yield url
