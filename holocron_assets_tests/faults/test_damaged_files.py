"""Damaged files of the lake: each is found, named, moved aside with a note, and never deleted."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from typing import Any

import dagster as dg
import pytest
import time_machine
from click.testing import CliRunner, Result

from holocron_assets.cli.main import main
from holocron_assets.decisions.log import new_decision, record, standing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files import sealing, verifying
from holocron_assets.lake.files.damage import PACK_FOLDER, DamagedPartitionError
from holocron_assets.lake.files.footers import FOOTER_KEY
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.files.quarantine import SetAside, all_set_aside, lost_objects, set_aside
from holocron_assets.lake.files.sealing import SEAL, UNSEALED
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.files.verifying import (
    HOURS_OF_A_ROUND,
    damage_of,
    faulty_files,
    files_due,
    note_verified,
)
from holocron_assets.lake.packs import packing
from holocron_assets.lake.packs.compaction import FEWEST, compact
from holocron_assets.lake.packs.packing import write_pack
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS, PAGE_LINKS, PAGES, TAGS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.checks.quality import files_are_whole
from holocron_assets.orchestration.resources.resources import LakeResource

pytestmark = pytest.mark.system

BATCH = "wiki-000001"


def links(batch: str, count: int = 30) -> list[Row]:
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
            "position": 0,
        }
        for number in range(count)
    ]


def lake_of(folder: Path, *batches: str) -> Lake:
    lake = Lake(folder)
    for batch in batches or (BATCH,):
        write_partition(lake, PAGE_LINKS, batch, links(batch))
    return lake


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1 << (place % 8)
    written = file.stat().st_mtime_ns
    file.write_bytes(content)
    os.utime(file, ns=(written + 1, written + 1))  # another mark, also within one tick of the clock


def put_aside(lake: Lake, file: Path) -> SetAside:
    error = damage_of(file)
    assert error
    aside = set_aside(lake, error)
    assert aside
    return aside


@pytest.mark.fault(3, "a flipped bit anywhere in a Parquet file")
def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    file = lake_of(tmp_path).file(PAGE_LINKS, BATCH)
    whole = file.read_bytes()
    assert damage_of(file) is None
    missed = []
    for place in range(0, len(whole), 7):
        flip(file, place)
        missed += [] if damage_of(file) else [place]
        file.write_bytes(whole)
    assert missed == []


@pytest.mark.fault(3, "a Parquet file cut anywhere")
def test_a_cut_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    file = lake_of(tmp_path).file(PAGE_LINKS, BATCH)
    whole = file.read_bytes()
    for length in (0, 1, 4, 8, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert damage_of(file), length


def as_another_table(lake: Lake) -> None:
    write_partition(lake, TAGS, BATCH, [])
    shutil.copy(lake.file(TAGS, BATCH), lake.file(PAGE_LINKS, BATCH))


def as_another_batch(lake: Lake) -> None:
    other = "wiki-000002"
    write_partition(lake, PAGE_LINKS, other, links(other))
    shutil.rmtree(lake.partition_folder(PAGE_LINKS, BATCH))
    shutil.copytree(lake.partition_folder(PAGE_LINKS, other), lake.partition_folder(PAGE_LINKS, BATCH))


@pytest.mark.fault(3, "the file of something else in a partition's place")
@pytest.mark.parametrize("replace", [as_another_table, as_another_batch])
def test_a_file_of_something_else_is_noticed_before_it_is_believed(
    tmp_path: Path, replace: Callable[[Lake], None]
) -> None:
    lake = lake_of(tmp_path)
    replace(lake)
    for read in (read_footer, read_partition):
        with pytest.raises(DamagedPartitionError, match="it is the file of"):
            read(lake, PAGE_LINKS, BATCH)
    assert put_aside(lake, lake.file(PAGE_LINKS, BATCH)).partitions == [BATCH]


@pytest.mark.fault(3, "an empty Parquet file")
def test_what_is_set_aside_is_kept_with_a_note_and_is_missing_where_it_was(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    file = lake.file(PAGE_LINKS, BATCH)
    file.write_bytes(b"")
    aside = put_aside(lake, file)
    assert not lake.has(PAGE_LINKS, BATCH)
    assert aside.kept.read_bytes() == b""
    note = json.loads((aside.kept.parent / "note.json").read_text())
    assert note["file"] == f"lake/signals/page_links/{BATCH}/data.parquet"
    assert note["why"] in str(aside)
    assert all_set_aside(lake) == [aside]
    shutil.rmtree(aside.kept.parent)  # as a person does who has seen it
    assert all_set_aside(lake) == []


@pytest.mark.fault(3, "a note in quarantine that cannot be read")
@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"file": "data.parquet", "at": "2026-01-01", "more": 1}']
)
def test_a_note_that_cannot_be_read_is_named_by_its_folder_and_hides_no_other(
    tmp_path: Path, content: str
) -> None:
    lake = lake_of(tmp_path, BATCH, "wiki-000002")
    for batch in (BATCH, "wiki-000002"):
        flip(lake.file(PAGE_LINKS, batch), 300)
    first, second = (put_aside(lake, lake.file(PAGE_LINKS, batch)) for batch in (BATCH, "wiki-000002"))
    first.kept.with_name("note.json").write_text(content)
    listed = {aside.kept: str(aside) for aside in all_set_aside(lake)}
    assert listed.keys() == {first.kept.parent, second.kept}
    assert f"set aside in {first.kept.parent}, and its note cannot be read" in listed[first.kept.parent]
    assert lost_objects(lake) == []


def test_a_file_that_was_written_again_meanwhile_stays(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    file = lake.file(PAGE_LINKS, BATCH)
    whole = file.read_bytes()
    flip(file, 300)
    error = damage_of(file)
    assert error
    file.write_bytes(whole)
    assert set_aside(lake, error) is None
    assert lake.has(PAGE_LINKS, BATCH)
    file.unlink()
    assert set_aside(lake, error) is None


@pytest.mark.fault(3, "a damaged file of people's decisions")
def test_what_people_decided_is_never_set_aside_and_never_skipped(tmp_path: Path) -> None:
    lake, file = decided_lake(tmp_path)
    flip(file, 300)
    error = damage_of(file)
    assert error
    with pytest.raises(DamagedPartitionError, match="restore this file from a backup"):
        set_aside(lake, error)
    assert file.exists()
    with pytest.raises(DamagedPartitionError, match="people's decisions"):
        standing(lake)


@pytest.mark.fault(3, "a flipped bit anywhere in a file of people's decisions")
def test_no_decision_is_read_from_a_file_with_a_flipped_bit(tmp_path: Path) -> None:
    lake, file = decided_lake(tmp_path)
    whole = file.read_bytes()
    for place in range(0, len(whole), 7):
        flip(file, place)
        with pytest.raises(DamagedPartitionError, match="people's decisions"):
            standing(lake)
        undamaged = file.stat().st_mtime_ns + 1
        file.write_bytes(whole)
        os.utime(file, ns=(undamaged, undamaged))
    assert standing(lake).of_kind("promote")


def decided_lake(folder: Path) -> tuple[Lake, Path]:
    """A lake with one decision; and the file that holds it."""
    lake = Lake(folder)
    row = new_decision("promote", author="Ann", reason="it is one", entity_id="e-1")
    record(lake, [row])
    return lake, lake.file(DECISIONS, row["decision_id"])


def packed_lake(folder: Path) -> tuple[Lake, Path]:
    """A lake whose batches are in one pack only; and the pack."""
    lake = lake_of(folder, *(f"wiki-{number:06}" for number in range(1, FEWEST + 1)))
    age(lake.files(), days=3)
    compact(lake, now=datetime.now(UTC))
    age([file for file in lake.files() if file.parent.name == PACK_FOLDER], days=2)
    compact(lake, now=datetime.now(UTC))
    (pack,) = lake.files()
    return lake, pack


def age(files: list[Path], *, days: int) -> None:
    then = time() - timedelta(days=days).total_seconds()
    for file in files:
        os.utime(file, (then, then))


@pytest.fixture(scope="module")
def packed_once(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A packed lake. Copy it to change it."""
    lake, _ = packed_lake(tmp_path_factory.mktemp("packed"))
    return lake


