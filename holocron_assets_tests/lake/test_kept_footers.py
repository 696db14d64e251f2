"""Footers that a process keeps for the next: they are right whatever happened to the files in between."""

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from holocron_assets.lake.declaration.schema import Column, Table, type_int
from holocron_assets.lake.files import footers
from holocron_assets.lake.files.footers import Footer, keep_footers
from holocron_assets.lake.files.parquet import read_footer, write_partition
from holocron_assets.lake.freshness import Derivation, LakeListings, stale_partitions
from holocron_assets.lake.place.paths import Lake

COLUMNS = (Column("hull", type_int, "Hull number"),)
SHIPS = Table("ships", "yard", "A ship", key=("hull",), columns=COLUMNS)
REPORTS = Table("reports", "office", "A report on a ship", key=("hull",), columns=COLUMNS)
REPORTING = Derivation(REPORTS, inputs=(SHIPS,), source_inputs=(), code="1")
NAMES = ["north-000001", "north-000002", "north-000003"]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake of three ships with reports, in a process that keeps every footer."""
    monkeypatch.setenv("HOLOCRON_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(footers, "_MANY", 0)
    monkeypatch.setattr(footers, "_SURE_AFTER_NS", -1)
    lake = Lake(tmp_path / "data")
    for name in NAMES:
        write(lake, name, 1)
        report(lake, name)
    next_process(monkeypatch)
    return lake


def next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process read."""
    monkeypatch.setattr(footers, "_TABLES", {})
    monkeypatch.setattr("holocron_assets.lake.freshness._FRESH", {})


def write(lake: Lake, name: str, hull: int) -> Footer:
    return write_partition(lake, SHIPS, name, [{"hull": hull}])


def report(lake: Lake, name: str) -> None:
    inputs = REPORTING.fingerprints(lake, name)
    write_partition(lake, REPORTS, name, [{"hull": 1}], code_version="1", inputs=inputs)


def stale(lake: Lake) -> list[str]:
    return stale_partitions(lake, [REPORTING], NAMES)


def no_file_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: str) -> None:
        raise AssertionError(f"{file} was opened")

    monkeypatch.setattr(pq, "read_metadata", refuse)


def test_the_next_process_opens_no_file(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [read_footer(lake, SHIPS, name) for name in NAMES]
    assert stale(lake) == []
    next_process(monkeypatch)
    no_file_is_opened(monkeypatch)
    assert stale(lake) == []
    assert [read_footer(lake, SHIPS, name) for name in NAMES] == before
    assert [LakeListings(lake).footer(SHIPS, name) for name in NAMES] == before


def test_a_file_that_was_replaced_is_stale(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stale(lake) == []
    next_process(monkeypatch)
    write(lake, NAMES[1], 2)
    assert stale(lake) == [NAMES[1]]


def test_a_file_that_was_replaced_within_one_tick_of_the_clock_is_stale(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = lake.file(SHIPS, NAMES[1])
    before = file.stat()
    assert stale(lake) == []
    next_process(monkeypatch)
    write(lake, NAMES[1], 2)
    os.utime(file, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert (file.stat().st_mtime_ns, file.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert stale(lake) == [NAMES[1]]


def test_a_file_that_is_gone_is_missing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stale(lake) == []
    next_process(monkeypatch)
    lake.file(REPORTS, NAMES[2]).unlink()
    assert stale(lake) == [NAMES[2]]


def test_a_young_file_is_read_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "_SURE_AFTER_NS", 3600 * 10**9)
    assert stale(lake) == []
    next_process(monkeypatch)
    no_file_is_opened(monkeypatch)
    with pytest.raises(AssertionError, match="was opened"):
        stale(lake)


@pytest.mark.parametrize("damage", [b"", b"no checksum", b"00000000[]", b"ffff"])
def test_a_damaged_file_of_footers_is_not_used(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    assert stale(lake) == []
    write(lake, NAMES[0], 2)
    for file in (tmp_path / "state" / "footers").iterdir():
        file.write_bytes(damage)
    next_process(monkeypatch)
    assert stale(lake) == [NAMES[0]]


def test_footers_are_kept_again_when_many_were_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stale(lake) == []
    next_process(monkeypatch)
    report(lake, NAMES[0])
    assert stale(lake) == []
    next_process(monkeypatch)
    no_file_is_opened(monkeypatch)
    assert stale(lake) == []


def test_nothing_is_kept_where_nothing_can_be_written(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder", encoding="utf-8")
    assert stale(lake) == []
    keep_footers()
    next_process(monkeypatch)
    assert stale(lake) == []


def test_each_version_is_later_than_the_one_before(lake: Lake) -> None:
    file = lake.file(SHIPS, NAMES[0])
    times = []
    for hull in range(20):
        write(lake, NAMES[0], hull)
        times.append(file.stat().st_mtime_ns)
    assert times == sorted(set(times))


def test_footers_of_one_growing_table_do_not_exceed_the_bound(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables: dict[str, Any] = {}
    monkeypatch.setattr(footers, "_TABLES", tables)
    monkeypatch.setattr(footers, "MOST_FOOTERS", 10)
    known = []
    for number in range(1, 31):
        name = f"south-{number:06d}"
        written = write(lake, name, number)
        assert read_footer(lake, SHIPS, name) == written
        known.append(sum(len(table.by_partition) for table in tables.values()))
    assert max(known) == 10


def test_of_a_tenth_more_files_than_the_bound_a_pass_opens_less_than_half(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"south-{number:06d}" for number in range(88)]
    for name in names:
        write(lake, name, 1)
    monkeypatch.setattr(footers, "_MANY", 1000)
    monkeypatch.setattr(footers, "MOST_FOOTERS", 80)
    opened: list[str] = []
    read_metadata = pq.read_metadata

    def opening(file: Path) -> pq.FileMetaData:
        opened.append(file.parent.name)
        return read_metadata(file)

    monkeypatch.setattr(pq, "read_metadata", opening)
    for _ in range(5):
        opened.clear()
        for name in names:
            read_footer(lake, SHIPS, name)
    assert 0 < len(opened) < len(names) / 2
