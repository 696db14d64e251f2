"""A backup that is made while others write holds all that was there when it began, once."""

import dataclasses
import errno
import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from postgres_server import postgres_server

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.files.quarantine import all_set_aside, set_aside
from holocron_assets.lake.files.verifying import damage_of
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.packing import pack_journals
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.marking import mark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import MARKER, marker_of
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Objects
from holocron_assets.lake.shared.places import mirrored
from holocron_assets.lake.shared.sessions import Session
from holocron_assets.lake.tables import BATCH_PAGES, LLM_ATTEMPTS, PAGE_CHANGES, PAGES, SEED_TITLES
from holocron_assets.operations.backups import copying, lake_copy, restore
from holocron_assets.operations.backups.backup import Backup, make_backup
from holocron_assets.operations.backups.begun import Begun
from holocron_assets.operations.backups.copying import Copier
from holocron_assets.operations.backups.dagster_copy import copy_home, dump_database, restore_database
from holocron_assets.operations.backups.places import BackupError, Places
from holocron_assets.operations.backups.restore import Restored, restore_backup
from holocron_assets.settings import PROJECT_FOLDER, written_by_people

THREE_DAYS = timedelta(days=3)
SCOPE = "kinds-wiki-000001"
ANSWERS = dataclasses.replace(SEED_TITLES, name="derived_kinds")
"""As of an interrogation: only the settings, which come back with the lake, declare its table."""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    lake = Lake(tmp_path / "data")
    mark(lake.root / "lake")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "wiki.yaml").write_text("enabled: false\n", encoding="utf-8")
    (tmp_path / "tags.yaml").write_text("tags: []\n", encoding="utf-8")
    history = lake.root / "dagster" / "history"
    history.mkdir(parents=True)
    with sqlite3.connect(history / "runs.db") as database:
        database.execute("create table runs (id integer)")
        database.execute("insert into runs values (1)")
    database.close()
    settings = {"sources": tmp_path / "sources", "tags.yaml": tmp_path / "tags.yaml"}
    return Places(lake, lake.root / "dagster", None, settings)


def elsewhere(places: Places, folder: Path) -> Places:
    lake = Lake(folder / "data")
    settings = {name: folder / path.name for name, path in places.settings.items()}
    return Places(lake, lake.root / "dagster", None, settings)


def test_settings_that_are_called_the_same_elsewhere_are_all_kept_and_put_back(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "data")
    (lake.root / "lake").mkdir(parents=True)
    settings = {
        name: tmp_path / name.removesuffix(".yaml") / "production.yaml" for name in ("a.yaml", "b.yaml")
    }
    for name, path in settings.items():
        path.parent.mkdir()
        path.write_text(f"of: {name}\n", encoding="utf-8")
    places = Places(lake, lake.root / "dagster", None, settings)
    first, second = back_up(places, tmp_path / "backups"), back_up(places, tmp_path / "backups", second=1)
    for backup in (first, second):
        for path in settings.values():
            path.unlink(missing_ok=True)
        there = Places(Lake(tmp_path / f"again{backup.files}"), tmp_path / "home", None, settings)
        restore_backup(there, backup.folder)
        assert {name: path.read_text(encoding="utf-8") for name, path in settings.items()} == {
            name: f"of: {name}\n" for name in settings
        }


@pytest.mark.parametrize(
    ("into", "held"),
    [
        ("data/lake/backups", "data/lake"),
        ("data/lake/pages/x/y", "data/lake"),
        ("data/dagster/storage", "data/dagster/storage"),
        ("sources/backups", "sources"),
        ("link/backups", "sources"),
    ],
)
def test_a_folder_that_is_itself_backed_up_is_refused(
    places: Places, tmp_path: Path, into: str, held: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "sources")
    with pytest.raises(BackupError, match=f"{into} is in {tmp_path / held}, which is backed up"):
        back_up(places, tmp_path / into)
    assert not (tmp_path / into).exists()
    assert back_up(places, tmp_path / "data" / "backups").files