@pytest.fixture
def packed(packed_once: Lake, tmp_path: Path) -> tuple[Lake, Path]:
    """A copy of it, and its pack."""
    shutil.copytree(packed_once.root, tmp_path, dirs_exist_ok=True)
    lake = Lake(tmp_path)
    (pack,) = lake.files()
    return lake, pack


@pytest.mark.fault(3, "a pack whose statistics or footer are damaged")
def test_of_a_damaged_pack_everything_that_can_be_read_is_saved(packed: tuple[Lake, Path]) -> None:
    lake, pack = packed
    before = {name: read_footer(lake, PAGE_LINKS, name) for name in lake.partitions(PAGE_LINKS)}
    pack.write_bytes(pack.read_bytes().replace(b"parquet-cpp-arrow", b"parquet-cpp-ARROW"))
    aside = put_aside(lake, pack)
    assert aside.partitions == []
    assert {name: read_footer(lake, PAGE_LINKS, name) for name in before} == before
    assert read_partition(lake, PAGE_LINKS, BATCH) == links(BATCH)
    with connect(lake, tables=[PAGE_LINKS]) as connection:
        counted = query(connection, "select count(*) as rows from lake.page_links")
    assert counted == [{"rows": 30 * FEWEST}]


@pytest.mark.fault(3, "two damaged packs of one table")
@pytest.mark.parametrize("other", ["0.parquet", "z.parquet"], ids=["older", "younger"])
def test_what_a_damaged_pack_holds_is_saved_though_another_pack_cannot_be_read(
    packed: tuple[Lake, Path], other: str
) -> None:
    lake, pack = packed
    before = lake.partitions(PAGE_LINKS)
    pack.with_name(other).write_bytes(b"no Parquet at all")
    pack.write_bytes(pack.read_bytes().replace(b"parquet-cpp-arrow", b"parquet-cpp-ARROW"))
    assert put_aside(lake, pack).partitions == []
    put_aside(lake, pack.with_name(other))
    assert lake.partitions(PAGE_LINKS) == before


