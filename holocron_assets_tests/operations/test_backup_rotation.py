"""Older backups go once a new one is there: only finished ones of the same lake, never the last good one."""

import errno
import fcntl
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner
from sample_holocron import Holocron
from watched import Watched

from holocron_assets.cli.main import main
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.marking import mark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import marker_of
from holocron_assets.lake.tables import SEED_TITLES
from holocron_assets.operations.backups.backup import Backup, make_backup
from holocron_assets.operations.backups.places import BackupError, Places
from holocron_assets.operations.backups.restore import restore_backup
from holocron_assets.operations.backups.rotation import alone_in, newest_backup, unfinished
from holocron_assets.orchestration.sensors.alerts import raise_alerts

START = utc_now().replace(microsecond=0) - timedelta(days=30)


def places_in(folder: Path) -> Places:
    lake = Lake(folder / "data")
    return Places(lake, lake.root / "dagster", None, {})


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return with_a_lake(tmp_path)


def with_a_lake(folder: Path) -> Places:
    places = places_in(folder)
    mark(places.lake.root / "lake")
    named = {"source": "wiki", "title": "Lamp", "title_key": 1, "namespace": 0, "origin": "titles"}
    write_partition(places.lake, SEED_TITLES, "wiki", [{**named, "listed_at": utc_now()}])
    return places


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def name_of(day: int) -> str:
    return (START + timedelta(days=day)).strftime("%Y%m%dT%H%M%SZ")


def back_up(places: Places, into: Path, day: int, *, keep: int | None = None) -> Backup:
    return make_backup(places, into, now=START + timedelta(days=day), version="1", keep=keep)


def several(places: Places, into: Path, count: int) -> list[Path]:
    return [back_up(places, into, day).folder for day in range(count)]


def in_folder(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_backups_of_one_second_are_all_made(places: Places, backups: Path) -> None:
    names = [back_up(places, backups, 0).folder.name for _ in range(3)]
    assert names == [(START + timedelta(seconds=later)).strftime("%Y%m%dT%H%M%SZ") for later in range(3)]


def test_the_newest_backups_are_kept_and_the_removed_ones_are_named(places: Places, backups: Path) -> None:
    made = several(places, backups, 4)
    newest = back_up(places, backups, 4, keep=3)
    assert list(newest.removed) == made[:2]
    assert in_folder(backups) == [name_of(2), name_of(3), name_of(4)]
    back_up(places, backups, 5, keep=1)
    assert in_folder(backups) == [name_of(5)]


def test_without_a_number_all_are_kept(places: Places, backups: Path) -> None:
    several(places, backups, 3)
    assert list(back_up(places, backups, 3).removed) == []
    assert in_folder(backups) == [name_of(day) for day in range(4)]


def test_files_that_a_removed_backup_shared_with_the_next_are_still_whole(
    places: Places, backups: Path, tmp_path: Path
) -> None:
    several(places, backups, 2)
    newest = back_up(places, backups, 2, keep=1)
    assert newest.linked > 0
    other = places_in(tmp_path / "other")
    assert list(restore_backup(other, newest.folder).faulty) == []
    assert [row["title"] for row in read_partition(other.lake, SEED_TITLES, "wiki")] == ["Lamp"]


def test_nothing_goes_but_finished_backups_of_this_lake(
    places: Places, backups: Path, tmp_path: Path
) -> None:
    another = back_up(with_a_lake(tmp_path / "another"), backups, -1).folder
    renamed = back_up(places, backups, -2).folder.rename(backups / "2020-before-the-upgrade")
    (backups / name_of(-3)).mkdir()
    (backups / name_of(-4)).symlink_to(renamed)
    for name in ("notes.txt", "20200101T000000Z.tar", ".mine.unfinished"):
        (backups / name).touch()
    others = in_folder(backups)
    assert another.name in others
    assert len(others) == 7
    several(places, backups, 2)
    assert [one.name for one in back_up(places, backups, 2, keep=1).removed] == [name_of(0), name_of(1)]
    assert in_folder(backups) == sorted([*others, name_of(2)])


def test_a_backup_that_fails_leaves_as_many_as_are_to_be_kept_and_room_for_the_next(
    places: Places, backups: Path
) -> None:
    """Where the disk is full, fewer are kept from now on, and the next one finds room."""
    several(places, backups, 4)
    history = places.dagster_home / "history"
    history.mkdir(parents=True)
    (history / "broken.db").write_bytes(b"no database at all" * 100)
    for day in (4, 5, 6):
        with pytest.raises(BackupError, match=r"broken\.db cannot be copied"):
            back_up(places, backups, day, keep=2)
    assert in_folder(backups) == [name_of(2), name_of(3)]


def test_the_one_just_made_is_kept_though_the_clock_was_set_back(places: Places, backups: Path) -> None:
    several(places, backups, 3)
    made = back_up(places, backups, -5, keep=2)
    assert in_folder(backups) == [made.folder.name, name_of(2)]


def test_backups_of_a_clock_that_was_ahead_do_not_stay_in_place_of_newer_ones(
    places: Places, backups: Path
) -> None:
    for day in (300, 301, 302, 0, 1, 2, 3):
        back_up(places, backups, day, keep=3)
    assert in_folder(backups) == [name_of(1), name_of(2), name_of(3)]


def test_a_backup_is_linked_to_the_one_before_it_of_the_same_lake(
    places: Places, backups: Path, tmp_path: Path
) -> None:
    first = back_up(places, backups, 0)
    back_up(with_a_lake(tmp_path / "another"), backups, 1)
    assert back_up(places, backups, 2).linked == first.files
    ahead = back_up(places, backups, 300)
    named = read_partition(places.lake, SEED_TITLES, "wiki")
    write_partition(places.lake, SEED_TITLES, "wiki", [{**named[0], "title": "Lantern"}])
    back_up(places, backups, 3)
    assert back_up(places, backups, 4).linked == ahead.files


def test_a_backup_is_linked_to_one_of_later_if_there_is_no_other(places: Places, backups: Path) -> None:
    ahead = back_up(places, backups, 300)
    assert back_up(places, backups, 0).linked == ahead.files


def test_a_kill_while_a_backup_is_removed_leaves_none_that_seems_complete(
    places: Places, backups: Path
) -> None:
    several(places, backups, 3)
    killed = (
        "import shutil, os, sys; from pathlib import Path\n"
        "from holocron_assets.lake.place.clock import utc_now\n"
        "from holocron_assets.operations.backups import rotation\n"
        "shutil.rmtree = lambda folder: ((folder / 'manifest.json').touch(), os._exit(9))\n"
        "rotation.remove_older(Path(sys.argv[1]), sys.argv[2], now=utc_now(), keep=1)\n"
    )
    name = marker_of(places.lake.root / "lake") or ""
    command = [sys.executable, "-c", killed, str(backups), name]
    done = subprocess.run(command, check=False)  # noqa: S603 - our own
    assert done.returncode == 9
    left = unfinished(backups / name_of(0))
    assert in_folder(backups) == [left.name, name_of(1), name_of(2)]
    back_up(places, backups, 3, keep=2)
    assert in_folder(backups) == [name_of(2), name_of(3)]


def test_two_at_once_do_not_remove_what_the_other_makes(places: Places, backups: Path) -> None:
    several(places, backups, 1)
    making = unfinished(backups / name_of(1))
    with alone_in(backups):
        making.mkdir()
        with pytest.raises(BackupError, match="another backup is being made"):
            back_up(places, backups, 2, keep=1)
        assert in_folder(backups) == [making.name, ".lock", name_of(0)]
    assert in_folder(backups) == [making.name, name_of(0)]


def test_without_locks_a_second_backup_removes_nothing_of_the_first(
    places: Places, backups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))  # as some network disks

    several(places, backups, 1)
    making = unfinished(backups / name_of(1))
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with alone_in(backups):
        making.mkdir()
        back_up(places, backups, 2)
    assert in_folder(backups) == [making.name, name_of(0), name_of(2)]


