import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holocron_assets.lake.declaration.schema import (
    Column,
    SchemaError,
    Table,
    type_int,
    type_string,
    type_strings,
    type_time,
)
from holocron_assets.lake.files.parquet import (
    DamagedPartitionError,
    Footer,
    MissingPartitionError,
    read_footer,
    read_partition,
    replacing,
    write_partition,
    write_table,
)
from holocron_assets.lake.packs.packing import write_pack
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.unfinished import aside_of

SHIPS = Table(
    "ships",
    "yard",
    "A ship",
    key=("hull",),
    columns=(
        Column("hull", type_int, "Hull number"),
        Column("name", type_string, "Its name", nullable=True),
        Column("decks", type_strings, "Names of decks"),
        Column("run_id", type_string, "Run that made this row", provenance=True),
    ),
    row_group_rows=50,
)
DAMAGES = ["empty", "cut", "cut by a byte", "zeros", "no Parquet", "flipped in a page", "wrong footer length"]


def damaged(whole: bytes, damage: str) -> bytes:
    return {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "cut by a byte": whole[:-1],
        "zeros": bytes(len(whole)),
        "no Parquet": b"<html>Not found</html>" * 100,
        "flipped in a page": whole[:300] + bytes([whole[300] ^ 1]) + whole[301:],
        "wrong footer length": whole[:-8] + b"\xff" * 4 + whole[-4:],
    }[damage]


def ships(count: int = 3, name: str = "Varn", run_id: str = "run-1") -> list[dict[str, Any]]:
    return [
        {"hull": hull, "name": f"{name} {hull}", "decks": ["upper"], "run_id": run_id}
        for hull in range(count)
    ]


def leftovers(lake: Lake) -> list[Path]:
    return [file for file in lake.partition_folder(SHIPS, "north").iterdir() if file.name != "data.parquet"]


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", ships())
    assert read_partition(lake, SHIPS, "north") == ships()
    assert read_partition(lake, SHIPS, "north", ["name"]) == [{"name": row["name"]} for row in ships()]


