import io
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.lake.declaration.keys import content_hash, rows_hash_sql, table_hash, title_key
from holocron_assets.lake.declaration.schema import (
    Column,
    Row,
    Table,
    type_bool,
    type_float,
    type_int,
    type_string,
    type_strings,
    type_time,
)

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


def content_id(rows: Sequence[Row]) -> str:
    return table_hash(SHIPS.to_arrow(rows, "yard-7").select(SHIPS.content_columns))


def test_title_keys_are_the_same_for_ever() -> None:
    assert title_key("sample", "Varn") == 4517010182356223383


def test_a_title_key_composes_its_title() -> None:
    decomposed = unicodedata.normalize("NFD", "Padmé Ångström")
    assert decomposed != "Padmé Ångström"
    assert title_key("sample", decomposed) == title_key("sample", "Padmé Ångström")


def test_compatibility_characters_stay_themselves() -> None:
    assert title_key("sample", "\ufb01n") != title_key("sample", "fin")


@pytest.mark.parametrize("other", ["varn", "VARN", "Varn ", "Varn/Legends", "Talk:Varn", ""])
def test_other_titles_have_other_keys(other: str) -> None:
    assert title_key("sample", other) != title_key("sample", "Varn")


def test_sources_do_not_share_keys() -> None:
    assert title_key("sample", "Varn") != title_key("other", "Varn")
    assert title_key("ab", "c") != title_key("a", "bc")


hostile_text = st.text(st.characters(exclude_categories=[]), max_size=300)


@given(hostile_text)
def test_any_title_has_a_key_that_fits_a_signed_64_bit_column(title: str) -> None:
    assert pa.scalar(title_key("sample", title), type_int).as_py() == title_key("sample", title)


def test_keys_use_both_signs() -> None:
    assert {title_key("sample", str(number)) < 0 for number in range(64)} == {True, False}


def test_content_hashes_are_the_same_for_ever() -> None:
    assert content_hash("Varn") == "7cbf8f5ccaa194fb3d9ef5d3d20ce2e3"


@given(hostile_text)
def test_any_text_has_a_content_hash_of_32_hexadecimal_digits(text: str) -> None:
    assert len(content_hash(text)) == 32
    assert set(content_hash(text)) <= set("0123456789abcdef")


def test_a_content_hash_sees_what_a_title_key_composes() -> None:
    assert content_hash("é") != content_hash(unicodedata.normalize("NFD", "é"))


def test_equal_rows_have_one_hash_wherever_they_were_made() -> None:
    rows = [ship(1, decks=["a", "b"], name="Varn"), ship(2, decks=[], built_at=NOON)]
    assert content_id(rows) == content_id([dict(reversed(row.items())) for row in rows])


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Gort"},
        {"name": None},
        {"name": ""},
        {"decks": ["ab"]},
        {"decks": []},
        {"decks": None},
        {"crew": {"officers": 3}},
    ],
)
def test_another_value_is_another_hash(change: dict[str, Any]) -> None:
    row = ship(name="Varn", decks=["a", "b"], crew={"officers": 2})
    assert content_id([row]) != content_id([{**row, **change}])


def test_another_order_of_rows_is_another_hash() -> None:
    assert content_id([ship(1), ship(2)]) != content_id([ship(2), ship(1)])


def test_how_a_row_was_made_is_not_in_its_content_hash() -> None:
    assert content_id([ship(run_id="run-1")]) == content_id([ship(run_id="run-2")])


def test_a_hash_does_not_depend_on_chunks_or_file_metadata() -> None:
    whole = SHIPS.to_arrow([ship(1, name="Varn"), ship(2), ship(3, decks=["a"])], "yard-7")
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    assert table_hash(parts.replace_schema_metadata({"made": "today"})) == table_hash(whole)


def test_a_hash_is_the_same_after_reading_the_file_back() -> None:
    table = SHIPS.to_arrow([ship(1, decks=["a"]), ship(2)], "yard-7")
    file = io.BytesIO()
    pq.write_table(table, file)
    assert table_hash(pq.read_table(file)) == table_hash(table)


def test_a_reworded_description_is_no_other_content() -> None:
    plain = pa.table({"hull": [1]})
    described = pa.schema([pa.field("hull", pa.int64(), metadata={"description": "Hull number"})])
    assert table_hash(plain.cast(described)) == table_hash(plain)


def test_a_hash_does_not_depend_on_what_was_cut_off() -> None:
    whole = pa.table({"hull": pa.array([1, 2, None]).slice(0, 2)})
    assert table_hash(whole) == table_hash(pa.table({"hull": [1, 2]}))


@pytest.mark.parametrize("other", [pa.table({"hull": pa.array([1], pa.int32())}), pa.table({"hall": [1]})])
def test_another_name_or_type_is_another_hash(other: pa.Table) -> None:
    assert table_hash(other) != table_hash(pa.table({"hull": [1]}))


def test_an_empty_value_is_hashed_as_empty_whatever_lies_under_it() -> None:
    _, only_first = pa.array([True, False]).buffers()
    _, numbers = pa.array([7, 8]).buffers()
    hidden = pa.Array.from_buffers(pa.int64(), 2, [only_first, numbers])
    assert table_hash(pa.table({"hull": hidden})) == table_hash(pa.table({"hull": [7, None]}))


def test_values_of_a_type_that_the_lake_does_not_use_have_no_hash() -> None:
    with pytest.raises(TypeError, match="column 'price': values of type decimal"):
        table_hash(pa.table({"price": pa.array([1], pa.decimal128(5))}))


ships = st.lists(
    st.fixed_dictionaries(
        {"dock": st.text(max_size=3), "hull": st.integers(-3, 3), "run_id": st.just("run-1")},
        optional={
            "name": st.none() | st.text(max_size=3),
            "length_m": st.none() | st.floats(allow_nan=False) | st.integers(-3, 3),
            "afloat": st.none() | st.booleans(),
            "built_at": st.none() | st.datetimes(timezones=st.just(UTC)),
            "decks": st.none() | st.lists(st.text(max_size=2), max_size=3),
            "crew": st.none() | st.fixed_dictionaries({"officers": st.none() | st.integers(-3, 3)}),
        },
    ),
    max_size=6,
    unique_by=lambda row: (row["dock"], row["hull"]),
)


@given(ships, ships, st.integers(0, 6))
def test_tables_have_one_hash_exactly_when_they_hold_the_same_however_they_are_cut(
    one: list[Row], other: list[Row], cut: int
) -> None:
    left, right = SHIPS.to_arrow(one, "yard-7"), SHIPS.to_arrow(other, "yard-7")
    both = SHIPS.to_arrow(one, "yard-7")
    parts = pa.concat_tables([both.slice(0, cut), both.slice(cut)])
    assert table_hash(parts) == table_hash(left)
    assert (table_hash(left) == table_hash(right)) is (repr(left.to_pylist()) == repr(right.to_pylist()))


def rows_hash(*rows: tuple[str, str]) -> int:
    values = ", ".join(map(str, rows))
    sql = f"select {rows_hash_sql('title, holder')} from (values {values}) as rows (title, holder)"  # noqa: S608 - ours
    [[number]] = duckdb.execute(sql).fetchall()
    return int(number)


def test_the_hash_of_rows_changes_when_the_last_value_of_two_rows_changes_alike() -> None:
    before = rows_hash(("Nem", "Vex"), ("Vex", "Vex"))
    assert rows_hash(("Nem", "Yol"), ("Vex", "Yol")) != before
    assert rows_hash(("Vex", "Vex"), ("Nem", "Vex")) == before