def test_settings_in_linked_folders_are_in_a_backup_and_links_in_a_circle_end(
    places: Places, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "wiki2.yaml").write_text("enabled: true\n", encoding="utf-8")
    (shared / "back").symlink_to(places.settings["sources"])
    (places.settings["sources"] / "linked").symlink_to(shared)
    backup = back_up(places, tmp_path / "backups")
    copied = backup.folder / "settings" / "sources"
    assert sorted(path.relative_to(copied) for path in copied.rglob("*.yaml")) == [
        Path("linked/wiki2.yaml"),
        Path("wiki.yaml"),
    ]
    restored(places, backup, tmp_path / "other")
    put_back = tmp_path / "other" / "sources" / "linked" / "wiki2.yaml"
    assert put_back.read_text(encoding="utf-8") == "enabled: true\n"


def back_up(places: Places, into: Path, *, second: int = 0, keep: int | None = None) -> Backup:
    return make_backup(places, into, now=utc_now() + timedelta(seconds=second), version="1", keep=keep)


def restored(places: Places, backup: Backup, folder: Path) -> tuple[Lake, Restored]:
    other = elsewhere(places, folder)
    return other.lake, restore_backup(other, backup.folder)


def seed(number: int) -> dict[str, Any]:
    return {
        "source": "wiki",
        "title": f"Page {number}",
        "title_key": number,
        "namespace": 0,
        "origin": "titles",
        "listed_at": utc_now(),
    }


@contextmanager
def meanwhile(work: Any) -> Iterator[None]:
    """Have a thread do something again and again."""
    stopped, troubles = threading.Event(), []

    def go_on() -> None:
        number = 0
        try:
            while not stopped.is_set():
                work(number)
                number += 1
        except BaseException as error:  # noqa: BLE001 - the test fails by it
            troubles.append(error)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        assert troubles == []


