"""Partitions that are written as their rows come: the same as those that are written at once."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.lake.declaration.keys import TableHash, table_hash
from holocron_assets.lake.declaration.schema import (
    Column,
    SchemaError,
    Table,
    type_int,
    type_string,
    type_strings,
    type_time,
)
from holocron_assets.lake.files import streams
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.files.streams import write_stream
from holocron_assets.lake.place.paths import Lake

NUMBERS = Table(
    name="numbers",
    layer="test",
    description="A number",
    key=("series", "number"),
    columns=(
        Column("series", type_string, "Series"),
        Column("number", type_int, "Number"),
        Column("names", type_strings, "Names", nullable=True),
        Column("made_at", type_time, "When", provenance=True),
    ),
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_PIECE_ROWS", 10)


def row(number: int, series: str = "odd") -> dict[str, Any]:
    names = None if number % 5 == 0 else [str(number)] * (number % 3)
    return {"series": series, "number": number, "names": names, "made_at": datetime.now(UTC)}


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 35])
def test_a_streamed_partition_is_the_one_that_would_have_been_written_at_once(lake: Lake, count: int) -> None:
    rows = [row(number) for number in range(count)]
    inputs = {"from": "there"}
    streamed = write_stream(lake, NUMBERS, "streamed", iter(rows), code_version="7", inputs=inputs)
    at_once = write_partition(lake, NUMBERS, "at_once", rows, code_version="7", inputs=inputs)
    assert streamed == at_once == read_footer(lake, NUMBERS, "streamed")
    assert read_partition(lake, NUMBERS, "streamed") == read_partition(lake, NUMBERS, "at_once")
    schemas = [pq.read_schema(lake.file(NUMBERS, name)) for name in ("streamed", "at_once")]
    assert schemas[0].equals(schemas[1], check_metadata=False)


def test_rows_are_taken_as_they_are_written_and_not_all_at_once(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, most_waiting, written = 0, 0, 0
    to_arrow = Table.to_arrow

    def counting(table: Table, rows: list[Any], partition: str, first_row: int) -> pa.Table:
        nonlocal written, most_waiting
        most_waiting = max(most_waiting, taken - written)
        written += len(rows)
        return to_arrow(table, rows, partition, first_row)

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield row(number)

    monkeypatch.setattr(Table, "to_arrow", counting)
    write_stream(lake, NUMBERS, "p", rows())
    assert (written, most_waiting) == (100, 10)


@pytest.mark.parametrize("repeated", [3, 25])
def test_a_key_that_repeats_in_any_piece_is_refused_and_the_old_file_stays(lake: Lake, repeated: int) -> None:
    write_stream(lake, NUMBERS, "p", [row(1)])
    with pytest.raises(SchemaError, match=rf"numbers, partition 'p': key .* repeats: .*{repeated}"):
        write_stream(lake, NUMBERS, "p", [*map(row, range(30)), row(repeated)])
    assert [found["number"] for found in read_partition(lake, NUMBERS, "p")] == [1]
    assert [file.name for file in lake.partition_folder(NUMBERS, "p").iterdir()] == ["data.parquet"]


def test_the_same_number_in_another_series_is_no_repetition(lake: Lake) -> None:
    assert write_stream(lake, NUMBERS, "p", [row(1), row(1, "even")]).rows == 2


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"number": "sixteen"}, "column 'number' is not int64 in row 15"),
        ({"number": None}, "column 'number' is empty in row 15"),
        ({"size": 16}, "row 15 has undeclared columns"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_in_the_last_piece_too_and_named(
    lake: Lake, change: dict[str, Any], error: str
) -> None:
    with pytest.raises(SchemaError, match=error):
        write_stream(lake, NUMBERS, "p", [*map(row, range(15)), {**row(16), **change}])
    assert not lake.has(NUMBERS, "p")


def test_what_ends_the_rows_leaves_no_file(lake: Lake) -> None:
    def breaking() -> Iterator[dict[str, Any]]:
        yield from map(row, range(15))
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        write_stream(lake, NUMBERS, "p", breaking())
    assert list(lake.partition_folder(NUMBERS, "p").iterdir()) == []


@given(st.lists(st.integers(0, 40)))
def test_the_hash_of_pieces_is_that_of_the_whole(cuts: list[int]) -> None:
    whole = NUMBERS.to_arrow([row(number) for number in range(40)], "p").select(NUMBERS.content_columns)
    in_pieces = TableHash()
    places = [0, *sorted(cuts), 40]
    for start, stop in pairwise(places):
        in_pieces.update(whole.slice(start, stop - start))
    assert in_pieces.hexdigest() == table_hash(whole)
