import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any, NamedTuple

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holocron_assets.lake.journals.journal import Journal

THREE: list[dict[str, Any]] = [{"title": "Varn"}, {"title": "Gört\n\u2028", "attempt": 2}, {}]


def written(path: Path, records: list[dict[str, Any]]) -> Journal:
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    return journal


def read(path: Path) -> list[dict[str, Any]]:
    return list(Journal(path).records())


def test_a_journal_that_nothing_was_appended_to_has_no_records_and_no_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        assert list(journal.records()) == []
    assert list(tmp_path.iterdir()) == []


def test_records_come_back_in_order_from_a_folder_made_for_them(tmp_path: Path) -> None:
    path = tmp_path / "of" / "a" / "batch" / "journal.jsonl"
    written(path, THREE)
    assert read(path) == THREE


def test_a_record_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        for count in range(1, 4):
            journal.append({"count": count})
            assert [record["count"] for record in read(journal.path)] == list(range(1, count + 1))


def test_a_journal_that_was_closed_goes_on_where_it_was(tmp_path: Path) -> None:
    journal = written(tmp_path / "journal.jsonl", THREE)
    journal.append({"title": "later"})
    journal.close()
    assert read(journal.path) == [*THREE, {"title": "later"}]


def test_times_are_iso_8601(tmp_path: Path) -> None:
    written(tmp_path / "journal.jsonl", [{"at": datetime(2026, 3, 1, 12, tzinfo=UTC)}])
    assert read(tmp_path / "journal.jsonl") == [{"at": "2026-03-01T12:00:00+00:00"}]


def test_what_json_cannot_say_is_refused_by_name_and_leaves_no_trace(tmp_path: Path) -> None:
    journal = written(tmp_path / "journal.jsonl", THREE)
    with pytest.raises(TypeError, match="not b'bytes'"):
        journal.append({"title": "Varn", "body": b"bytes"})
    assert read(journal.path) == THREE


@pytest.mark.parametrize("tear", [b"", b"0", b"00000000 {", b'deadbeef {"title": "Gort"}', b"\0" * 4096])
def test_a_torn_line_is_never_written_and_swallows_nothing(tmp_path: Path, tear: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, THREE)
    with path.open("ab") as file:
        file.write(tear)
    assert read(path) == THREE
    written(path, [{"title": "next"}])
    assert read(path) == [*THREE, {"title": "next"}]


def test_a_line_of_another_hand_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, THREE)
    path.write_bytes(b'{"title": "by hand"}\n\n \n' + path.read_bytes())
    assert read(path) == THREE


def test_a_flipped_bit_loses_its_own_record_only(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, THREE)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    for place in range(len(whole)):
        if whole[place] == ord("\n"):
            continue  # the end of a line belongs to both of its neighbours
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        hit = max(number for number, start in enumerate(starts) if start <= place)
        found = read(path)
        assert [record for number, record in enumerate(THREE) if number != hit] == [
            record for record in found if record != THREE[hit]
        ]
        assert all(record in THREE for record in found)


def test_after_a_full_disk_the_next_record_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = written(tmp_path / "journal.jsonl", THREE)

    def full(_: int) -> None:
        os.truncate(journal.path, journal.path.stat().st_size - 3)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            journal.append({"title": "torn"})
    journal.append({"title": "next"})
    journal.close()
    assert read(journal.path) == [*THREE, {"title": "next"}]


def test_threads_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda count: journal.append({"count": count, "text": "x" * 20_000}), range(80)))
    assert sorted(record["count"] for record in read(journal.path)) == list(range(80))


def test_threads_that_append_during_a_sync_share_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced, is_slow, sync = tmp_path / "journal.jsonl", [], Event(), os.fsync

    def slow(descriptor: int) -> None:
        synced.append(path.read_bytes().count(b"\n"))
        is_slow.wait(10)
        sync(descriptor)

    with Journal(path) as journal, ThreadPoolExecutor(8) as pool:
        journal.append({"count": 0})
        monkeypatch.setattr(os, "fsync", slow)
        appending = [pool.submit(journal.append, {"count": count}) for count in range(1, 9)]
        while path.read_bytes().count(b"\n") < 9:
            sleep(0.01)
        assert not any(one.done() for one in appending)
        is_slow.set()
        for one in appending:
            one.result()
    assert len(synced) <= 2
    assert synced[-1] == 9


def test_every_thread_that_waits_for_a_sync_that_fails_gets_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fails = tmp_path / "journal.jsonl", Event()

    def failing(_: int) -> None:
        fails.wait(10)
        raise OSError(5, "Input/output error")

    with Journal(path) as journal, ThreadPoolExecutor(3) as pool:
        journal.append({"count": 0})
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing)
            appending = [pool.submit(journal.append, {"count": count}) for count in range(1, 4)]
            while path.read_bytes().count(b"\n") < 4:
                sleep(0.01)
            fails.set()
            for one in appending:
                with pytest.raises(OSError, match="Input/output error"):
                    one.result()
        journal.append({"count": 4})
    assert read(path)[-1] == {"count": 4}


def test_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    program = (
        "import sys; from pathlib import Path; from holocron_assets.lake.journals.journal import Journal\n"
        "with Journal(Path(sys.argv[1])) as journal:\n"
        "    for count in range(100):\n"
        "        journal.append({'process': int(sys.argv[2]), 'count': count, 'text': 'x' * 20_000})\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, path, str(number)])  # noqa: S603 - our own program
        for number in range(2)
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    records = sorted(read(path), key=lambda record: record["process"])
    for _, of_one in groupby(records, key=lambda record: record["process"]):
        assert [record["count"] for record in of_one] == list(range(100))
    assert len(records) == 200


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
records = st.lists(st.dictionaries(st.text(), values, max_size=3), max_size=5)


@given(records, records, st.data())
def test_what_was_appended_is_read_and_a_cut_anywhere_loses_the_last_only(
    first: list[dict[str, Any]], second: list[dict[str, Any]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        written(path, first)
        assert read(path) == first
        whole = path.read_bytes() if first else b""
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        # A record is whole when all of it but the end of its line is there.
        ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
        kept = first[: sum(end <= cut for end in ends)]
        assert read(path) == kept
        written(path, second)
        assert read(path) == kept + second


class Appends(NamedTuple):
    """A process appends a record; it may have had the file open for long."""

    process: int


class Dies(NamedTuple):
    """A process dies while it appends: of its line, so much was written."""

    process: int
    share: float


lives = st.lists(
    st.builds(Appends, st.integers(0, 2)) | st.builds(Dies, st.integers(0, 2), st.floats(0, 0.99)),
    max_size=12,
)


@settings(max_examples=examples(40))
@given(lives)
@example([Appends(0), Dies(1, 0.5), Appends(0)])
def test_every_acknowledged_record_is_read_once_whichever_writer_dies_in_a_line(
    steps: list[Appends | Dies],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        processes = {number: Journal(path) for number in range(3)}
        acknowledged = []
        for number, step in enumerate(steps):
            record = {"number": number, "text": "Gört \u2028"}
            if isinstance(step, Appends):
                processes[step.process].append(record)
                acknowledged.append(record)
                continue
            processes[step.process].close()
            processes[step.process] = Journal(path)  # the next process opens it anew
            torn = b"00000000 " + json.dumps(record).encode()
            if path.exists():
                with path.open("ab") as file:
                    file.write(torn[: int(len(torn) * step.share)])
        assert read(path) == acknowledged
        for journal in processes.values():
            journal.close()
