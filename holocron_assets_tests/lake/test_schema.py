import io
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from http import HTTPStatus
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holocron_assets.lake.declaration.schema import (
    Column,
    Row,
    SchemaError,
    Table,
    type_bool,
    type_float,
    type_int,
    type_string,
    type_strings,
    type_time,
)
from holocron_assets.lake.tables import ALL_TABLES

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHIPS = Table(
    name="ships",
    layer="yard",
    description="A ship",
    key=("dock", "hull"),
    columns=(
        Column("dock", type_string, "Where it lies"),
        Column("hull", type_int, "Hull number"),
        Column("name", type_string, "Its name", nullable=True),
        Column("length_m", type_float, "Metres", nullable=True),
        Column("afloat", type_bool, "Whether it floats", nullable=True),
        Column("built_at", type_time, "When it was built", nullable=True),
        Column("decks", type_strings, "Names of decks", nullable=True),
        Column("crew", pa.struct([("officers", pa.int64())]), "Heads", nullable=True),
        Column("run_id", type_string, "Run that made this row", provenance=True),
    ),
)


def ship(hull: Any = 1, **changes: Any) -> dict[str, Any]:
    return {"dock": "north", "hull": hull, "run_id": "run-1", **changes}


def refusal(rows: Sequence[Row]) -> str:
    with pytest.raises(SchemaError) as error:
        SHIPS.to_arrow(rows, "yard-7")
    return str(error.value)


def test_rows_that_fit_come_out_as_they_went_in() -> None:
    full = ship(
        name="Élan",
        length_m=12.5,
        afloat=False,
        built_at=NOON,
        decks=["upper", ""],
        crew={"officers": 2},
    )
    assert SHIPS.to_arrow([full], "yard-7").to_pylist() == [full]


def test_the_order_of_a_rows_keys_does_not_matter() -> None:
    table = SHIPS.to_arrow([dict(reversed(ship().items()))], "yard-7")
    assert table.column_names == [column.name for column in SHIPS.columns]


def test_an_absent_nullable_column_is_empty() -> None:
    (row,) = SHIPS.to_arrow([ship()], "yard-7").to_pylist()
    assert row["name"] is row["crew"] is row["built_at"] is None


def test_a_file_schema_carries_types_and_descriptions() -> None:
    field = SHIPS.arrow_schema.field("built_at")
    assert (field.type, field.nullable, field.metadata) == (
        type_time,
        True,
        {b"description": b"When it was built"},
    )
    assert not SHIPS.arrow_schema.field("hull").nullable


def test_no_rows_make_an_empty_table_of_the_declared_schema() -> None:
    table = SHIPS.to_arrow([], "yard-7")
    assert (table.num_rows, table.schema) == (0, SHIPS.arrow_schema)


def test_an_undeclared_column_is_refused_naming_table_partition_row_and_column() -> None:
    message = refusal([ship(), ship(2, colour="red", age=3)])
    assert message == "table ships, partition 'yard-7': row 1 has undeclared columns ['age', 'colour']"


@pytest.mark.parametrize("empty", [{"dock": None, "hull": 2, "run_id": "r"}, {"hull": 2, "run_id": "r"}])
def test_an_empty_required_value_is_refused_naming_table_partition_column_and_row(empty: Row) -> None:
    message = refusal([ship(), empty])
    assert message == "table ships, partition 'yard-7': column 'dock' is empty in row 1"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("name", 7),
        ("name", "\ud800"),
        ("hull", "seven"),
        ("hull", 1 << 63),
        ("hull", True),
        ("length_m", "long"),
        ("afloat", 1),
        ("afloat", "yes"),
        ("built_at", "2026-03-01T12:00:00Z"),
        ("decks", [1]),
        ("decks", ["\ud800"]),
        ("crew", {"officers": "two"}),
        ("crew", 2),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_naming_table_partition_and_column(
    column: str, value: Any
) -> None:
    message = refusal([ship(), {**ship(2), column: value}])
    assert message.startswith(f"table ships, partition 'yard-7': column {column!r} is not ")