def test_a_backup_that_cannot_be_removed_prevents_no_new_one(places: Places, backups: Path) -> None:
    (first, _) = several(places, backups, 2)
    unfinished(first).touch()  # a file in its way
    with pytest.raises(BackupError, match="was made, but an older one cannot be removed"):
        back_up(places, backups, 2, keep=1)
    assert {first.name, name_of(2)} <= set(in_folder(backups))


def test_the_time_of_the_newest_backup_is_known_for_each_lake(
    places: Places, backups: Path, tmp_path: Path
) -> None:
    name = marker_of(places.lake.root / "lake")
    now = START + timedelta(days=300)
    assert newest_backup(backups, name, now=now) is None, "there is no such folder"
    several(places, backups, 2)
    back_up(with_a_lake(tmp_path / "another"), backups, 9)
    assert newest_backup(backups, name, now=now) == START + timedelta(days=1)
    assert newest_backup(backups, "some other lake", now=now) is None
    assert newest_backup(backups, name, now=START + timedelta(hours=1)) == START, "the clock was ahead"


def test_an_alert_stands_until_there_is_a_new_one(
    places: Places, backups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alert() -> str | None:
        with dg.DagsterInstance.ephemeral() as instance:
            return Watched(Holocron(tmp_path), instance).tick(raise_alerts).skipped

    (tmp_path / "sources").mkdir()
    rules = tmp_path / "alerts.yaml"
    rules.write_text(f"backups: {{folder: {backups}}}\nresolved_after_minutes: 0\n", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_ALERTS", str(rules))
    assert alert() == f"there is no finished backup of this lake in {backups}"
    back_up(places, backups, 29)
    assert alert() == "nothing is wrong"


def test_the_command_keeps_as_many_as_its_option_says(
    places: Places, backups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_DATA", str(places.lake.root))
    monkeypatch.setenv("DAGSTER_HOME", str(places.dagster_home))
    several(places, backups, 3)
    done = CliRunner().invoke(main, ["backup", str(backups), "--keep", "2"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[1:] == [f"removed {backups / name_of(day)}" for day in (0, 1)]
    assert len(in_folder(backups)) == 2
    assert CliRunner().invoke(main, ["backup", str(backups), "--keep", "0"]).exit_code == 2
