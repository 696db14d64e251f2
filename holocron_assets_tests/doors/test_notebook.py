"""docs/notebook.ipynb runs on the sample wiki, and shows what it says that it shows."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from sample_holocron import Holocron

from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.system

NOTEBOOK = PROJECT_FOLDER / "docs" / "notebook.ipynb"


def shown(notebook: Any) -> list[list[str]]:
    """What the cells of code show, as text; warnings apart."""
    return [
        [output.data["text/plain"] for output in cell.outputs if "data" in output]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_notebook_shows_what_is_known(
    indexed_sample: Holocron, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in indexed_sample.environment.items():
        monkeypatch.setenv(name, value)
    written = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    run = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(run, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    # To be looked at where it differs.
    nbformat.write(run, tmp_path / "run.ipynb")  # type: ignore[no-untyped-call]
    assert sum(map(len, shown(run))) > 6
    assert shown(run) == shown(written)