def test_a_repeated_key_is_refused_naming_its_values() -> None:
    message = refusal([ship(1), ship(2), ship(1, name="again")])
    assert message.startswith("table ships, partition 'yard-7': key ('dock', 'hull') repeats: ")
    assert "'dock': 'north'" in message
    assert "'hull': 1" in message
    assert "'hull': 2" not in message


def test_half_a_key_may_repeat() -> None:
    rows = [ship(1), ship(2), ship(1, dock="south")]
    assert SHIPS.to_arrow(rows, "yard-7").num_rows == 3


def test_a_table_without_key_takes_the_same_row_twice() -> None:
    log = Table("log", "yard", "A line", key=(), columns=(Column("line", type_string, "It"),))
    assert log.to_arrow([{"line": "same"}, {"line": "same"}], "yard-7").num_rows == 2


def test_a_table_from_elsewhere_is_checked_by_the_same_rules() -> None:
    good = SHIPS.to_arrow([ship()], "yard-7")
    SHIPS.check(good, "yard-7")
    with pytest.raises(SchemaError, match=r"ships, partition 'yard-7': key .* repeats"):
        SHIPS.check(pa.concat_tables([good, good]), "yard-7")


def test_content_columns_are_all_but_provenance() -> None:
    names = [column.name for column in SHIPS.columns]
    assert [*SHIPS.content_columns, "run_id"] == names


def test_a_row_revives_from_json() -> None:
    row = ship(name="Élan", built_at=NOON)
    record = json.loads(json.dumps({**row, "built_at": NOON.isoformat()}))
    assert SHIPS.revive(record) == row
    assert SHIPS.revive({**record, "built_at": None})["built_at"] is None


def test_times_within_lists_and_structs_revive_too() -> None:
    moments = pa.list_(pa.struct([("at", type_time), ("name", pa.string())]))
    table = replace(
        SHIPS, columns=(*SHIPS.columns, Column("calls", moments, "Calls at ports", nullable=True))
    )
    record = {"calls": [{"at": NOON.isoformat(), "name": "Nem"}, {"at": None, "name": None}]}
    assert table.revive(record)["calls"] == [{"at": NOON, "name": "Nem"}, {"at": None, "name": None}]
    assert table.revive({"calls": None})["calls"] is None


def test_table_names_are_unique() -> None:
    names = [table.name for table in ALL_TABLES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.name)
def test_a_declared_table_describes_itself_and_has_a_key_that_is_never_empty(table: Table) -> None:
    columns = {column.name: column for column in table.columns}
    assert len(columns) == len(table.columns)
    assert table.description
    assert all(column.description for column in table.columns)
    assert table.key
    assert not any(columns[name].nullable or columns[name].provenance for name in table.key)


def test_a_key_column_has_one_type_in_every_table() -> None:
    keys = {name for table in ALL_TABLES for name in table.key}
    types = defaultdict(set)
    for table in ALL_TABLES:
        for column in table.columns:
            types[column.name].add(str(column.type))
    assert {name: types[name] for name in keys if len(types[name]) > 1} == {}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("decks", "upper"),
        ("decks", [None]),
        ("hull", 1.5),
        ("name", b"bytes"),
        ("built_at", 1),
        ("built_at", NOON.replace(tzinfo=None)),
        ("built_at", float("nan")),
        ("crew", {"officer": 2}),
        ("crew", {"officers": 2, "cooks": 1}),
        ("crew", {}),
        ("crew", {"officers": True}),
        ("crew", [("officers", 2)]),
        ("length_m", True),
        ("length_m", "12.5"),
        ("length_m", (1 << 53) + 1),
        ("decks", {"upper": "lower"}),
        ("decks", {"upper"}),
        ("built_at", date(2026, 3, 1)),
        ("built_at", pd.Timestamp("2026-03-01T12:00:00.000000001Z")),
        ("built_at", pd.NaT),
        ("hull", float("nan")),
    ],
)
def test_a_value_that_would_be_changed_or_lost_is_refused(column: str, value: Any) -> None:
    message = refusal([{**ship(), column: value}])
    assert message.startswith(f"table ships, partition 'yard-7': column {column!r} ")


