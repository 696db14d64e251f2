"""The next process takes interrogations as the last one read and checked them, if all is as it was."""

import os
import stat
from pathlib import Path

import pytest
from interrogation_files import read_interrogations
from test_interrogation_files import write

from holocron_assets.derive.interrogations import loading
from holocron_assets.derive.interrogations.loading import Memory, follow_files, load_interrogations
from holocron_assets.lake.declaration import code_stamp as stamps


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLOCRON_STATE", str(tmp_path / "state"))
    return tmp_path / "state" / "interrogations"


@pytest.fixture
def folder(tmp_path: Path, state: Path) -> Path:
    """A folder with one interrogation, which was read and is remembered."""
    del state
    folder = tmp_path / "asked"
    folder.mkdir()
    write(folder)
    Memory(folder).keep(read_interrogations(folder))
    return folder


def test_what_was_kept_is_what_was_read(folder: Path) -> None:
    read = read_interrogations(folder)
    kept = Memory(folder).interrogations()
    assert kept == read
    assert kept is not None
    assert [one.prompt_version for one in kept] == [one.prompt_version for one in read]
    assert Memory(folder).tables() == tuple(one.table for one in read)


def test_a_changed_file_is_read_again(folder: Path) -> None:
    write(folder, title="What a page is about, or not")
    assert Memory(folder).interrogations() is None
    assert Memory(folder).tables() is None


def test_a_file_that_came_to_it_is_read(folder: Path) -> None:
    write(folder, "more", key="more")
    assert Memory(folder).interrogations() is None


@pytest.mark.parametrize("trouble", ["nothing", "no spaces", "a link that leads nowhere"])
def test_a_server_follows_its_files_whatever_else_cannot_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    spaces = folder.parent / "spaces"
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(folder))
    monkeypatch.setenv("HOLOCRON_SPACES", str(spaces))
    if trouble != "no spaces":
        spaces.mkdir()
    if trouble == "a link that leads nowhere":
        (folder / ".#another.yaml").symlink_to("somebody@somewhere")
    follow_files()
    before = len(load_interrogations())
    write(folder, "more", key="more")
    assert len(load_interrogations()) == before, "all else reads its files once"
    follow_files()
    assert len(load_interrogations()) == before + 1


def test_another_model_to_ask_has_the_folder_checked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_MODEL", "another:1b")
    assert Memory(folder).interrogations() is None


def test_a_damaged_file_counts_for_nothing(folder: Path, state: Path) -> None:
    for file in state.iterdir():
        file.write_bytes(file.read_bytes()[:-20])
    assert Memory(folder).interrogations() is None
    assert Memory(folder).tables() is None


@pytest.mark.parametrize("others", [stat.S_IWGRP, stat.S_IWOTH])
def test_nothing_is_taken_from_a_folder_that_others_can_write_to(
    folder: Path, state: Path, others: int
) -> None:
    assert stat.S_IMODE(state.stat().st_mode) == stat.S_IRWXU
    state.chmod(stat.S_IRWXU | others)
    assert Memory(folder).interrogations() is None


def test_a_folder_that_cannot_be_read_is_not_remembered(tmp_path: Path, state: Path) -> None:
    memory = Memory(tmp_path / "nowhere")
    assert memory.interrogations() is None
    memory.keep(())
    assert not state.exists()


def test_where_nothing_can_be_written_nothing_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOLOCRON_STATE", str(tmp_path / "file"))
    Memory(folder).keep(read_interrogations(folder))
    assert Memory(folder).interrogations() is None


def test_only_the_newest_are_kept(folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_MOST_FILES", 4)
    for number in range(5):
        write(folder, title=f"What a page is about, {number}")
        Memory(folder).keep(read_interrogations(folder))
        for file in state.iterdir():  # each is older than the next
            os.utime(file, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns - 10**9))
    assert len(list(state.iterdir())) == 4
    assert Memory(folder).interrogations() is not None


def test_code_that_changed_since_this_process_began_keeps_nothing(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(list(state.iterdir()))
    monkeypatch.setattr(stamps, "_STARTED", 0.0)
    monkeypatch.setattr(loading, "code_stamp", stamps.code_stamp.__wrapped__)
    assert Memory(folder).interrogations() is None
    Memory(folder).keep(read_interrogations(folder))
    assert len(list(state.iterdir())) == before