@pytest.mark.fault(3, "a pack with a damaged page, and one that was cut")
@pytest.mark.parametrize("cut", [False, True], ids=["page", "cut"])
def test_what_a_damaged_pack_held_is_missing_and_so_made_again(
    packed: tuple[Lake, Path], cut: object
) -> None:
    lake, pack = packed
    if cut:
        pack.write_bytes(pack.read_bytes()[:-1])
    else:
        for place in range(0, pack.stat().st_size // 4, 20):
            flip(pack, place)
    put_aside(lake, pack)
    assert lake.partitions(PAGE_LINKS) == []


def with_its_key_flipped(lake: Lake, pack: Path) -> None:  # noqa: ARG001 - the others need it
    flip(pack, pack.read_bytes().rindex(FOOTER_KEY) + 3)


def with_an_own_file_in_its_place(lake: Lake, pack: Path) -> None:
    batch = "wiki-000999"
    write_partition(lake, PAGE_LINKS, batch, links(batch))
    lake.file(PAGE_LINKS, batch).replace(pack)


def with_the_pack_of_another_table(lake: Lake, pack: Path) -> None:
    write_partition(lake, PAGES, BATCH, [])
    write_pack(lake, PAGES, [BATCH])
    (other,) = (file for file in lake.folder(PAGES).glob(f"{PACK_FOLDER}/*"))
    other.replace(pack)


@pytest.mark.fault(3, "a pack whose table of contents cannot be found, or something else in its place")
@pytest.mark.parametrize(
    ("replace", "why"),
    [
        (with_its_key_flipped, "it has no table of contents"),
        (with_an_own_file_in_its_place, "it is the file of page_links/wiki-000999"),
        (with_the_pack_of_another_table, f"it is the file of pages/{PACK_FOLDER}"),
    ],
)
def test_a_file_that_is_no_pack_of_the_table_is_named_and_set_aside(
    packed: tuple[Lake, Path], replace: Callable[[Lake, Path], None], why: str
) -> None:
    lake, pack = packed
    replace(lake, pack)
    with pytest.raises(DamagedPartitionError, match=why) as raised:
        lake.partitions(PAGE_LINKS)
    assert raised.value.file == pack
    assert put_aside(lake, pack).partitions == []
    assert BATCH not in lake.partitions(PAGE_LINKS)


@pytest.mark.fault(3, "a flipped bit anywhere in a pack's footer")
def test_a_flipped_bit_in_the_footer_of_a_pack_is_noticed_wherever_it_is(packed: tuple[Lake, Path]) -> None:
    _, pack = packed
    whole = pack.read_bytes()
    start = whole.rindex(FOOTER_KEY) - 20
    missed = []
    for place in [*range(start, start + 60), *range(start + 60, len(whole), 101)]:
        flip(pack, place)
        missed += [] if damage_of(pack) else [place]
        pack.write_bytes(whole)
    assert missed == []


def test_a_pack_of_an_older_version_which_names_no_table_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_older_versions_did(values: Mapping[str, Any], file: Path) -> str:  # noqa: ARG001 - the place
        return json.dumps({**values, SEAL: UNSEALED})

    monkeypatch.setattr(packing, "sealed_json", as_older_versions_did)
    lake, pack = packed_lake(tmp_path)
    assert damage_of(pack) is None
    assert len(lake.partitions(PAGE_LINKS)) == FEWEST


def test_every_file_has_its_turn_within_a_week_and_damage_is_found_then(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, *(f"wiki-{number:06}" for number in range(1, 9)))
    damaged = lake.file(PAGE_LINKS, "wiki-000003")
    flip(damaged, 300)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    turns = [turn(lake, start + timedelta(hours=hour)) for hour in range(HOURS_OF_A_ROUND)]
    assert sorted(file for files in turns for file in files) == lake.files()
    assert turn(lake, start + timedelta(hours=HOURS_OF_A_ROUND - 1)) == [], "once an hour is enough"
    found = [error.file for files in turns for error in faulty_files(files)]
    assert found == [damaged]


def test_a_check_once_a_day_reads_every_file_within_a_week_too(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, *(f"wiki-{number:06}" for number in range(1, 9)))
    start = datetime(2026, 1, 1, 3, tzinfo=UTC)
    turn(lake, start)
    turns = [turn(lake, start + timedelta(days=day)) for day in range(1, 8)]
    assert sorted(file for files in turns for file in files) == lake.files()
    after_a_holiday = [turn(lake, start + timedelta(days=30, hours=hour)) for hour in range(7)]
    assert sorted(file for files in after_a_holiday for file in files) == lake.files()
    set_back = turn(lake, start - timedelta(days=1))
    assert len(set_back) < len(lake.files())


def turn(lake: Lake, now: datetime) -> list[Path]:
    files, hour = files_due(lake, now)
    note_verified(lake, hour)
    return files


def check_of_the_hour(lake: Lake, hour: int) -> bool:
    """Whether the check of an hour passes."""
    with time_machine.travel(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour), tick=False):
        result = files_are_whole(dg.build_asset_check_context(), lake=LakeResource(folder=str(lake.root)))
    assert isinstance(result, dg.AssetCheckResult)
    return bool(result.passed)


