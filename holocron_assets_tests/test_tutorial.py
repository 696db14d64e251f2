"""docs/tutorial.md, followed word for word on a fresh clone."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from documented import Command, Expected, walked
from shell_walk import missing_in, walk

from holocron_assets.settings import PROJECT_FOLDER

TUTORIAL = PROJECT_FOLDER / "docs" / "tutorial.md"


def test_the_tutorial_has_commands_and_says_what_they_print() -> None:
    steps = walked(TUTORIAL)
    assert len([step for step in steps if isinstance(step, Command)]) > 20
    assert len([step for step in steps if isinstance(step, Expected)]) > 8
    (rule,) = [s for s in steps if isinstance(s, Command) and s.text.startswith("cat > data/infobox")]
    assert rule.text.endswith("\nEND"), "a text that a command is given belongs to it"


def test_what_is_not_printed_is_noticed() -> None:
    expected = Expected("page.md", 1, ["...", "bell ...known", "rank   kind", "───"])
    assert missing_in("so\nbell   not known\nrank kind\n", expected) == []
    assert missing_in("rank kind\nbell not known\n", expected) == ["rank kind"], "in another order"
    assert missing_in("bell not known at all\nrank kind\n", expected) == ["bell ...known"]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a person gets who clones the repository now, with this virtual environment, set up already."""
    folder = tmp_path / "holocron"
    git = shutil.which("git")
    if git is None or not (PROJECT_FOLDER / ".git").exists():
        pytest.skip("needs git and a repository")
    subprocess.run([git, "clone", "--quiet", str(PROJECT_FOLDER), str(folder)], check=True)  # noqa: S603
    environment = Path(sys.executable).parents[1]
    (folder / ".venv").symlink_to(environment)
    (environment / ".ready").touch()  # newer than the clone's files, so that make sets nothing up
    return folder


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.full
def test_the_tutorial_works_word_for_word_on_a_fresh_clone(
    clone: Path, tmp_path: Path, model_file: Path
) -> None:
    """Setting up `.venv` is left out: CI does it on each clean checkout."""
    if not (is_free(3000) and is_free(8001)):
        pytest.skip("another program uses the ports that the tutorial names")
    assert model_file.is_file()
    unwanted = ("HOLOCRON_", "OLLAMA_", "DAGSTER_", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    # The clone's code, not that of the project that this environment was set up for.
    variables = {"PYTHONPATH": str(clone), "HOLOCRON_STATE": str(tmp_path / "state")}
    printed = ""
    with walk(clone, environment | variables) as reader:
        for step in walked(TUTORIAL):
            if isinstance(step, Command):
                printed += reader.follow(step)
                continue
            assert missing_in(printed, step) == [], (
                f"{step.page}:{step.line} is not what was printed:\n{printed}"
            )
            printed = ""
    assert (clone / "kb" / "entity_facts.csv").is_file()
    assert list((clone / "backups").glob("*/manifest.json"))
