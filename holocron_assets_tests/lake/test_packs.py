"""Packs: every reader of the lake sees every partition once, as it was written last, packed or not."""

import fcntl
import gc
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from holocron_assets.derive.gpu.gpu_log import GpuRun, Tally, write_gpu_run
from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string
from holocron_assets.lake.files.parquet import (
    DamagedPartitionError,
    MissingPartitionError,
    read_footer,
    read_partition,
    write_partition,
)
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.packs import compaction
from holocron_assets.lake.packs.compaction import (
    Compacted,
    CompactionUnderWayError,
    compact,
    partitions_to_pack,
)
from holocron_assets.lake.packs.packing import write_pack
from holocron_assets.lake.packs.packs import Packed
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.unfinished import aside_of
from holocron_assets.lake.tables import GPU_RUNS, PAGE_LINKS, SITES, TRACEBACKS
from holocron_assets.lake.views.database import connect, publish, query, rows_of

pytestmark = pytest.mark.system

SHIPS = Table(
    "ships",
    "yard",
    "A ship",
    key=("hull",),
    columns=(Column("batch", type_string, "Batch"), Column("hull", type_int, "Hull number")),
    partition_column="batch",
)
NAMED_SHIPS = replace(
    SHIPS, columns=(*SHIPS.columns, Column("name", type_string, "Name", nullable=True, added=True))
)
FEWEST = compaction.FEWEST
LINKS_IN_BATCH = 3


def name_of(number: int) -> str:
    return f"wiki-{number:06}"


def links(batch: str, *, version: int = 0, count: int = LINKS_IN_BATCH) -> list[dict[str, Any]]:
    """Links of a batch; the version stands in each."""
    return [
        {
            "source": "wiki",
            "batch": batch,
            "from_key": number,
            "from_title": "Varn",
            "kind": "link",
            "target": f"Gort {number}",
            "target_key": number,
            "target_namespace": 0,
            "position": version,
        }
        for number in range(count)
    ]


def write(lake: Lake, number: int, **shape: int) -> None:
    name = name_of(number)
    write_partition(
        lake, PAGE_LINKS, name, links(name, **shape), code_version="1", inputs={"pages": f"id {number}"}
    )


def lake_of(folder: Path, batches: int = FEWEST) -> Lake:
    """A lake of so many batches, written three days ago."""
    lake = Lake(folder)
    for number in range(1, batches + 1):
        write(lake, number)
    age(lake.files(), days=3)
    return lake


def age(files: list[Path], *, days: int) -> None:
    then = time() - timedelta(days=days).total_seconds()
    for file in files:
        os.utime(file, (then, then))


def packs_in(lake: Lake) -> list[Path]:
    return [file for file in lake.files() if file.parent.name == ".packs"]


def compacted(lake: Lake) -> Compacted:
    return compact(lake, now=datetime.now(UTC))


def packed_and_removed(lake: Lake) -> None:
    """Pack, and come back when everybody knows of it."""
    compacted(lake)
    age(packs_in(lake), days=2)
    compacted(lake)


def seen(lake: Lake) -> dict[str, tuple[int, list[int]]]:
    """How many rows each batch has, and of which versions, as a connection to the lake sees it."""
    with connect(lake) as connection:
        return _by_batch(query(connection, _EACH_BATCH))


def seen_by_client(lake: Lake) -> dict[str, tuple[int, list[int]]]:
    with duckdb.connect(lake.database, read_only=True) as client:
        return _by_batch(query(client, _EACH_BATCH))


_EACH_BATCH = """
    select batch, count(*) as rows, list(distinct position) as versions from page_links group by batch
"""


def _by_batch(rows: list[dict[str, Any]]) -> dict[str, tuple[int, list[int]]]:
    return {row["batch"]: (row["rows"], row["versions"]) for row in rows}


def known(lake: Lake) -> dict[str, Any]:
    """All that the lake holds of its links."""
    names = lake.partitions(PAGE_LINKS)
    return {
        "mark": lake.mark([PAGE_LINKS]),
        "rows": {name: read_partition(lake, PAGE_LINKS, name) for name in names},
        "titles": {name: read_partition(lake, PAGE_LINKS, name, ["target", "batch"]) for name in names},
        "footers": {name: read_footer(lake, PAGE_LINKS, name) for name in names},
        "there": [lake.has(PAGE_LINKS, name) for name in names],
        "used": lake.names_used(PAGE_LINKS),
        "seen": seen(lake),
    }


