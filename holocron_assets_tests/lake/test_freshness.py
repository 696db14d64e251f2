from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holocron_assets.lake.declaration.schema import Column, Row, Table, type_int, type_string
from holocron_assets.lake.files.parquet import DamagedPartitionError, write_partition
from holocron_assets.lake.freshness import Derivation, RowInput, stale_partitions
from holocron_assets.lake.place.paths import Lake

COLUMNS = (
    Column("hull", type_int, "Hull number"),
    Column("run_id", type_string, "Run that made this row", provenance=True),
)
SHIPS = Table("ships", "yard", "A ship", key=("hull",), columns=COLUMNS)
YARDS = Table("yards", "yard", "What is true of a whole yard", key=("hull",), columns=COLUMNS)
REPORTS = Table("reports", "office", "A report on a ship", key=("hull",), columns=COLUMNS)
REPORTING = Derivation(REPORTS, inputs=(SHIPS,), source_inputs=(YARDS,), code="1")


def write(lake: Lake, table: Table, partition: str, hull: int = 1, run: str = "run-1", **footer: Any) -> None:
    write_partition(lake, table, partition, [{"hull": hull, "run_id": run}], **footer)


def report(lake: Lake, derivation: Derivation = REPORTING) -> None:
    fingerprints = derivation.fingerprints(lake, "north-000001")
    assert fingerprints is not None
    write(lake, REPORTS, "north-000001", code_version=derivation.code_version, inputs=fingerprints)


def lake_with_a_report(folder: Path) -> Lake:
    lake = Lake(folder)
    write(lake, SHIPS, "north-000001")
    write(lake, YARDS, "north")
    report(lake)
    return lake


def test_what_was_just_made_is_not_stale(tmp_path: Path) -> None:
    assert not REPORTING.is_stale(lake_with_a_report(tmp_path), "north-000001")


@pytest.mark.parametrize("there", [[], [(SHIPS, "north-000001")], [(YARDS, "north")]])
def test_what_cannot_be_made_yet_is_not_stale(tmp_path: Path, there: list[tuple[Table, str]]) -> None:
    lake = Lake(tmp_path)
    for table, partition in there:
        write(lake, table, partition)
    assert REPORTING.fingerprints(lake, "north-000001") is None
    assert not REPORTING.is_stale(lake, "north-000001")


def test_what_was_never_made_is_stale(tmp_path: Path) -> None:
    lake = lake_with_a_report(tmp_path)
    write(lake, SHIPS, "north-000002")
    assert REPORTING.is_stale(lake, "north-000002")


@pytest.mark.parametrize(("table", "partition"), [(SHIPS, "north-000001"), (YARDS, "north")])
def test_another_input_makes_stale_until_it_is_made_again(
    tmp_path: Path, table: Table, partition: str
) -> None:
    lake = lake_with_a_report(tmp_path)
    write(lake, table, partition, hull=2)
    assert REPORTING.is_stale(lake, "north-000001")
    report(lake)
    assert not REPORTING.is_stale(lake, "north-000001")


def test_an_input_that_another_run_made_of_the_same_facts_makes_nothing_stale(tmp_path: Path) -> None:
    lake = lake_with_a_report(tmp_path)
    write(lake, SHIPS, "north-000001", run="run-2")
    assert not REPORTING.is_stale(lake, "north-000001")


def test_inputs_of_other_partitions_and_sources_do_not_matter(tmp_path: Path) -> None:
    lake = lake_with_a_report(tmp_path)
    write(lake, SHIPS, "north-000002", hull=2)
    write(lake, YARDS, "south", hull=2)
    assert not REPORTING.is_stale(lake, "north-000001")


def test_other_code_makes_stale(tmp_path: Path) -> None:
    lake = lake_with_a_report(tmp_path)
    newer = Derivation(REPORTS, inputs=(SHIPS,), source_inputs=(YARDS,), code="2")
    assert newer.is_stale(lake, "north-000001")


