"""The files of interrogations that the documentation shows can be used as they stand there."""

import re
from pathlib import Path

import pytest
import yaml

from holocron_assets.derive.interrogations.files import read_each
from holocron_assets.settings import PROJECT_FOLDER

_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def whole_files() -> dict[str, str]:
    """The blocks of YAML that are a file each, by the interrogation's key; others show only some keys."""
    text = (PROJECT_FOLDER / "docs" / "interrogations.md").read_text(encoding="utf-8")
    blocks = [(yaml.safe_load(block), block) for block in _BLOCK.findall(text)]
    return {keys["key"]: block for keys, block in blocks if {"key", "answer_schema"} <= keys.keys()}


def test_the_documentation_shows_a_file_for_a_model_and_one_for_code() -> None:
    assert {"harbours", "link_counts"} <= whole_files().keys()


@pytest.mark.parametrize("key", whole_files())
def test_a_file_that_the_documentation_shows_can_be_read(tmp_path: Path, key: str) -> None:
    (tmp_path / f"{key}.yaml").write_text(whole_files()[key], encoding="utf-8")
    reading = read_each(tmp_path)
    assert reading.broken == {}
    assert [one.key for one in reading.good] == [key]