def test_a_column_declared_later_reads_as_empty_in_older_files(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", ships())
    crew = Column("crew", type_int, "People aboard", nullable=True, added=True)
    grown = replace(SHIPS, columns=(*SHIPS.columns, crew))
    assert read_partition(lake, grown, "north") == [{**row, "crew": None} for row in ships()]
    assert read_partition(lake, grown, "north", ["hull"]) == [{"hull": hull} for hull in range(3)]
    write_partition(lake, grown, "south", [{**row, "crew": 4} for row in ships()])
    assert [row["crew"] for row in read_partition(lake, grown, "south", ["crew"])] == [4, 4, 4]


def test_a_file_says_what_it_was_made_from_and_by(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    written = write_partition(lake, SHIPS, "north", ships(), code_version="7", inputs={"yards": "abc"})
    assert read_footer(lake, SHIPS, "north") == written
    assert (written.rows, written.code_version, written.inputs) == (3, "7", {"yards": "abc"})
    assert len(written.content_id) == 32


def test_a_content_id_distinguishes_facts_and_not_runs(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    first, again, other = (
        write_partition(lake, SHIPS, "north", rows).content_id
        for rows in (ships(), ships(run_id="run-2"), ships(name="Gort"))
    )
    assert first == again != other


def test_no_rows_are_a_file_too(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", [])
    assert read_partition(lake, SHIPS, "north") == []
    assert lake.has(SHIPS, "north")


def test_single_rows_can_be_read_without_the_others(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", ships(120))
    assert pq.read_metadata(lake.file(SHIPS, "north")).num_row_groups == 3


def test_an_arrow_table_is_written_as_its_rows_are(tmp_path: Path) -> None:
    footer = write_partition(Lake(tmp_path), SHIPS, "one", ships(), code_version="1", inputs={"a": "b"})
    arrow = pa.Table.from_pylist(ships()).select(["run_id", "name", "decks", "hull"])
    assert write_table(Lake(tmp_path), SHIPS, "two", arrow, code_version="1", inputs={"a": "b"}) == footer
    assert read_partition(Lake(tmp_path), SHIPS, "two") == ships()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hull": None}, "column 'hull' is empty in row 1"),
        ({"hull": 0}, "repeats"),
        ({"hull": "one"}, "not int64"),
    ],
)
def test_an_arrow_table_that_does_not_fit_is_refused(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    rows = [ships(1)[0], {**ships(1)[0], "hull": 1, **change}]
    arrow = pa.table(
        {name: [row[name] for row in rows[isinstance(change["hull"], str) :]] for name in rows[0]}
    )
    with pytest.raises(SchemaError, match=problem):
        write_table(Lake(tmp_path), SHIPS, "one", arrow)
    assert Lake(tmp_path).partitions(SHIPS) == []


def test_rows_that_do_not_fit_leave_the_file_as_it_was(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", ships())
    with pytest.raises(SchemaError, match="table ships, partition 'north'"):
        write_partition(lake, SHIPS, "north", ships() * 2)
    assert read_partition(lake, SHIPS, "north") == ships()
    assert leftovers(lake) == []


def test_a_missing_partition_is_named_and_has_no_footer(tmp_path: Path) -> None:
    with pytest.raises(MissingPartitionError, match=r"table ships has no partition 'north': .*data\.parquet"):
        read_partition(Lake(tmp_path), SHIPS, "north")
    assert read_footer(Lake(tmp_path), SHIPS, "north") is None


def test_a_file_from_elsewhere_has_a_footer_that_matches_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.partition_folder(SHIPS, "north").mkdir(parents=True)
    pq.write_table(pa.table({"hull": [1]}), lake.file(SHIPS, "north"))
    assert read_footer(lake, SHIPS, "north") == Footer(rows=1, content_id="")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path, damage: str) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", ships(200))
    file = lake.file(SHIPS, "north")
    file.write_bytes(damaged(file.read_bytes(), damage))
    message = rf"table ships, partition 'north': {file} cannot be read .*holocron verify"
    with pytest.raises(DamagedPartitionError, match=message):
        read_partition(lake, SHIPS, "north")
    if damage != "flipped in a page":  # which lies outside of what a footer is read from
        with pytest.raises(DamagedPartitionError, match=message):
            read_footer(lake, SHIPS, "north")


def test_a_flipped_bit_is_never_read_as_another_value(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", ships(60))
    file = lake.file(SHIPS, "north")
    whole = file.read_bytes()
    pages_end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for place in range(4, pages_end, 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert read_partition(lake, SHIPS, "north") == ships(60)
        except DamagedPartitionError:
            continue


DATES = Table(
    "dates",
    "yard",
    "A date",
    key=("ship",),
    columns=(
        Column("ship", type_string, "Ship"),
        Column("visits", pa.list_(pa.struct([("at", type_time)])), "When it came into port"),
    ),
    partition_column="ship",
)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_flipped_bit_in_the_name_of_a_time_zone_is_named(tmp_path: Path, is_packed: object) -> None:
    lake = Lake(tmp_path)
    file, row = lake.file(DATES, "varn"), {"ship": "varn", "visits": [{"at": datetime.now(UTC)}]}
    write_partition(lake, DATES, "varn", [row])
    if is_packed:
        write_pack(lake, DATES, ["varn"])
        file.unlink()
        (file,) = lake.files()
    whole, named = file.read_bytes(), list[DamagedPartitionError]()
    for place in range(whole.index(b"ARROW:schema"), len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            read_partition(lake, DATES, "varn")
        except DamagedPartitionError as error:
            named.append(error)
    assert {error.file for error in named} == {file}
    assert [error for error in named if "time zone" in error.why]


def test_a_metadata_that_is_no_json_is_damage(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.partition_folder(SHIPS, "north").mkdir(parents=True)
    table = pa.table({"hull": [1]}).replace_schema_metadata({"holocron": "{"})
    pq.write_table(table, lake.file(SHIPS, "north"))
    with pytest.raises(DamagedPartitionError, match="partition 'north'"):
        read_footer(lake, SHIPS, "north")


def test_a_file_that_the_system_does_not_let_us_read_is_not_called_damaged(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    file = lake.file(SHIPS, "north")
    file.parent.mkdir(parents=True)
    file.symlink_to(file)
    with pytest.raises(OSError, match="symbolic links"):
        read_footer(lake, SHIPS, "north")


def test_an_error_while_writing_leaves_the_old_file_and_nothing_aside(tmp_path: Path) -> None:
    target = tmp_path / "north" / "data.parquet"
    with replacing(target) as aside:
        aside.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(target) as aside:
        aside.write_text("\ud800", encoding="utf-8")
    assert [(file.name, file.read_text()) for file in target.parent.iterdir()] == [("data.parquet", "old")]


def test_two_versions_within_one_tick_of_the_clock_have_different_marks(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with replacing(target) as aside:
        aside.write_text("old")
    before = target.stat()
    with replacing(target) as aside:
        aside.write_text("new")
        os.utime(aside, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert target.read_text() == "new"
    assert FileMark.of(target.stat()) != FileMark.of(before)


def test_what_a_killed_writer_left_is_removed_when_it_is_an_hour_old(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write_partition(lake, SHIPS, "north", ships())
    fresh, old = (aside_of(lake.file(SHIPS, "north")) for _ in range(2))
    for file in (fresh, old):
        file.touch()
    os.utime(old, (time.time() - 3_700,) * 2)
    write_partition(lake, SHIPS, "north", ships())
    assert leftovers(lake) == [fresh]


def test_writers_of_one_partition_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    names = [str(number) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: write_partition(lake, SHIPS, "north", ships(50, name)), names))
    assert read_partition(lake, SHIPS, "north") in [ships(50, name) for name in names]
    assert leftovers(lake) == []


WRITER = """
import sys
from itertools import count
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_parquet import SHIPS, ships
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
for number in count():
    write_partition(Lake(Path(sys.argv[1])), SHIPS, "north", ships(2_000, str(number)))
    print(number, flush=True)
"""


@pytest.mark.system
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    moments = random.Random(7)  # noqa: S311 - any moments do, the same in every run
    command = [sys.executable, "-c", WRITER, str(tmp_path), str(Path(__file__).parent)]
    for _ in range(6):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:  # noqa: S603 - our own program
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(moments.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
            written = [0, *map(int, writer.stdout.read().split())]
        found = read_partition(lake, SHIPS, "north")
        assert found in [ships(2_000, str(number)) for number in (written[-1], written[-1] + 1)]
        footer = read_footer(lake, SHIPS, "north")
        assert footer is not None
        assert footer.rows == len(found)
    write_partition(lake, SHIPS, "north", ships())
    assert read_partition(lake, SHIPS, "north") == ships()