def test_a_wrong_type_names_the_first_row_at_fault_and_what_it_holds() -> None:
    message = refusal([ship(), ship(2, name="Varn"), ship(3, name=b"Varn"), ship(4, name=5)])
    assert message == (
        "table ships, partition 'yard-7': column 'name' is not string in row 2, which holds b'Varn': "
        "a value is of type bytes"
    )


@pytest.mark.parametrize("value", [1 << 63, "\ud800"])
def test_what_arrow_cannot_hold_names_its_row(value: Any) -> None:
    column = "hull" if isinstance(value, int) else "name"
    assert f"column {column!r} is not " in (message := refusal([ship(), ship(2), {**ship(3), column: value}]))
    assert " in row 2, which holds " in message


def test_a_huge_value_is_not_repeated_in_the_error() -> None:
    assert len(refusal([ship(name=b"x" * 1_000_000)])) < 300


@pytest.mark.parametrize(
    ("column", "value", "stored"),
    [
        ("length_m", 12, 12.0),
        ("length_m", -0.0, -0.0),
        ("decks", ("upper",), ["upper"]),
        ("decks", [], []),
        ("crew", {"officers": None}, {"officers": None}),
        ("hull", HTTPStatus.OK, 200),
        ("built_at", NOON.astimezone(timezone(timedelta(hours=5))), NOON),
    ],
)
def test_a_value_that_says_the_same_in_the_declared_type_is_taken(
    column: str, value: Any, stored: Any
) -> None:
    (row,) = SHIPS.to_arrow([{**ship(), column: value}], "yard-7").to_pylist()
    assert row[column] == stored


def test_a_nested_value_says_where_it_is_wrong() -> None:
    kind = pa.list_(pa.struct([("name", pa.string()), ("levels", pa.list_(pa.int64()))]))
    table = Table("docks", "yard", "A dock", key=(), columns=(Column("cranes", kind, "Its cranes"),))
    good = {"name": "A", "levels": [1]}
    table.to_arrow([{"cranes": [good, {"name": None, "levels": None}]}], "yard-7")
    with pytest.raises(SchemaError, match=r"in row 1, .*in an item, in field 'levels', an item is empty"):
        table.to_arrow([{"cranes": [good]}, {"cranes": [good, {"name": "B", "levels": [None]}]}], "yard-7")


def test_a_table_from_elsewhere_that_lacks_a_column_is_refused_by_name() -> None:
    with pytest.raises(SchemaError, match=r"ships, partition 'yard-7'.*'run_id'"):
        SHIPS.check(SHIPS.to_arrow([ship()], "yard-7").drop_columns(["run_id"]), "yard-7")


def test_a_table_from_elsewhere_of_another_type_is_refused_by_name() -> None:
    good = SHIPS.to_arrow([ship()], "yard-7")
    position = good.column_names.index("name")
    with pytest.raises(SchemaError, match=r"ships, partition 'yard-7'.*'name'"):
        SHIPS.check(good.set_column(position, "name", pa.array([7])), "yard-7")


def test_a_table_from_elsewhere_with_a_column_too_many_is_refused_by_name() -> None:
    good = SHIPS.to_arrow([ship()], "yard-7")
    with pytest.raises(SchemaError, match=r"ships, partition 'yard-7'.*'colour'"):
        SHIPS.check(good.append_column("colour", pa.array(["red"])), "yard-7")


def test_a_file_that_was_written_elsewhere_is_checked_though_parquet_renames_list_items() -> None:
    table = SHIPS.to_arrow([ship(1, decks=["a"], crew={"officers": 2})], "yard-7")
    file = io.BytesIO()
    pq.write_table(table, file, store_schema=False)
    SHIPS.check(pq.read_table(file), "yard-7")
