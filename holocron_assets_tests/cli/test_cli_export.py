"""`holocron export` and `holocron hash`, as people and scripts call them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from disks import remount, small_disk
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.tables import ENTITIES
from holocron_assets.operations.groups import read_group
from holocron_assets.settings import PROJECT_FOLDER


def holocron(of: Holocron, *arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "100"})


@pytest.mark.system
def test_two_lakes_are_compared_by_their_hashes(finished_sample: Holocron, tmp_path: Path) -> None:
    hashes = holocron(finished_sample, "hash", "--json").stdout
    known = tmp_path / "known.json"
    known.write_text(hashes)
    assert holocron(finished_sample, "hash").stdout.strip() == json.loads(hashes)["sha256"]
    assert holocron(finished_sample, "hash", "--diff", str(known)).exit_code == 0
    other = finished_sample.copy_to(tmp_path / "other")
    write_partition(other.lake, ENTITIES, "Species", [])
    compared = holocron(other, "hash", "--diff", str(known))
    assert compared.exit_code == 1
    assert "not the same: entities" in compared.output


def test_a_file_that_holds_no_hashes_is_refused(finished_sample: Holocron, tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text("[]")
    said = holocron(finished_sample, "hash", "--diff", str(file))
    assert said.exit_code == 1
    assert "notes.json is not what `holocron hash --json` prints" in " ".join(said.output.split())


def test_an_export_is_shown_in_a_table_with_the_content_hash(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    out = tmp_path / "kb"
    said = holocron(
        finished_sample, "export", "--to", str(out), "--tables", "tags,entities", "--format", "csv"
    )
    assert said.exit_code == 0, said.output
    assert {path.name for path in out.iterdir()} == {"manifest.json", "tags.csv", "entities.csv"}
    assert "entities.csv" in said.output
    assert holocron(finished_sample, "hash").stdout.strip() in said.output


def test_the_shipped_group_exports_into_the_data_folder_wherever_it_is_run(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = finished_sample.copy_to(tmp_path / "other")
    (tmp_path / "code").mkdir()
    monkeypatch.chdir(tmp_path / "code")
    step = read_group(PROJECT_FOLDER / "data" / "groups", "night").steps[-1]
    said = holocron(other, *step.words)
    assert said.exit_code == 0, said.output
    assert (other.lake.root / "exports" / "entities.jsonl").is_file()
    assert list((tmp_path / "code").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_as_a_whole_path(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "code", size="1m"):
        remount(tmp_path / "code", "ro")
        with monkeypatch.context() as patched:
            patched.chdir(tmp_path / "code")
            said = holocron(finished_sample, "export", "--to", "kb")
    assert said.exit_code == 1
    assert f"{tmp_path}/code/" in said.output
    assert "mount its disk so that it can be written to" in said.output


def test_a_folder_of_other_things_is_refused_by_name(finished_sample: Holocron, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    said = holocron(finished_sample, "export", "--to", str(tmp_path))
    assert said.exit_code == 1
    assert "holds other files than an export" in " ".join(said.output.split())
    assert (tmp_path / "mine.txt").read_text() == "mine"
