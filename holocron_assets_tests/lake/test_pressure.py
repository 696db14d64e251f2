"""A disk or store that is too full or too slow: when that begins, when it ends, and what is said of it."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

from holocron_assets.lake.place import pressure
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.pressure import pressure_on
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Objects
from holocron_assets.lake.shared.sessions import Session
from holocron_assets.settings import SettingError, bounds

GB = 10**9


class Machine:
    """A machine whose disk a test fills and slows down."""

    def __init__(self) -> None:
        self.free_gb, self.write_seconds, self.measured = 100.0, 0.0, 0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    one = Machine()

    def usage(_folder: Path) -> SimpleNamespace:
        one.measured += 1
        return SimpleNamespace(free=one.free_gb * GB)

    monkeypatch.setattr(pressure, "_seconds_of", lambda _write: one.write_seconds)
    monkeypatch.setattr(shutil, "disk_usage", usage)
    monkeypatch.setattr(pressure, "MEASURE_SECONDS", 0.0)
    monkeypatch.setattr(pressure, "_GAUGES", {})
    return one


@pytest.fixture
def root(tmp_path: Path) -> Path:
    assert Lake(tmp_path).locks.is_dir()
    return tmp_path


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressure, "_GAUGES", {})


def test_a_machine_with_room_and_a_fast_disk_keeps_nothing_back(machine: Machine, root: Path) -> None:
    assert pressure_on(root) is None
    assert machine.measured == 1


def test_a_full_disk_keeps_new_work_back_until_there_is_clearly_more_room(
    machine: Machine, root: Path
) -> None:
    machine.free_gb = 0.9
    full = pressure_on(root)
    assert full
    assert full.reason == (f"0.90 GB are free on the disk of {root}, and 1 GB must be (HOLOCRON_FREE_GB)")
    machine.free_gb = 1.1
    still = pressure_on(root)
    assert still
    assert still.since == full.since
    machine.free_gb = 1.3
    assert pressure_on(root) is None
    machine.free_gb = 1.1
    assert pressure_on(root) is None


def test_one_slow_write_says_nothing_and_two_do_until_writes_are_clearly_faster(
    machine: Machine, root: Path
) -> None:
    machine.write_seconds = 8.0
    assert pressure_on(root) is None
    slow = pressure_on(root)
    assert slow
    assert slow.reason == (
        f"a small write to the disk of {root} took 8.0 s, more than 5 s (HOLOCRON_DISK_SECONDS)"
    )
    machine.write_seconds = 4.0
    assert pressure_on(root)
    machine.write_seconds = 1.0
    assert pressure_on(root) is None


def test_every_process_of_the_machine_says_the_same_and_since_when(
    machine: Machine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write_seconds = 8.0
    pressure_on(root)
    first = pressure_on(root)
    another_process(monkeypatch)
    assert first
    assert pressure_on(root) == first, "a process that has just begun believes what the other measured"
    machine.write_seconds = 0.0
    assert pressure_on(root) is None
    assert not (root / "locks" / "pressure.json").exists()


def test_a_process_measures_no_more_than_once_in_ten_seconds(
    machine: Machine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pressure, "MEASURE_SECONDS", 10.0)
    for _ in range(100):
        pressure_on(root)
    assert machine.measured == 1


def test_a_slow_store_of_a_shared_lake_keeps_new_work_back_too(
    machine: Machine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SimpleNamespace(url="s3://lake/one", probe=lambda: None)
    monkeypatch.setattr(pressure, "mirror_of", lambda _root: store)
    monkeypatch.setenv("HOLOCRON_DISK_SECONDS", "0")
    machine.write_seconds = 11.0
    pressure_on(root)
    slow = pressure_on(root)
    assert slow
    assert (
        slow.reason == "a small write to s3://lake/one took 11.0 s, more than 10 s (HOLOCRON_STORE_SECONDS)"
    )


def test_a_store_is_measured_by_an_object_that_does_not_stay(tmp_path: Path) -> None:
    objects = Objects(f"file://{tmp_path}/store")
    Mirror(tmp_path / "data", objects, Session("postgresql://nobody@127.0.0.1:9/none", objects.url)).probe()
    assert objects.list("") == {}


def test_a_bound_of_zero_is_none_and_a_wrong_one_is_named(
    machine: Machine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.free_gb, machine.write_seconds = 0.0, 100.0
    monkeypatch.setenv("HOLOCRON_FREE_GB", "0")
    monkeypatch.setenv("HOLOCRON_DISK_SECONDS", "0")
    assert [pressure_on(root) for _ in range(3)] == [None] * 3
    for wrong in ("-1", "much", "nan", "inf"):
        with pytest.raises(SettingError, match="HOLOCRON_FREE_GB must be a number from 0 on"):
            bounds({"HOLOCRON_FREE_GB": wrong})


def test_the_disk_behind_a_linked_lake_is_measured_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_memory = Path("/dev/shm")  # noqa: S108 - a folder in memory, where Linux has it
    if not of_memory.is_dir() or of_memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one disk")
    with TemporaryDirectory(dir=of_memory) as memory:
        (tmp_path / "lake").symlink_to(memory)
        free = {tmp_path / "lake": 0.5 * GB, tmp_path: 100 * GB}
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free[folder]))
        monkeypatch.setattr(pressure, "_GAUGES", {})
        found = pressure_on(tmp_path)
        assert found is not None
        assert found.reason.startswith(f"0.50 GB are free on the disk of {tmp_path / 'lake'}, and ")
        assert list(Path(memory).iterdir()) == []


def test_the_real_disk_is_measured_and_nothing_is_left_behind(root: Path) -> None:
    before = sorted((root / "locks").iterdir())
    assert pressure_on(root) is None
    assert sorted((root / "locks").iterdir()) == before