def test_no_content_of_a_lake_changes_when_it_is_packed(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    before = known(lake)
    assert compacted(lake) == Compacted(packs=1, packed=FEWEST)
    assert known(lake) == before
    age(packs_in(lake), days=2)
    assert compacted(lake) == Compacted(removed=FEWEST)
    assert [file.parent.name for file in lake.files()] == [".packs"]
    assert [path.name for path in lake.folder(PAGE_LINKS).iterdir()] == [".packs"]
    assert known(lake) == before
    assert compacted(lake) == Compacted()


def test_a_partition_that_is_written_again_wins_over_its_pack(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    compacted(lake)
    write(lake, 1, version=1)
    age(packs_in(lake), days=2)
    compacted(lake)
    write(lake, 2, version=2, count=7)
    after = seen(lake)
    assert after.pop(name_of(1)) == (LINKS_IN_BATCH, [1])
    assert after.pop(name_of(2)) == (7, [2])
    assert list(after.values()) == [(LINKS_IN_BATCH, [0])] * (FEWEST - 2)
    assert len(read_partition(lake, PAGE_LINKS, name_of(2))) == 7
    footer = read_footer(lake, PAGE_LINKS, name_of(2))
    assert footer is not None
    assert footer.rows == 7


def test_a_pack_of_which_nothing_was_read_for_a_day_is_removed(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    packed_and_removed(lake)
    for number in range(1, FEWEST + 1):
        write(lake, number, version=1)
    age([file for file in lake.files() if file not in packs_in(lake)], days=3)
    (old,) = packs_in(lake)
    compacted(lake)
    (new,) = packs_in(lake)
    assert new > old
    assert list(seen(lake).values()) == [(LINKS_IN_BATCH, [1])] * FEWEST


def test_rows_of_named_partitions_come_out_of_packs_and_own_files(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    packed_and_removed(lake)
    write(lake, 2, version=1)
    write(lake, FEWEST + 1)
    wanted = [name_of(1), name_of(2), name_of(FEWEST + 1)]
    rows = duckdb.execute(f"select batch, position from ({rows_of(lake, PAGE_LINKS, wanted)})").fetchall()  # noqa: S608 - our own
    versions = zip(wanted, (0, 1, 0), strict=True)
    assert sorted(rows) == sorted(pair for pair in versions for _ in range(LINKS_IN_BATCH))


def keep_journal(lake: Lake) -> None:
    with Journal(lake.journal(PAGE_LINKS, name_of(1))) as journal:
        journal.append({"started": [1]})


def rename(lake: Lake) -> None:
    lake.partition_folder(PAGE_LINKS, name_of(1)).rename(lake.partition_folder(PAGE_LINKS, "wiki"))


@pytest.mark.parametrize(
    "keep",
    [
        lambda lake: age([lake.file(PAGE_LINKS, name_of(1))], days=0),
        keep_journal,
        rename,
        lambda lake: lake.file(PAGE_LINKS, name_of(1)).unlink(),
    ],
    ids=["young", "being worked on", "no batch", "one too few"],
)
def test_what_may_change_or_is_not_worth_it_is_not_packed(
    tmp_path: Path, keep: Callable[[Lake], None]
) -> None:
    lake = lake_of(tmp_path)
    keep(lake)
    assert partitions_to_pack(lake, now=datetime.now(UTC)) == []
    write(lake, FEWEST + 1)
    age([lake.file(PAGE_LINKS, name_of(FEWEST + 1))], days=3)
    (plan,) = partitions_to_pack(lake, now=datetime.now(UTC))
    assert plan.pack == [name_of(number) for number in range(2, FEWEST + 2)]


def test_large_files_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of(tmp_path)
    monkeypatch.setattr(compaction, "SMALL_BYTES", lake.file(PAGE_LINKS, name_of(1)).stat().st_size - 100)
    assert partitions_to_pack(lake, now=datetime.now(UTC)) == []


def test_a_pack_that_is_more_than_half_dead_is_packed_again(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    packed_and_removed(lake)
    for number in range(1, FEWEST // 2 + 1):
        write(lake, number, version=1)
    assert partitions_to_pack(lake, now=datetime.now(UTC)) == []
    write(lake, FEWEST // 2 + 1, version=1)
    before = seen(lake)
    assert compacted(lake).packed == FEWEST // 2 - 1
    assert seen(lake) == before
    assert len(packs_in(lake)) == 2
    age(lake.files(), days=2)
    compacted(lake)
    assert len(packs_in(lake)) == 1
    assert seen(lake) == before


def test_small_packs_grow_with_the_lake(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    packed_and_removed(lake)
    for number in range(FEWEST + 1, 2 * FEWEST + 1):
        write(lake, number)
    age([file for file in lake.files() if file not in packs_in(lake)], days=3)
    assert compacted(lake) == Compacted(packs=1, packed=2 * FEWEST)
    age(packs_in(lake), days=2)
    compacted(lake)
    (pack,) = packs_in(lake)
    assert pq.read_metadata(pack).num_row_groups == 1
    assert len(seen(lake)) == 2 * FEWEST


def test_after_packs_were_joined_ten_times_only_contents_of_packs_that_exist_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "FEWEST", 2)
    lake = lake_of(tmp_path, 2)
    for number in range(3, 23, 2):
        packed_and_removed(lake)
        write(lake, number)
        write(lake, number + 1)
        age([file for file in lake.files() if file not in packs_in(lake)], days=3)
    packed_and_removed(lake)
    assert len(lake.partitions(PAGE_LINKS)) == 22
    gc.collect()
    remembered = [one.pack for one in gc.get_objects() if isinstance(one, Packed)]
    assert [pack for pack in remembered if pack.is_relative_to(tmp_path)] == packs_in(lake) * 22


def test_partitions_without_rows_are_packed_too(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for number in range(1, FEWEST + 1):
        write(lake, number, count=0)
    age(lake.files(), days=3)
    before = known(lake)
    packed_and_removed(lake)
    assert known(lake) == before
    assert len(before["rows"]) == FEWEST


def test_a_damaged_partition_is_named_and_left_where_it_is(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, FEWEST + 2)
    cut, wrong = (lake.file(PAGE_LINKS, name_of(number)) for number in (3, 4))
    cut.write_bytes(cut.read_bytes()[:-1])
    whole = pq.read_table(wrong)
    pq.write_table(whole.slice(1).replace_schema_metadata(whole.schema.metadata), wrong)
    age(lake.files(), days=3)
    done = compacted(lake)
    assert done.packed == FEWEST
    assert [name_of(number) in str(problem) for number, problem in zip((3, 4), done.problems, strict=True)]
    assert cut.exists()
    assert not lake.listing(PAGE_LINKS).is_packed(name_of(4))


def test_partitions_that_are_removed_once_it_is_planned_to_pack_them_are_left_out(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    (plan,) = partitions_to_pack(lake, now=datetime.now(UTC))
    for number in (1, 3):
        lake.file(PAGE_LINKS, name_of(number)).unlink()
    packed, problems, left = write_pack(lake, PAGE_LINKS, plan.pack)
    assert (len(packed), problems, left) == (FEWEST - 2, [], [])
    assert not {name_of(1), name_of(3)} & set(packed)


def test_rows_that_name_another_batch_are_not_packed(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, FEWEST - 1)
    write_partition(lake, PAGE_LINKS, name_of(FEWEST), links("another"))
    age(lake.files(), days=3)
    (problem,) = compacted(lake).problems
    assert name_of(FEWEST) in str(problem)


def test_a_damaged_pack_is_named(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    packed_and_removed(lake)
    (pack,) = packs_in(lake)
    pack.write_bytes(pack.read_bytes()[:-1])
    for read in (
        lambda: lake.partitions(PAGE_LINKS),
        lambda: read_partition(lake, PAGE_LINKS, name_of(1)),
        lambda: seen(lake),
    ):
        with pytest.raises(DamagedPartitionError, match=f"table page_links, pack '{pack.name}'"):
            read()


def test_a_partition_that_never_was_is_missing_in_a_lake_with_packs_too(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    packed_and_removed(lake)
    with pytest.raises(MissingPartitionError, match="wiki-000999"):
        read_partition(lake, PAGE_LINKS, "wiki-000999")
    assert read_footer(lake, PAGE_LINKS, "wiki-000999") is None
    assert not lake.has(PAGE_LINKS, "wiki-000999")


def test_one_compaction_at_a_time(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    with FileLock(lake.locks / "compaction.lock"), pytest.raises(CompactionUnderWayError):
        compacted(lake)
    assert packs_in(lake) == []


def test_what_killed_writers_left_anywhere_is_removed_an_hour_later(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, 1)
    fresh, old, written_to = (aside_of(lake.file(PAGE_LINKS, name_of(1))) for _ in range(3))
    for file in (fresh, old, written_to):
        file.touch()
    age([old, written_to], days=1)
    with written_to.open() as opened:
        fcntl.flock(opened, fcntl.LOCK_SH)
        assert compacted(lake) == Compacted()
    assert set(fresh.parent.iterdir()) == {fresh, written_to, lake.file(PAGE_LINKS, name_of(1))}


def test_a_client_sees_the_same_before_and_after_packing_and_publishing(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    publish(lake)
    before = seen_by_client(lake)
    assert len(before) == FEWEST
    compacted(lake)
    assert seen_by_client(lake) == before
    publish(lake)
    lake.file(PAGE_LINKS, name_of(1)).write_bytes(b"nobody reads me")
    assert seen_by_client(lake) == before


def test_files_stay_for_clients_until_a_day_after_the_pack_and_until_the_views_know_of_it(
    tmp_path: Path,
) -> None:
    lake = lake_of(tmp_path)
    publish(lake)
    age([lake.database], days=4)
    compacted(lake)
    publish(lake)
    assert compacted(lake).removed == 0, "a client may have opened the views a moment ago"
    age(packs_in(lake), days=2)
    age([lake.database], days=3)
    assert compacted(lake).removed == 0, "the views are older than the pack"
    publish(lake)
    before = seen_by_client(lake)
    assert compacted(lake).removed == FEWEST
    assert seen_by_client(lake) == before == seen(lake)


def test_published_views_show_new_batches_and_never_two_versions_of_one(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    compacted(lake)
    age(packs_in(lake), days=2)
    publish(lake)
    compacted(lake)
    write(lake, 7, version=1)
    write(lake, FEWEST + 1)
    assert seen_by_client(lake)[name_of(7)] == (LINKS_IN_BATCH, [0])
    assert seen_by_client(lake)[name_of(FEWEST + 1)] == (LINKS_IN_BATCH, [0])
    publish(lake)
    assert seen_by_client(lake)[name_of(7)] == (LINKS_IN_BATCH, [1])
    assert len(seen_by_client(lake)) == FEWEST + 1


def test_published_views_show_partitions_whose_names_begin_as_those_of_a_pack(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    names = [f"wiki-{number:06d}" for number in range(1, 61)]
    for name in (*names, f"{names[6]}-page_signals"):
        failed = {"scope": name, "stage": "pages", "item": "1", "traceback": "T", "failed_at": utc_now()}
        write_partition(lake, TRACEBACKS, name, [failed])
    for name in names:
        os.utime(lake.file(TRACEBACKS, name), (0, 0))
    assert compact(lake, now=utc_now()).packed == len(names)
    publish(lake)
    with duckdb.connect(lake.database, read_only=True) as connection:
        assert connection.execute("select count(*) from lake.tracebacks").fetchall() == [(len(names) + 1,)]


def write_session(lake: Lake, number: int) -> None:
    """Write the figures of a session of a model that ended a while ago."""
    began = datetime(2024, 1, 1, tzinfo=UTC) + number * timedelta(minutes=20)
    tally = Tally(calls=number, under_way=[(began, began + timedelta(minutes=5))])
    name = write_gpu_run(lake, GpuRun(f"run {number}", "small", "5", "dispatch", "complete", "all"), tally)
    assert name
    age([lake.file(GPU_RUNS, name)], days=3)


def test_sessions_of_models_that_ended_more_than_a_day_ago_are_packed_and_queries_answer_the_same(
    tmp_path: Path,
) -> None:
    lake, sql = Lake(tmp_path), "from gpu_runs order by started_at"

    def answers() -> list[list[Any]]:
        """What is answered now, and to those who read what was published last."""
        with connect(lake, tables=[GPU_RUNS]) as now, duckdb.connect(lake.database, read_only=True) as client:
            return [connection.execute(sql).fetchall() for connection in (now, client)]

    for number in range(FEWEST):
        write_session(lake, number)
    publish(lake)
    before = answers()
    assert len(before[0]) == FEWEST
    assert compacted(lake) == Compacted(packs=1, packed=FEWEST)
    assert answers() == before
    publish(lake)
    assert answers() == before
    age(packs_in(lake), days=2)
    assert compacted(lake).removed == FEWEST
    assert answers() == before
    publish(lake)
    assert answers() == before
    write_session(lake, FEWEST)
    assert [len(rows) for rows in answers()] == [FEWEST + 1, FEWEST + 1]


def test_a_connection_reads_no_tables_but_those_it_was_opened_for(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, 1)
    with connect(lake, tables=[PAGE_LINKS]) as connection:
        assert query(connection, "select count(*) as links from page_links") == [{"links": LINKS_IN_BATCH}]
        with pytest.raises(duckdb.CatalogException, match=SITES.name):
            query(connection, "from sites")


def test_packs_from_before_a_column_was_declared_are_read_with_newer_ones(tmp_path: Path) -> None:
    for number, table in enumerate((SHIPS, NAMED_SHIPS)):
        lake, names = Lake(tmp_path, (table,)), [f"yard-{number}{index:02}" for index in range(FEWEST)]
        for hull, name in enumerate(names):
            write_partition(lake, table, name, [{"batch": name, "hull": hull}])
        assert write_pack(lake, table, names) == (names, [], [])
        for name in names:
            lake.file(table, name).unlink()
    with connect(lake) as connection:
        rows = query(connection, "select count(*) as ships, count(name) as named from lake.ships")
    assert rows == [{"ships": 2 * FEWEST, "named": 0}]
    assert read_partition(lake, NAMED_SHIPS, "yard-000") == [{"batch": "yard-000", "hull": 0, "name": None}]


def test_a_partition_from_before_a_column_was_declared_is_packed_once_it_is_made_anew(tmp_path: Path) -> None:
    lake = Lake(tmp_path, (NAMED_SHIPS,))
    write_partition(lake, SHIPS, "yard-000", [{"batch": "yard-000", "hull": 0}])
    assert write_pack(lake, NAMED_SHIPS, ["yard-000"]) == ([], [], [])
    write_partition(lake, NAMED_SHIPS, "yard-000", [{"batch": "yard-000", "hull": 0}])
    assert write_pack(lake, NAMED_SHIPS, ["yard-000"]) == (["yard-000"], [], [])


def write_ships(lake: Lake, table: Table, hulls: range) -> None:
    """Partitions of ships, written three days ago as `table` was declared."""
    for hull in hulls:
        write_partition(lake, table, f"yard-{hull:03}", [{"batch": f"yard-{hull:03}", "hull": hull}])
        age([lake.file(table, f"yard-{hull:03}")], days=3)


def test_partitions_from_before_a_column_was_declared_do_not_have_packs_written_again(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path, (NAMED_SHIPS,))
    write_ships(lake, NAMED_SHIPS, range(FEWEST))
    assert compacted(lake).packed == FEWEST
    write_ships(lake, SHIPS, range(FEWEST, 2 * FEWEST))
    assert compacted(lake) == Compacted()
    write_ships(lake, NAMED_SHIPS, range(2 * FEWEST, 3 * FEWEST))
    assert compacted(lake).packed == 2 * FEWEST
    assert compacted(lake) == Compacted()


def test_a_pack_from_before_a_column_was_declared_stays_when_most_of_it_is_replaced(tmp_path: Path) -> None:
    older, lake = Lake(tmp_path, (SHIPS,)), Lake(tmp_path, (NAMED_SHIPS,))
    write_ships(older, SHIPS, range(FEWEST))
    assert compacted(older).packed == FEWEST
    write_ships(lake, NAMED_SHIPS, range(FEWEST - 1))
    assert partitions_to_pack(lake, now=datetime.now(UTC)) == []


def test_files_are_opened_to_plan_only_if_they_suffice_for_a_pack_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, opened = Lake(tmp_path, (NAMED_SHIPS,)), list[Path]()
    read = pq.read_schema

    def note_and_read(path: Path) -> Any:
        opened.append(path)
        return read(path)

    monkeypatch.setattr(pq, "read_schema", note_and_read)
    write_ships(lake, SHIPS, range(FEWEST - 1))
    assert partitions_to_pack(lake, now=datetime.now(UTC)) == []
    assert opened == []
    write_ships(lake, SHIPS, range(FEWEST - 1, FEWEST))
    for _ in range(2):
        assert partitions_to_pack(lake, now=datetime.now(UTC)) == []
    assert len(opened) == FEWEST


def test_the_tables_of_interrogations_are_packed_too(tmp_path: Path) -> None:
    lake = Lake(tmp_path, (SHIPS,))
    for number in range(FEWEST):
        write_partition(lake, SHIPS, f"yard-{number:02}", [{"batch": f"yard-{number:02}", "hull": number}])
    age(lake.files(), days=3)
    assert compacted(lake).packed == FEWEST
