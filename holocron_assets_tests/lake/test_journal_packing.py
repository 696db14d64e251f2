"""Packing journals: nothing is lost while processes append, read or die, and damage is named."""

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.quarantine import all_set_aside, set_aside
from holocron_assets.lake.files.verifying import faulty_files, files_to_verify
from holocron_assets.lake.journals import packing as journal_packing
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.packed import packed_part
from holocron_assets.lake.journals.packing import journals_are_due, pack_journals
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.lake.tables import LLM_ATTEMPTS, PAGES

SCOPE = "kinds-wiki-000001"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def journal(lake: Lake) -> Journal:
    return Journal(lake.journal(LLM_ATTEMPTS, SCOPE))


def add(journal: Journal, count: int, *, first: int = 0) -> list[dict[str, Any]]:
    """Append records that look like questions: most of each is in all of them."""
    numbers_by_process = [
        {"number": number, "question": "What is said here of the harbour? " * 30, "at": f"{utc_now()}"}
        for number in range(first, first + count)
    ]
    for record in numbers_by_process:
        journal.append(record)
    journal.close()
    return numbers_by_process


def pack(lake: Lake, *, days: int = 3) -> int:
    return pack_journals(lake, now=utc_now() + timedelta(days=days)).journals


def numbers(journal: Journal) -> list[int]:
    return [record["number"] for record in journal.records()]


def test_what_nothing_was_appended_to_for_a_day_is_packed_and_reads_as_before(
    lake: Lake, journal: Journal
) -> None:
    numbers_by_process = add(journal, 100)
    size = journal.path.stat().st_size
    assert not journals_are_due(lake, now=utc_now())
    assert pack(lake, days=0) == 0
    assert journals_are_due(lake, now=utc_now() + timedelta(days=3))
    assert pack(lake) == 1
    assert list(journal.path.parent.iterdir()) == [packed_part(journal.path)]
    assert packed_part(journal.path).stat().st_size < size / 10
    assert list(journal.records()) == numbers_by_process
    assert lake.journals(LLM_ATTEMPTS) == [journal.path]
    assert not journals_are_due(lake, now=utc_now() + timedelta(days=3))


def test_what_is_appended_later_begins_another_file_which_a_later_packing_takes(
    lake: Lake, journal: Journal
) -> None:
    numbers_by_process = add(journal, 20)
    for first in (20, 40):
        assert pack(lake) == 1
        marks = journal.marks()
        numbers_by_process += add(journal, 20, first=first)
        assert journal.marks() != marks
        assert list(journal.records()) == numbers_by_process
    assert pack(lake) == 1
    assert list(journal.records()) == numbers_by_process
    assert not journal.path.exists()


def test_the_same_records_again_are_not_taken_for_those_that_were_packed(
    lake: Lake, journal: Journal
) -> None:
    for times in range(1, 4):
        for _ in range(20):
            journal.append({"number": 1, "question": "What is said here of the harbour? " * 30})
        journal.close()
        assert numbers(journal) == [1] * 20 * times
        assert pack(lake) == 1
        assert numbers(journal) == [1] * 20 * times


def test_small_journals_and_those_of_work_that_a_partition_ends_stay_as_they_are(
    lake: Lake, journal: Journal
) -> None:
    add(journal, 1)
    add(Journal(lake.journal(PAGES, "wiki-000001")), 100)
    assert pack(lake) == 0


def test_a_writer_with_the_journal_open_for_days_appends_next_to_the_packed_part(
    lake: Lake, journal: Journal
) -> None:
    add(journal, 20)
    with Journal(journal.path) as opened:
        opened.append({"number": 20})
        assert pack(lake) == 1
        opened.append({"number": 21})
        opened.append({"number": 22})
    assert numbers(journal) == list(range(23))


