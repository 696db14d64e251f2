from pathlib import Path

import pytest

from holocron_assets.lake.declaration.schema import Column, Table, type_int
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake, PartitionNameError

SHIPS = Table("ships", "yard", "A ship", key=("hull",), columns=(Column("hull", type_int, "Hull number"),))
ESCAPING = [
    "",
    ".",
    "..",
    "../../outside",
    "/etc",
    "a/b",
    "a\\b",
    "a\0b",
    "a\n",
    "a b",
    ".hidden",
    "-flag",
    "*",
    "é" * 10,
    "x" * 101,
    "x" * 255,
    "\ud800",
]


@pytest.mark.fault(6, "a partition name that leads elsewhere")
@pytest.mark.parametrize("name", ESCAPING)
def test_a_partition_name_that_could_lead_elsewhere_is_refused_by_name(tmp_path: Path, name: str) -> None:
    lake = Lake(tmp_path / "data")
    for ask in (lake.partition_folder, lake.file, lake.journal, lake.has):
        with pytest.raises(PartitionNameError, match=r"table ships: partition .* must be 1 to 100 letters"):
            ask(SHIPS, name)
    with pytest.raises(PartitionNameError):
        write_partition(lake, SHIPS, name, [{"hull": 1}])
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("name", ["a", "wookieepedia-000123", "PersonCharacter", "x" * 100, "0_1"])
def test_a_partition_lies_in_a_folder_of_its_name(tmp_path: Path, name: str) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, name, [{"hull": 1}])
    assert lake.file(SHIPS, name) == tmp_path / "lake" / "yard" / "ships" / name / "data.parquet"
    assert lake.files() == [lake.file(SHIPS, name)]
    assert lake.has(SHIPS, name)
    assert read_partition(lake, SHIPS, name) == [{"hull": 1}]


def test_partitions_are_those_whose_file_is_there_in_order(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert lake.partitions(SHIPS) == []
    for name in ("b", "a"):
        write_partition(lake, SHIPS, name, [])
    lake.partition_folder(SHIPS, "only-a-journal").mkdir()
    assert lake.partitions(SHIPS) == ["a", "b"]
    assert not lake.has(SHIPS, "only-a-journal")


def test_the_folder_of_locks_is_there_when_it_is_asked_for(tmp_path: Path) -> None:
    assert Lake(tmp_path / "data").locks.is_dir()