def test_rows_that_move_from_a_journal_into_a_partition_are_in_a_backup(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch ends at the worst moment: once the first of the two places was copied."""
    lake = places.lake
    journal = lake.journal(SEED_TITLES, "wiki")
    with Journal(journal) as opened:
        for number in range(10):
            opened.append({"number": number})

    def end_of_the_batch() -> None:
        rows = [seed(record["number"]) for record in Journal(journal).records()]
        write_partition(lake, SEED_TITLES, "wiki", rows)
        journal.unlink()

    ended = iter([end_of_the_batch])
    for module, name in ((copying.Copier, "copy_journal"), (lake_copy, "copy_folder")):
        done_first = getattr(module, name)

        def then_it_ends(*given: Any, do: Any = done_first) -> None:
            do(*given)
            next(ended, lambda: None)()

        monkeypatch.setattr(module, name, then_it_ends)
    copy, result = restored(places, back_up(places, tmp_path / "backups"), tmp_path / "other")
    assert result.faulty == []
    assert not journal.exists(), "the batch ended"
    assert [row["title_key"] for row in read_partition(copy, SEED_TITLES, "wiki")] == list(range(10))
    kept = [record["number"] for record in Journal(copy.journal(SEED_TITLES, "wiki")).records()]
    assert kept == list(range(10)), "as after a crash between writing the partition and removing the journal"


def test_changes_that_a_wiki_listed_are_in_a_backup_though_they_are_settled_meanwhile(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change is dropped once its page was fetched: a backup without both would never fetch it."""
    for table in (PAGE_CHANGES, PAGES, BATCH_PAGES, SEED_TITLES):
        file = places.lake.file(table, "wiki-000001")
        file.parent.mkdir(parents=True)
        file.write_bytes(b"whatever it holds")
    order: list[str] = []
    copy_folder = copying.copy_folder

    def noted(copier: Any, folder: Path) -> None:
        order.append(folder.name)
        copy_folder(copier, folder)

    monkeypatch.setattr(lake_copy, "copy_folder", noted)
    back_up(places, tmp_path / "backups")
    assert order == [table.name for table in (PAGE_CHANGES, SEED_TITLES, PAGES, BATCH_PAGES)]


def test_records_of_a_journal_that_is_packed_meanwhile_are_in_a_backup_once(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is packed at the worst moment: between its packed part and its own file."""
    lake = places.lake
    with Journal(lake.journal(LLM_ATTEMPTS, SCOPE)) as journal:
        for number in range(10):
            journal.append({"number": number, "question": "What is said of the harbour? " * 30})
    packing = threading.Thread(target=pack_journals, args=(lake,), kwargs={"now": utc_now() + THREE_DAYS})
    packing_starts = iter([packing.start])
    folder, copy = lake.journal(LLM_ATTEMPTS, SCOPE).parent, copying.Copier.copy

    def then_it_is_packed(copier: copying.Copier, file: Path) -> None:
        try:
            copy(copier, file)
        finally:
            if file.parent == folder:
                next(packing_starts, lambda: None)()
                packing.join(1)

    monkeypatch.setattr(copying.Copier, "copy", then_it_is_packed)
    backup = back_up(places, tmp_path / "backups")
    packing.join()
    assert not lake.journal(LLM_ATTEMPTS, SCOPE).exists(), "it was packed"
    for number, made in enumerate((backup, back_up(places, tmp_path / "backups", second=1))):
        other, _ = restored(places, made, tmp_path / f"other-{number}")
        records = Journal(other.journal(LLM_ATTEMPTS, SCOPE)).records()
        assert [record["number"] for record in records] == list(range(10))


def test_a_damaged_journal_that_was_set_aside_is_in_a_backup(places: Places, tmp_path: Path) -> None:
    lake = places.lake
    with Journal(lake.journal(LLM_ATTEMPTS, SCOPE)) as journal:
        for number in range(10):
            journal.append({"number": number, "question": "What is said of the harbour? " * 30})
    pack_journals(lake, now=utc_now() + THREE_DAYS)
    (packed,) = lake.packed_journals()
    packed.write_bytes(packed.read_bytes()[:-9])
    damage = damage_of(packed)
    assert damage
    aside = set_aside(lake, damage)
    assert aside
    other, _ = restored(places, back_up(places, tmp_path / "backups"), tmp_path / "other")
    (copy,) = all_set_aside(other)
    assert copy.kept.read_bytes() == aside.kept.read_bytes()


def test_what_a_pack_took_over_while_it_was_copied_is_in_the_backup(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An own file vanishes while its table is copied: the table is read again, and the pack is found."""
    folder = places.lake.folder(SEED_TITLES)
    for number in range(3):
        write_partition(places.lake, SEED_TITLES, f"wiki{number}", [seed(number)])
    gone, pack = places.lake.file(SEED_TITLES, "wiki2"), folder / ".packs" / "000001.parquet"
    copy = copying.Copier.copy

    def then_one_is_packed(copier: copying.Copier, file: Path) -> None:
        copy(copier, file)
        if gone.exists() and file.parent.name == "wiki1":
            pack.parent.mkdir()
            gone.rename(pack)

    monkeypatch.setattr(copying.Copier, "copy", then_one_is_packed)
    backup = back_up(places, tmp_path / "backups")
    assert not gone.exists()
    assert (backup.folder / pack.relative_to(places.lake.root)).is_file()


def test_a_second_backup_takes_room_for_what_changed_only_and_leaves_the_first_as_it_was(
    places: Places, tmp_path: Path
) -> None:
    for number in range(3):
        write_partition(places.lake, SEED_TITLES, f"wiki{number}", [seed(number)])
    first = back_up(places, tmp_path / "backups")
    write_partition(places.lake, SEED_TITLES, "wiki1", [seed(7)])
    with sqlite3.connect(places.dagster_home / "history" / "runs.db") as database:
        database.execute("insert into runs values (2)")
    database.close()
    second = back_up(places, tmp_path / "backups", second=1)
    assert first.linked == 0
    assert second.files - second.linked == 2, "one partition and the database of runs"
    unchanged = places.lake.file(SEED_TITLES, "wiki0").relative_to(places.lake.root)
    assert (first.folder / unchanged).samefile(second.folder / unchanged)
    assert not (first.folder / unchanged).samefile(places.lake.root / unchanged), "a copy of its own"
    for backup, key in ((first, 1), (second, 7)):
        copy, _ = restored(places, backup, tmp_path / backup.folder.name)
        assert [row["title_key"] for row in read_partition(copy, SEED_TITLES, "wiki1")] == [key]


def test_on_a_disk_without_hard_links_each_backup_is_a_copy(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*names: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), *names)

    write_partition(places.lake, SEED_TITLES, "wiki", [seed(1)])
    with Journal(places.lake.journal(SEED_TITLES, "other")) as opened:
        opened.append(seed(2))
    first = back_up(places, tmp_path / "backups")
    monkeypatch.setattr(os, "link", refuse)
    second = back_up(places, tmp_path / "backups", second=1)
    assert (second.files, second.linked) == (first.files, 0)
    copy, _ = restored(places, second, tmp_path / "restored")
    assert read_partition(copy, SEED_TITLES, "wiki") == read_partition(places.lake, SEED_TITLES, "wiki")
    assert [*Journal(copy.journal(SEED_TITLES, "other")).records()]


def test_a_database_that_is_written_to_is_copied_as_it_is_at_one_moment(
    places: Places, tmp_path: Path
) -> None:
    file = places.dagster_home / "history" / "runs.db"
    with sqlite3.connect(file) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table pairs (a integer, b integer)")

        def write(number: int) -> None:
            with sqlite3.connect(file, timeout=30) as own:
                own.execute("insert into pairs values (?, ?)", (number, number))
                own.execute("update pairs set b = a + ?", (number,))
            own.close()

        with meanwhile(write):
            backups = [back_up(places, tmp_path / "backups", second=number) for number in range(5)]
    database.close()
    counts = []
    for number, backup in enumerate(backups):
        restored(places, backup, tmp_path / f"restored-{number}")
        copy = sqlite3.connect(tmp_path / f"restored-{number}" / "data" / "dagster" / "history" / "runs.db")
        counts.append(copy.execute("select count(*) from pairs").fetchone()[0])
        assert copy.execute("select count(distinct b - a) from pairs").fetchone()[0] <= 1
        copy.close()
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


@pytest.mark.parametrize("name", ["wiki #1", "50%2F", "which?", "ä b"])
def test_a_database_in_a_folder_of_any_name_is_copied_with_its_rows(tmp_path: Path, name: str) -> None:
    home, copy = tmp_path / name / "home", tmp_path / "copy"
    (home / "history").mkdir(parents=True)
    for file in ("runs.db", "schedules.db"):
        with sqlite3.connect(home / "history" / file) as database:
            database.execute("create table numbers as select 7 as number")
        database.close()
    copy_home(home, Copier(home, copy))
    for file in ("runs.db", "schedules.db"):
        database = sqlite3.connect(copy / "history" / file)
        assert database.execute("select * from numbers").fetchall() == [(7,)]
        database.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "copy"])


