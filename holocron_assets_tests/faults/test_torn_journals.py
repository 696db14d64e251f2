"""Journals that a crash left torn, or a disk spoiled: no record that was acknowledged is lost."""

from pathlib import Path

import pytest

from holocron_assets.lake.journals.journal import Journal

RECORDS = [{"page": number, "text": f"Varn's «ship» {number}"} for number in range(3)]
NEXT = {"page": 99}


def journal_of(path: Path) -> list[int]:
    """Write the records; give where each ends."""
    with Journal(path) as journal:
        ends = []
        for record in RECORDS:
            journal.append(record)
            ends.append(path.stat().st_size)
    return ends


def append_and_read(path: Path) -> list[object]:
    with Journal(path) as journal:
        journal.append(NEXT)
        return list(journal.records())


@pytest.mark.fault(3, "a journal torn at every byte of its last line")
@pytest.mark.parametrize(
    "after", [b"", b"\0" * 512, b"\0" * 511 + b"\n"], ids=["cut", "zeros", "zeros and a line"]
)
def test_a_torn_last_line_costs_no_record_before_or_after_it(tmp_path: Path, after: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    ends = journal_of(path)
    whole = path.read_bytes()
    for length in range(ends[1], ends[2]):
        path.write_bytes(whole[:length] + after)
        assert append_and_read(path) in (
            [*RECORDS[:2], NEXT],
            [*RECORDS, NEXT],  # all of it was there but its end of line
        )


@pytest.mark.fault(3, "garbage in the middle of a journal")
@pytest.mark.parametrize(
    "garbage",
    [b"\n", b"00000000\n", b"\xff\xfe\0\n", b"{}\n", b"a1b2c3d4 {\n", b"\0" * 4096 + b"\n"],
    ids=["no line", "the checksum of nothing", "no text", "no checksum", "a wrong one", "zeros"],
)
def test_garbage_between_records_costs_none(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    first = journal_of(path)[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:first] + garbage + whole[first:])
    assert append_and_read(path) == [*RECORDS, NEXT]


@pytest.mark.fault(3, "an empty journal, and one of zeros")
@pytest.mark.parametrize("content", [b"", b"\0" * 100], ids=["empty", "zeros"])
def test_a_journal_without_a_record_is_one_to_begin(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    assert append_and_read(path) == [NEXT]


@pytest.mark.fault(3, "a process killed in the middle of a line, while another has the journal open")
def test_a_line_torn_by_another_process_does_not_swallow_the_next_record(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal_of(path)
    with Journal(path) as journal:
        journal.append(NEXT)
        with path.open("ab") as other:
            other.write(b'a1b2c3d4 {"page": 1')
        journal.append(NEXT)
        assert list(journal.records()) == [*RECORDS, NEXT, NEXT]
