"""A lake whose folder is a link to another disk works like any other."""

from pathlib import Path
from typing import Any

import pytest

from holocron_assets.lake.files.parquet import DamagedPartitionError, write_partition
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
