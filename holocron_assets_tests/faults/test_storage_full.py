"""Disks that are full or read-only, folders of another user, too few open files: named, and gone on from."""

import errno
import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from disks import fill, remount, small_disk
from filelock import FileLock
from whole_holocron import WholeHolocron, whole_holocron

from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.shared_state import SharedState
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import SITES
from holocron_assets.operations.backups.backup import make_backup
from holocron_assets.operations.backups.places import BackupError, Places
from holocron_assets.operations.backups.restore import restore_backup


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with small_disk(tmp_path / "disk", size="1m"):
        lake = Lake(tmp_path / "disk" / "data")
        write_partition(lake, SITES, "tiny", [])
        yield lake


def append(lake: Lake) -> None:
    with Journal(lake.journal(SITES, "tiny")) as journal:
        journal.append({"text": "z" * 10_000})


def lock(lake: Lake) -> None:
    with FileLock(lake.locks / "cut-tiny.lock"):
        pass


WRITES: dict[str, Callable[[Lake], object]] = {
    "a partition": lambda lake: write_partition(lake, SITES, "tiny", []),
    "a new partition": lambda lake: write_partition(lake, SITES, "other", []),
    "a journal": append,
    "a lock": lock,
}


def files(lake: Lake) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in lake.root.rglob("*") if path.is_file()}


@pytest.mark.fault(7, "disk full at a write of the lake")
@pytest.mark.parametrize("what", WRITES)
def test_a_write_to_a_full_disk_names_the_file_and_changes_nothing(lake: Lake, what: str) -> None:
    before = files(lake)
    ballast = fill(lake.root.parent)
    with pytest.raises(OSError, match="No space left on device; free some space") as raised:
        WRITES[what](lake)
    assert raised.value.errno == errno.ENOSPC
    assert str(raised.value.filename).startswith(str(lake.root))
    kept = {path: content for path, content in files(lake).items() if content and not path.endswith(".jsonl")}
    assert kept.keys() <= before.keys(), "nothing half is left behind"
    assert all(before[path] == content for path, content in kept.items())
    ballast.unlink()
    WRITES[what](lake)
    assert read_partition(lake, SITES, "tiny") == []
    assert [record["text"][:1] for record in Journal(lake.journal(SITES, "tiny")).records()] in ([], ["z"])


@pytest.mark.fault(7, "disk read-only at a write of the lake")
@pytest.mark.parametrize("what", WRITES)
def test_a_write_to_a_read_only_disk_names_the_file(lake: Lake, what: str) -> None:
    remount(lake.root.parent, "ro")
    with pytest.raises(OSError, match="Read-only file system") as raised:
        WRITES[what](lake)
    assert str(raised.value.filename).startswith(str(lake.root))
    assert read_partition(lake, SITES, "tiny") == []
    remount(lake.root.parent, "rw")
    WRITES[what](lake)


@pytest.mark.fault(7, "a folder that belongs to another user")
@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_is_not_permitted_names_the_file(lake: Lake, what: str) -> None:
    if os.geteuid():
        pytest.skip("to become another user takes root")
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match="Permission denied") as raised:
            WRITES[what](lake)
    finally:
        os.seteuid(0)
    assert str(raised.value.filename).startswith(str(lake.root))