def test_one_input_more_makes_stale(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write(lake, SHIPS, "north-000001")
    write(lake, YARDS, "north")
    report(lake, Derivation(REPORTS, inputs=(SHIPS,), source_inputs=(), code="1"))
    assert REPORTING.is_stale(lake, "north-000001")


def test_a_source_whose_name_has_a_hyphen_is_found(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write(lake, SHIPS, "north-west-000001")
    write(lake, YARDS, "north-west")
    assert REPORTING.is_stale(lake, "north-west-000001")


def test_a_damaged_input_is_an_error_and_not_an_answer(tmp_path: Path) -> None:
    lake = lake_with_a_report(tmp_path)
    lake.file(SHIPS, "north-000001").write_bytes(b"PAR1")
    with pytest.raises(DamagedPartitionError, match="table ships, partition 'north-000001'"):
        REPORTING.is_stale(lake, "north-000001")


SURVEYS = Table("surveys", "yard", "What a surveyor says of a ship", key=("hull",), columns=COLUMNS)
WITH_SURVEYS = replace(REPORTING, optional_inputs=(SURVEYS,))


def test_what_may_be_missing_does_not_keep_anything_from_being_made(tmp_path: Path) -> None:
    lake = lake_with_a_report(tmp_path)
    report(lake, WITH_SURVEYS)
    assert not WITH_SURVEYS.is_stale(lake, "north-000001")


def test_what_came_late_makes_stale_and_so_does_its_change_and_its_end(tmp_path: Path) -> None:
    lake = lake_with_a_report(tmp_path)
    report(lake, WITH_SURVEYS)
    for hull in (1, 2):
        write(lake, SURVEYS, "north-000001", hull=hull)
        assert WITH_SURVEYS.is_stale(lake, "north-000001")
        assert stale_partitions(lake, [WITH_SURVEYS], ["north-000001"]) == ["north-000001"]
        report(lake, WITH_SURVEYS)
        assert not WITH_SURVEYS.is_stale(lake, "north-000001")
        assert stale_partitions(lake, [WITH_SURVEYS], ["north-000001"]) == []
    lake.file(SURVEYS, "north-000001").unlink()
    assert stale_partitions(lake, [WITH_SURVEYS], ["north-000001"]) == ["north-000001"]


def with_rows(orders: dict[str, Sequence[Row]], reads: list[Lake]) -> Derivation:
    """A derivation that orders count for; each read of them is added to `reads`."""

    def read_orders(lake: Lake) -> Callable[[str], Sequence[Row]]:
        reads.append(lake)
        return lambda partition: orders.get(partition, ())

    return replace(REPORTING, row_inputs=(RowInput(SURVEYS, read_orders),))


def test_only_rows_that_concern_a_partition_make_it_stale(tmp_path: Path) -> None:
    lake, orders = lake_with_a_report(tmp_path), dict[str, Sequence[Row]]()
    ordered = with_rows(orders, [])
    assert stale_partitions(lake, [ordered], ["north-000001"]) == []
    orders["north-000002"] = [{"hull": 7}]
    assert stale_partitions(lake, [ordered], ["north-000001"]) == []
    orders["north-000001"] = [{"hull": 7}]
    assert stale_partitions(lake, [ordered], ["north-000001"]) == ["north-000001"]
    report(lake, ordered)
    assert stale_partitions(lake, [ordered], ["north-000001"]) == []
    orders["north-000001"] = [{"hull": 8}]
    assert stale_partitions(lake, [ordered], ["north-000001"]) == ["north-000001"]
    del orders["north-000001"]
    assert stale_partitions(lake, [ordered], ["north-000001"]) == ["north-000001"]


def test_rows_are_read_once_for_any_number_of_partitions(tmp_path: Path) -> None:
    lake, reads = lake_with_a_report(tmp_path), list[Lake]()
    write(lake, SHIPS, "north-000002")
    assert stale_partitions(lake, [with_rows({}, reads)], ["north-000001", "north-000002"]) == [
        "north-000002"
    ]
    assert len(reads) == 1
