"""A lake whose folder is a link to another disk works like any other."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from holocron_assets.lake.files.parquet import DamagedPartitionError, write_partition
from holocron_assets.lake.files.quarantine import all_set_aside, set_aside
from holocron_assets.lake.files.verifying import damage_of
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import TAGS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.spilling import Kind

COUNT = "select count(*) as tags from lake.tags"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "disk" / "big").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "lake").symlink_to(tmp_path / "disk" / "big")
    lake = Lake(tmp_path / "data")
    write_partition(lake, TAGS, "wiki", [])
    return lake


@pytest.fixture
def two_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file be renamed from the lake's disk to that of the data folder."""
    replace = Path.replace

    def within_a_disk(file: Path, target: Path) -> Path:
        places = [str(path.parent.resolve()).startswith(f"{tmp_path}/disk/") for path in (file, target)]
        if places[0] != places[1]:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(file))
        return replace(file, target)

    monkeypatch.setattr(Path, "replace", within_a_disk)


def counted(lake: Lake, kind: Kind) -> list[dict[str, Any]]:
    with connect(lake, tables=[TAGS], kind=kind) as connection:
        return query(connection, COUNT)


@pytest.mark.parametrize("kind", ["open", "own", "locked"])
def test_every_kind_of_database_reads_a_linked_lake(lake: Lake, kind: Kind) -> None:
    assert counted(lake, kind) == [{"tags": 0}]


def test_a_damaged_file_of_a_linked_lake_is_named_when_duckdb_cannot_open_it(lake: Lake) -> None:
    file = lake.file(TAGS, "wiki")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DamagedPartitionError, match="table tags, partition 'wiki'"):
        counted(lake, "open")


@pytest.mark.usefixtures("two_disks")
def test_a_damaged_file_of_a_linked_lake_is_set_aside_on_the_disk_of_the_data_folder(lake: Lake) -> None:
    file = lake.file(TAGS, "wiki")
    file.write_bytes(file.read_bytes()[:100])
    found, as_found = file.stat(), file.read_bytes()
    damage = damage_of(file)
    assert damage
    aside = set_aside(lake, damage)
    assert aside
    assert not file.exists()
    assert aside.kept.read_bytes() == as_found
    assert aside.kept.stat().st_mtime_ns == found.st_mtime_ns
    assert {path.name for path in aside.kept.parent.iterdir()} == {"data.parquet", "note.json"}
    assert all_set_aside(lake) == [aside]
