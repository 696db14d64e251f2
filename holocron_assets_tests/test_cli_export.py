"""`holocron export` and `holocron hash`, as people and scripts call them."""

import json
from pathlib import Path

from click.testing import CliRunner, Result
from sample_holocron import Holocron

from holocron_assets.cli import main
from holocron_assets.lake.parquet import write_partition
from holocron_assets.lake.tables import ENTITIES


def holocron(of: Holocron, *arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "100"})


def test_two_lakes_are_compared_by_their_hashes(finished_sample: Holocron, tmp_path: Path) -> None:
    told = holocron(finished_sample, "hash", "--json").stdout
    known = tmp_path / "known.json"
    known.write_text(told)
    assert holocron(finished_sample, "hash").stdout.strip() == json.loads(told)["sha256"]
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


def test_an_export_is_told_in_a_table_with_the_content_hash(
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


def test_a_folder_of_other_things_is_refused_by_name(finished_sample: Holocron, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    said = holocron(finished_sample, "export", "--to", str(tmp_path))
    assert said.exit_code == 1
    assert "holds other things than an export" in " ".join(said.output.split())
    assert (tmp_path / "mine.txt").read_text() == "mine"