def test_nothing_is_restored_over_what_is_there(places: Places, tmp_path: Path) -> None:
    backup = back_up(places, tmp_path / "backups")
    with pytest.raises(BackupError, match="is not empty, and nothing is overwritten"):
        restore_backup(places, backup.folder)
    other = elsewhere(places, tmp_path / "other")
    (other.dagster_home / "history").mkdir(parents=True)
    (other.dagster_home / "history" / "runs.db").touch()
    with pytest.raises(BackupError, match="history is not empty"):
        restore_backup(other, backup.folder)
    assert not (other.lake.root / "lake").exists()


def cut_off(monkeypatch: pytest.MonkeyPatch, places: Places, backup: Backup, moved: int = 1) -> None:
    """Restore a backup, and be interrupted once some folders are at their places."""
    steps = iter(range(moved - 1))

    def interrupted(_: Path) -> None:
        if next(steps, None) is None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restore, "sync_folder", interrupted)
        with pytest.raises(KeyboardInterrupt):
            restore_backup(places, backup.folder)


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_a_restore_that_was_cut_off_is_finished_by_the_same_restore_and_by_no_other(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    write_partition(places.lake, SEED_TITLES, "wiki", [seed(1)])
    for folder in (places.dagster_home / "storage", places.lake.root / "quarantine"):
        folder.mkdir()
        (folder / "kept").write_text("as it was", encoding="utf-8")
    first, second = back_up(places, tmp_path / "backups"), back_up(places, tmp_path / "backups", second=1)
    other = elsewhere(places, tmp_path / "other")
    cut_off(monkeypatch, other, first, moved)
    filled = other.dagster_home / "history" / "runs.db"
    assert filled.exists()
    assert not (other.lake.root / "lake").exists()
    with pytest.raises(BackupError, match=f"Finish it by `holocron restore {first.folder}`, or empty that"):
        restore_backup(other, second.folder)
    before = filled.stat()
    assert restore_backup(other, first.folder).faulty == []
    assert filled.stat().st_ino == before.st_ino, "what was restored stays"
    assert read_partition(other.lake, SEED_TITLES, "wiki") == read_partition(places.lake, SEED_TITLES, "wiki")
    for file in (other.dagster_home / "storage" / "kept", other.lake.root / "quarantine" / "kept"):
        assert file.read_text(encoding="utf-8") == "as it was"
    assert not list(other.lake.root.rglob(".restor*"))
    with pytest.raises(BackupError, match="is not empty, and nothing is overwritten"):
        restore_backup(other, first.folder)


def test_a_restore_that_was_cut_off_goes_on_over_nothing_that_came_since(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    cut_off(monkeypatch, other, backup)
    mark(other.lake.root / "lake")
    with pytest.raises(BackupError, match="lake is not empty, and nothing is overwritten"):
        restore_backup(other, backup.folder)


def test_a_lake_that_began_where_a_restore_was_cut_off_is_not_taken_for_the_restored_one(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    lake, note = other.lake.root / "lake", Begun.note

    def then_interrupted(begun: Begun, place: str) -> None:
        note(begun, place)
        if place == str(lake):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Begun, "note", then_interrupted)
        with pytest.raises(KeyboardInterrupt):
            restore_backup(other, backup.folder)
    lake.mkdir()
    (lake / MARKER).write_text("another", encoding="utf-8")
    with pytest.raises(BackupError, match=f"{lake} is not the lake of this backup"):
        restore_backup(other, backup.folder)
    shutil.rmtree(lake)
    restore_backup(other, backup.folder)
    assert marker_of(lake) == marker_of(places.lake.root / "lake")


def test_a_second_restore_is_refused_while_the_first_goes_on(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_partition(places.lake, SEED_TITLES, "wiki", [seed(1)])
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    put_back, refused = restore._restore_settings, list[str]()  # noqa: SLF001 - a moment in the middle

    def beside_another(*given: Any) -> Any:
        with pytest.raises(BackupError, match=r"another restore to .* is under way") as caught:
            restore_backup(other, backup.folder)
        refused.append(str(caught.value))
        return put_back(*given)

    monkeypatch.setattr(restore, "_restore_settings", beside_another)
    assert restore_backup(other, backup.folder).faulty == []
    assert len(refused) == 1
    assert [row["title_key"] for row in read_partition(other.lake, SEED_TITLES, "wiki")] == [1]


def test_a_restore_into_a_linked_place_is_refused_before_anything_is_copied(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    lake, disk = other.lake.root / "lake", tmp_path / "disk"
    other.lake.root.mkdir(parents=True)
    disk.mkdir()
    lake.symlink_to(disk)
    with pytest.raises(BackupError, match=f"{lake} is a link or a mount point"):
        restore_backup(other, backup.folder)
    lake.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "is_mount", lambda path: path == lake)
        with pytest.raises(BackupError, match=f"{lake} is a link or a mount point"):
            restore_backup(other, backup.folder)
    assert [*other.lake.root.iterdir(), *disk.iterdir()] == []
    assert restore_backup(other, backup.folder).faulty == []


@pytest.mark.full
def test_a_restore_that_was_cut_off_after_its_database_goes_on_with_the_rest(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_partition(places.lake, SEED_TITLES, "wiki", [seed(1)])
    with postgres_server() as server:
        url = server.url.replace("+psycopg2", "")
        run_sql(server.url, "create table runs as select 7 as id")
        backup = back_up(dataclasses.replace(places, postgres_url=url), tmp_path / "backups")
        other = dataclasses.replace(elsewhere(places, tmp_path / "other"), postgres_url=url)
        with pytest.raises(BackupError, match="the database of HOLOCRON_POSTGRES_URL is not empty"):
            restore_backup(other, backup.folder)
        run_sql(server.url, "drop table runs")
        cut_off(monkeypatch, other, backup)
        assert restore_backup(other, backup.folder).faulty == []
        assert read_partition(other.lake, SEED_TITLES, "wiki")
        run_sql(server.url, "delete from runs where id = 7")


def run_sql(url: str, statement: str) -> None:
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(statement))
    engine.dispose()


def test_what_is_no_finished_backup_is_not_restored(places: Places, tmp_path: Path) -> None:
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    with pytest.raises(BackupError, match=f"holds 1 backups; name one, the newest is {backup.folder}"):
        restore_backup(other, tmp_path / "backups")
    (backup.folder / "manifest.json").unlink()
    with pytest.raises(BackupError, match="not finished"):
        restore_backup(other, backup.folder)


def test_a_backup_of_another_storage_is_refused(places: Places, tmp_path: Path) -> None:
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    with_postgres = Places(other.lake, other.dagster_home, "postgresql://127.0.0.1:1/x", other.settings)
    with pytest.raises(BackupError, match="unset HOLOCRON_POSTGRES_URL"):
        restore_backup(with_postgres, backup.folder)


def test_a_backup_that_fails_leaves_nothing_but_the_earlier_ones(places: Places, tmp_path: Path) -> None:
    first = back_up(places, tmp_path / "backups")
    (places.dagster_home / "history" / "broken.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(BackupError, match=r"broken\.db cannot be copied"):
        back_up(places, tmp_path / "backups", second=1)
    assert list((tmp_path / "backups").iterdir()) == [first.folder]


def test_settings_that_are_there_are_left_alone_and_named(places: Places, tmp_path: Path) -> None:
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    (tmp_path / "other" / "sources").mkdir(parents=True)
    own = tmp_path / "other" / "sources" / "wiki.yaml"
    own.write_text("enabled: true\n", encoding="utf-8")
    result = restore_backup(other, backup.folder)
    assert result.kept == {own: backup.folder / "settings" / "sources" / "wiki.yaml"}
    assert own.read_text(encoding="utf-8") == "enabled: true\n"
    assert (tmp_path / "other" / "tags.yaml").read_text(encoding="utf-8") == "tags: []\n"


def test_settings_of_another_user_keep_no_lake_back_and_are_named_with_where_they_are(
    places: Places, tmp_path: Path
) -> None:
    """As on a machine that was just installed: root's settings are there, and a file of one's own lacks."""
    if os.geteuid():
        pytest.skip("to become another user takes root")
    write_partition(places.lake, SEED_TITLES, "wiki", [seed(1)])
    backup, other = back_up(places, tmp_path / "backups"), elsewhere(places, tmp_path / "other")
    settings = backup.folder / "settings"
    (tmp_path / "other" / "sources").mkdir(parents=True)
    (tmp_path / "other" / "tags.yaml").write_text("tags: []\n", encoding="utf-8")
    (tmp_path / "other" / "tags.yaml").chmod(0o600)
    other.lake.root.mkdir()
    os.chown(other.lake.root, 65534, 65534)
    for folder in takewhile(lambda one: not one.stat().st_mode & stat.S_IXOTH, (tmp_path, *tmp_path.parents)):
        folder.chmod(folder.stat().st_mode | 0o055)  # pytest's own, as many as there are
    os.seteuid(65534)
    try:
        result = restore_backup(other, backup.folder)
    finally:
        os.seteuid(0)
    assert result.unwritten == {
        tmp_path / "other" / "sources" / "wiki.yaml": (
            settings / "sources" / "wiki.yaml",
            "Permission denied",
        ),
        tmp_path / "other" / "tags.yaml": (settings / "tags.yaml", "Permission denied"),
    }
    assert (result.kept, result.faulty) == ({}, [])
    assert [row["title_key"] for row in read_partition(other.lake, SEED_TITLES, "wiki")] == [1]
    assert (other.dagster_home / "history" / "runs.db").is_file()
    assert list((tmp_path / "other" / "sources").iterdir()) == []


def test_all_that_people_write_is_in_a_backup() -> None:
    data = PROJECT_FOLDER / "data"
    made = {"lake", "dagster", "locks", "quarantine", "search", "sample", "exports"}
    settings = {path.name for path in data.iterdir() if path.is_dir() or path.suffix == ".yaml"} - made
    assert settings - set(written_by_people({})) == set()
    assert all(path == data / name for name, path in written_by_people({}).items())


@pytest.mark.parametrize(
    "table", [SEED_TITLES, ANSWERS], ids=["of a table of ours", "of an interrogation's answers"]
)
def test_a_damaged_file_of_a_backup_is_named(places: Places, tmp_path: Path, table: Table) -> None:
    write_partition(places.lake, table, "wiki", [seed(1)])
    backup = back_up(places, tmp_path / "backups")
    file = backup.folder / places.lake.file(table, "wiki").relative_to(places.lake.root)
    content = file.read_bytes()
    file.write_bytes(content[:100] + bytes([content[100] ^ 4]) + content[101:])
    _, result = restored(places, backup, tmp_path / "other")
    assert [damage.file.name for damage in result.faulty] == ["data.parquet"]


def test_the_password_of_the_database_is_on_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("pg_dump", "pg_restore"):
        script = tmp_path / program
        script.write_text(f'#!/bin/sh\necho "$0 $*" "[$PGPASSWORD]" >> {tmp_path}/said\n', encoding="utf-8")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    url = "postgresql+psycopg2://holocron:se%40cret@127.0.0.1:5432/events?sslmode=disable"
    dump_database(url, tmp_path / "dump")
    restore_database(url, tmp_path / "dump")
    dumped, brought_back = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    for said in (dumped, brought_back):
        assert "--dbname=postgresql://holocron@127.0.0.1:5432/events?sslmode=disable" in said
        assert said.endswith("[se@cret]")
        assert said.count("cret") == 1


def test_the_error_of_a_database_program_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "pg_dump"
    script.write_text("#!/bin/sh\necho no such server >&2; exit 1\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(BackupError, match="pg_dump failed: no such server"):
        dump_database("postgresql://127.0.0.1/x", tmp_path / "dump")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(BackupError, match="pg_dump is not on PATH"):
        dump_database("postgresql://127.0.0.1/x", tmp_path / "dump")


def test_a_lake_that_machines_share_is_neither_backed_up_nor_restored_to(
    places: Places, tmp_path: Path
) -> None:
    made, url = back_up(places, tmp_path / "backups"), "memory://bucket/lake"
    other = elsewhere(places, tmp_path / "other")
    session = Session("postgresql://127.0.0.1:1/holocron", url)
    with mirrored(Mirror(places.lake.root, Objects(url), session)), pytest.raises(BackupError, match=url):
        back_up(places, tmp_path / "backups", second=1)
    with mirrored(Mirror(other.lake.root, Objects(url), session)), pytest.raises(BackupError, match=url):
        restore_backup(other, made.folder)
    assert [path.name for path in (tmp_path / "backups").iterdir() if path.is_dir()] == [made.folder.name]
    assert not (other.lake.root / "lake").exists()


def test_runs_that_are_forgotten_while_dagsters_home_is_copied_are_left_out(tmp_path: Path) -> None:
    runs = [tmp_path / "home" / "storage" / f"run{number:04}" for number in range(300)]
    for run in runs:
        (run / "compute_logs").mkdir(parents=True)
        (run / "compute_logs" / "step.err").write_text("x")
    with ThreadPoolExecutor() as threads:
        forgetting = threads.map(lambda run: shutil.rmtree(run, ignore_errors=True), runs)
        copy_home(tmp_path / "home", Copier(tmp_path / "home", tmp_path / "copy"))
        assert list(forgetting) == [None] * len(runs)