def test_a_journal_that_another_user_owns_is_packed_too(
    lake: Lake, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: int, _mode: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    add(journal, 20)
    with Journal(journal.path) as opened:
        opened.append({"number": 20})
        monkeypatch.setattr(os, "fchmod", refuse)
        assert pack(lake) == 1
        opened.append({"number": 21})
    assert numbers(journal) == list(range(22))


def test_an_own_file_that_somebody_removed_is_missed_though_there_is_a_packed_part(
    lake: Lake, journal: Journal
) -> None:
    add(journal, 20)
    pack(lake)
    with Journal(journal.path) as opened:
        opened.append({"number": 20})
        opened.path.unlink()
        with pytest.raises(FolderGoneError, match="was removed"):
            opened.append({"number": 21})


def test_a_reader_that_began_before_a_packing_reads_each_record_once(lake: Lake, journal: Journal) -> None:
    add(journal, 50)
    pack(lake)
    add(journal, 50, first=50)
    reading = journal.records()
    read = [next(reading)["number"]]
    pack(lake)
    add(journal, 50, first=100)
    read += [record["number"] for record in reading]
    assert read == list(range(100))


def test_a_journal_whose_own_file_is_packed_between_two_reads_of_a_reader_is_read_once(
    lake: Lake, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(journal, 50)
    packed_lines = Journal.lines.__globals__["packed_lines"]

    def packed_first(path: Path) -> Any:
        monkeypatch.setitem(Journal.lines.__globals__, "packed_lines", packed_lines)
        pack(lake)
        return packed_lines(path)

    monkeypatch.setitem(Journal.lines.__globals__, "packed_lines", packed_first)
    assert numbers(journal) == list(range(50))
    assert not journal.path.exists()


@pytest.mark.parametrize("torn", ["", '3f"torn'])
def test_a_kill_before_the_own_file_is_removed_doubles_nothing_then_or_later(
    lake: Lake, journal: Journal, tmp_path: Path, torn: str
) -> None:
    add(journal, 20)
    with journal.path.open("a") as file:
        file.write(torn)
    shutil.copy2(journal.path, tmp_path / "kept")
    pack(lake)
    shutil.copy2(tmp_path / "kept", journal.path)  # as it is if the packing dies before the removal
    assert numbers(journal) == list(range(20))
    assert pack(lake) == 1
    assert numbers(journal) == list(range(20))
    shutil.copy2(tmp_path / "kept", journal.path)
    add(journal, 20, first=20)
    assert numbers(journal) == list(range(40))
    pack(lake)
    assert numbers(journal) == list(range(40))


def flip(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]


def cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def empty(_content: bytes, _chance: random.Random) -> bytes:
    return b""


@pytest.mark.fault(3, "a packed journal cut, emptied, or with one bit flipped")
@pytest.mark.parametrize("damage", [cut, flip, empty])
def test_a_damaged_packed_part_is_named_and_never_shorter_in_silence(
    lake: Lake, journal: Journal, damage: Callable[[bytes, random.Random], bytes]
) -> None:
    add(journal, 100)
    pack(lake)
    add(journal, 10, first=100)  # enough to be packed, too
    packed, chance = packed_part(journal.path), random.Random(7)  # noqa: S311 - no secret
    whole = packed.read_bytes()
    for _ in range(100):
        packed.write_bytes(damaged := damage(whole, chance))
        found = [one.file for one in faulty_files(files_to_verify(lake))]
        if not found:
            assert damage is flip, "only a bit of the frame's header may mean nothing"
            assert numbers(journal) == list(range(110))
            continue
        assert found == [packed]
        for act in (numbers, lambda _: pack(lake)):
            with pytest.raises(DamagedPartitionError, match=r"journal\.jsonl\.zst"):
                act(journal)
        assert (packed.read_bytes(), len(journal.marks())) == (damaged, 2)


def test_another_file_in_place_of_a_packed_part_is_named(lake: Lake, journal: Journal) -> None:
    add(journal, 100)
    pack(lake)
    with zstd.open(packed_part(journal.path), "wb") as other:
        other.write(b"something else\n")
    with pytest.raises(DamagedPartitionError, match="does not begin as packed journals do"):
        numbers(journal)


def test_a_damaged_packed_part_is_set_aside_with_a_note_and_the_own_file_goes_on(
    lake: Lake, journal: Journal
) -> None:
    add(journal, 100)
    pack(lake)
    add(journal, 10, first=100)
    packed = packed_part(journal.path)
    packed.write_bytes(packed.read_bytes()[:-5])
    with pytest.raises(DamagedPartitionError) as caught:
        numbers(journal)
    aside = set_aside(lake, caught.value)
    assert aside is not None
    assert "only this file holds the prompts and replies" in str(aside)
    assert [one.kept.name for one in all_set_aside(lake)] == [packed.name]
    assert numbers(journal) == list(range(100, 110))


APPENDING = """
import sys
from pathlib import Path
from holocron_assets.lake.journals.journal import Journal
for number in range(400):
    with Journal(Path(sys.argv[1])) as journal:
        journal.append({"number": number, "by": sys.argv[2], "text": "what is said " * 20})
"""


@pytest.mark.system
def test_processes_that_append_during_packing_lose_and_double_nothing(
    lake: Lake, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        journal_packing, "_IDLE", timedelta(days=-1)
    )  # however new: worse than what can happen
    appending = [
        subprocess.Popen([sys.executable, "-c", APPENDING, str(journal.path), by])  # noqa: S603 - our own program
        for by in ("one", "two")
    ]
    packings = 0
    while any(process.poll() is None for process in appending):
        packings += pack(lake, days=0)
        numbers_by_process = [(record["by"], record["number"]) for record in journal.records()]
        assert len(numbers_by_process) == len(set(numbers_by_process))
    assert [process.returncode for process in appending] == [0, 0]
    assert packings > 1
    for by in ("one", "two"):
        assert [record["number"] for record in journal.records() if record["by"] == by] == list(range(400))