@contextmanager
def open_files_left(number: int) -> Iterator[None]:
    """Let this process open only so many files more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are numbers
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(highest)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 1 + number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in held:
            os.close(file)


@pytest.mark.fault(7, "too many open files")
@pytest.mark.parametrize("what", WRITES)
def test_too_many_open_files_are_named_and_no_file_counts_as_damaged(lake: Lake, what: str) -> None:
    _ = lake.locks
    with open_files_left(0), pytest.raises(OSError, match="Too many open files") as raised:
        WRITES[what](lake)
    assert raised.value.errno == errno.EMFILE
    with open_files_left(0), pytest.raises(OSError, match="Too many open files"):
        read_partition(lake, SITES, "tiny")
    WRITES[what](lake)


@pytest.mark.fault(7, "disk full at a request's politeness state")
def test_what_is_known_of_a_host_cannot_be_kept_on_a_full_disk_and_the_file_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size="16k"):
        state = SharedState(tmp_path / "disk")
        fill(tmp_path / "disk")
        with state.locked(), pytest.raises(OSError, match=r"No space left.*free some.*state\.json"):
            state.write(HostState(consecutive_failures=3))
        state.close()


@pytest.mark.fault(7, "disk full at a backup, and at its restore")
def test_a_backup_and_a_restore_on_a_full_disk_name_a_file_there_and_leave_nothing(tmp_path: Path) -> None:
    lake, disk = Lake(tmp_path / "data"), tmp_path / "disk"
    write_partition(lake, SITES, "tiny", [])
    (lake.folder(SITES) / "large").write_bytes(bytes(2 << 20))

    def back_up(into: Path) -> Path:
        places = Places(lake, lake.root / "dagster", None, {})
        return make_backup(places, into, now=utc_now(), version="1").folder

    def restore(backup: Path) -> None:
        (disk / "data").mkdir()
        restore_backup(Places(Lake(disk / "data"), disk / "dagster", None, {}), backup)

    for work in (lambda: back_up(disk), lambda: restore(back_up(tmp_path / "backups"))):
        with small_disk(disk, size="1m"):
            with pytest.raises(OSError, match="No space left on device; free some space") as raised:
                work()
            assert str(raised.value.filename).startswith(str(disk))
            assert len(str(raised.value)) < 500
            assert [path for path in disk.rglob("*") if path.is_file()] == []


@pytest.mark.fault(7, "disk full at a backup of Dagster's database")
def test_a_backup_of_a_database_on_a_full_disk_names_where_it_would_go(tmp_path: Path) -> None:
    lake, disk = Lake(tmp_path / "data"), tmp_path / "disk"
    write_partition(lake, SITES, "tiny", [])
    file = lake.root / "dagster" / "history" / "runs.db"
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("create table runs as select zeroblob(2000000) as told")
    with small_disk(disk, size="1m"):
        places = Places(lake, lake.root / "dagster", None, {})
        with pytest.raises(BackupError, match=f"cannot be copied to {disk}/.*free some space"):
            make_backup(places, disk, now=utc_now(), version="1")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with whole_holocron(tmp_path_factory.mktemp("undisturbed"), pages=2) as made:
        made.finish()
        return made.hashes()


def finished_on_a_repaired_disk(whole: WholeHolocron) -> dict[str, Any]:
    whole.finish()
    hashes = whole.hashes()
    assert not [path for path in whole.lake.root.rglob("*.tmp") if "lake" in path.parts]
    return hashes


@pytest.mark.full
@pytest.mark.fault(7, "disk full in the middle of `holocron run`")
@pytest.mark.parametrize(
    ("part", "size"),
    [("data", "64k"), ("data", "200k"), ("data", "400k"), ("dagster", "1m"), ("dagster", "2m")],
)
def test_a_run_on_a_full_disk_fails_by_name_and_the_next_on_a_larger_one_gives_the_same(
    tmp_path: Path, undisturbed: dict[str, Any], part: str, size: str
) -> None:
    with whole_holocron(tmp_path, pages=2) as whole, small_disk(tmp_path / part, size=size):
        whole.environment["HOLOCRON_FREE_GB"] = "0"  # else nothing would be begun
        done = whole.command("run")
        said = done.stdout + done.stderr
        assert done.returncode, said
        ways = ["No space left on device; free some space", "disk is full"]
        if part == "dagster":
            ways.append("disk I/O error")  # as SQLite calls it now and then
        assert any(way in said for way in ways), said
        assert str(tmp_path / part) in said, said
        remount(tmp_path / part, "size=500m")
        assert finished_on_a_repaired_disk(whole) == undisturbed


@pytest.mark.full
@pytest.mark.fault(7, "data/ read-only at `holocron run`")
def test_a_run_on_a_read_only_disk_fails_by_name_and_the_next_goes_on(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    with whole_holocron(tmp_path, pages=2) as whole, small_disk(tmp_path / "data", size="500m"):
        whole.environment["HOLOCRON_FREE_GB"] = "0"  # else nothing would be begun
        remount(tmp_path / "data", "ro")
        done = whole.command("run")
        assert done.returncode
        assert "Read-only file system; mount its disk so that it can be written to" in done.stderr, (
            done.stderr
        )
        assert str(tmp_path / "data") in done.stderr
        remount(tmp_path / "data", "rw")
        assert finished_on_a_repaired_disk(whole) == undisturbed
