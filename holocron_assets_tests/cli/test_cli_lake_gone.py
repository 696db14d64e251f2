"""A lake that is gone when a command begins, as on a disk that is not mounted: nobody takes it for empty."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sample_holocron import Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.lake.place import presence

pytestmark = pytest.mark.system

BECAUSE = ("--reason", "I know", "--author", "ada")


def do(of: Holocron, *arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env=of.environment)


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    """A Holocron whose lake Dagster has worked on, and which is gone."""
    new = sample_holocron(tmp_path)
    assert do(new, "home").exit_code == 0
    shutil.rmtree(new.lake.root / "lake")
    monkeypatch.setattr(presence, "_KNOWN", {})  # as in a new process, which has not seen the lake
    return new


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("sql", "select 1"),
        ("page", "Button"),
        ("alerts",),
        ("pause", "--all", *BECAUSE),
        ("run",),
    ],
    ids=lambda words: words[0],
)
def test_a_command_refuses_a_lake_that_is_gone_by_name_and_begins_no_other(
    gone: Holocron, words: tuple[str, ...]
) -> None:
    refused = do(gone, *words)
    assert refused.exit_code == 1, refused.output
    assert f"{gone.lake.root / 'lake'} is gone, and Dagster has worked on it" in refused.stderr
    assert not (gone.lake.root / "lake").exists()


def test_an_export_of_a_lake_that_is_gone_leaves_the_one_before_as_it_is(
    gone: Holocron, tmp_path: Path
) -> None:
    before = tmp_path / "export" / "entities.jsonl"
    before.parent.mkdir()
    before.write_text("{}\n", encoding="utf-8")
    assert do(gone, "export", "--to", str(before.parent), "--format", "jsonl").exit_code == 1
    assert [*before.parent.iterdir()] == [before]
    assert before.read_text(encoding="utf-8") == "{}\n"


def test_a_person_begins_anew_with_an_empty_folder(gone: Holocron) -> None:
    (gone.lake.root / "lake").mkdir()
    assert "The lake is empty" in do(gone, "status").stdout


def test_a_data_folder_that_dagster_never_worked_on_is_new(gone: Holocron, tmp_path: Path) -> None:
    said = CliRunner().invoke(
        main, ["status"], env={**gone.environment, "HOLOCRON_DATA": str(tmp_path / "other")}
    )
    assert "The lake is empty" in said.stdout
