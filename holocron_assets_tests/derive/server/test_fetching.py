"""What a person or a log sees of a model that is fetched."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from time import sleep

import pytest
from rich.console import Console

from holocron_assets.derive.server.errors import ModelFileError
from holocron_assets.derive.server.model_files.catalog import Model, shipped_catalog
from holocron_assets.derive.server.model_files.fetching import fetch_models
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.model_files.sources import ModelSourceError, Report, Source, no_report

NAME = shipped_catalog().small


class SlowFiles(ModelFiles):
    """Files that come slowly from one source, which breaks off."""

    def fetch(self, model: Model, report: Report = no_report, *, sources: Sequence[Source] = ()) -> Path:
        return super().fetch(model, report, sources=[*sources, slow])


def slow(model: Model, folder: Path, report: Report) -> Path:
    del folder
    for tenths in range(5):
        report("downloading", model.size * tenths // 10, model.size)
        sleep(0.05)
    raise ModelSourceError("the line broke")


def test_without_a_terminal_lines_say_how_far_a_model_is(tmp_path: Path) -> None:
    said = StringIO()
    with pytest.raises(ModelFileError, match="the line broke"):
        fetch_models([NAME], Console(file=said), SlowFiles(tmp_path), every=0.02)
    lines = said.getvalue().splitlines()
    size = f"{shipped_catalog().find(NAME).size / 1e6:.0f} MB"
    assert f"Fetching the model {NAME}, {size}" in lines
    progress = [line for line in lines if line.startswith(f"Fetching the model {NAME}: downloading, ")]
    assert len(progress) > 1
    assert f"of {size}, 0 s" in progress[0]
    assert len(set(progress)) > 1, "they show the progress"


def test_a_terminal_shows_a_bar_and_no_lines(tmp_path: Path) -> None:
    said = StringIO()
    with pytest.raises(ModelFileError):
        fetch_models(
            [NAME], Console(file=said, force_terminal=True, width=100), SlowFiles(tmp_path), every=0.02
        )
    assert f"{NAME}: downloading" in said.getvalue()
    assert "Fetching the model" not in said.getvalue()