def verify(lake: Lake) -> Result:
    return CliRunner().invoke(main, ["verify"], env={"HOLOCRON_DATA": str(lake.root), "COLUMNS": "200"})


@pytest.mark.fault(3, "a flipped bit, searched for by a script")
def test_a_script_learns_by_the_exit_code_whether_anything_was_damaged(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, BATCH, "wiki-000002")
    assert verify(lake).exit_code == 0
    flip(lake.file(PAGE_LINKS, BATCH), 300)
    found = verify(lake)
    assert found.exit_code == 1
    assert f"{lake.file(PAGE_LINKS, BATCH).relative_to(tmp_path)} is damaged" in found.stdout
    assert "1 file found damaged" in found.stderr
    assert verify(lake).exit_code == 0, "what was set aside is no damage any more"


@pytest.mark.fault(3, "a bad sector below a file, met by a script")
def test_a_file_that_the_disk_cannot_read_is_named_and_the_files_after_it_are_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of(tmp_path, BATCH, "wiki-000002", "wiki-000003")
    bad, damaged = lake.file(PAGE_LINKS, "wiki-000002"), lake.file(PAGE_LINKS, "wiki-000003")
    flip(damaged, 300)

    def on_a_bad_sector(file: Path) -> bool | None:
        if file == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))  # as a read: it does not name the file
        return sealing.is_as_sealed(file)

    monkeypatch.setattr(verifying, "is_as_sealed", on_a_bad_sector)
    found = verify(lake)
    assert found.exit_code == 1
    assert f"{bad} cannot be read (Input/output error): check its disk" in found.stderr
    assert "1 file found damaged, 1 file could not be read" in found.stderr
    assert (bad.exists(), damaged.exists()) == (True, False)
    checked = [check_of_the_hour(lake, hour) for hour in range(0, 2 * HOURS_OF_A_ROUND + 1, 24)]
    assert checked.count(False) == 2, "once a week: a failed check keeps no later one from its own files"


@pytest.mark.fault(3, "a damaged file of people's decisions, searched for by a script")
def test_a_damaged_decision_is_reported_until_it_is_restored(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    row = new_decision("promote", author="Ann", reason="it is one", entity_id="e-1")
    record(lake, [row])
    flip(lake.file(DECISIONS, row["decision_id"]), 300)
    for _ in range(2):
        found = verify(lake)
        assert found.exit_code == 1
        assert "restore this file from a backup" in found.stderr


@pytest.mark.fault(3, "a flipped bit in the bytes of a fetched file")
def test_a_damaged_object_is_noticed_within_a_week_and_set_aside(tmp_path: Path) -> None:
    lake, content = lake_of(tmp_path), b"salt" * 1000
    store = FileStore(lake)
    (tmp_path / "part").write_bytes(content)
    file = store.adopt(tmp_path / "part", hashlib.sha256(content).hexdigest())
    assert damage_of(file) is None
    flip(file, 77)
    now = datetime.now(UTC)
    due = {
        path for hour in range(HOURS_OF_A_ROUND) for path in files_due(lake, now + timedelta(hours=hour))[0]
    }
    (damage,) = faulty_files(sorted(due))
    assert isinstance(damage, DamagedPartitionError)
    assert damage.file == file
    aside = set_aside(lake, damage)
    assert aside is not None
    assert (aside.kept.stat().st_size, store.has(file.name)) == (len(content), False)
    assert "its artifact is fetched again" in str(aside)
    assert lost_objects(lake) == [file.name]
    (tmp_path / "part").write_bytes(content)
    store.adopt(tmp_path / "part", file.name)
    assert lost_objects(lake) == []
