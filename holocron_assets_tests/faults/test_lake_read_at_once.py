"""What a machine sees of a lake while its threads and processes work at once and others remove files."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from shared_lakes import SharedPlace, shared_place

from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared import mirror as mirrors
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Objects, Stored
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.lake.shared.segments import segments_of

SHIPS, BOATS, RAFTS = (
    Table(
        name,
        "yard",
        "What floats.",
        key=("hull",),
        columns=(Column("hull", type_int, "Hull"), Column("batch", type_string, "Batch")),
        partition_column="batch",
    )
    for name in ("ships", "boats", "rafts")
)
pytestmark = [pytest.mark.full]


@pytest.fixture(scope="module")
def server() -> Iterator[SharedPlace]:
    with shared_place() as place:
        yield place


@pytest.fixture
def place(server: SharedPlace) -> SharedPlace:
    """A lake of its own for each test."""
    return replace(server, url=f"{server.url}-{uuid4().hex[:8]}")


@pytest.fixture
def machines(place: SharedPlace, tmp_path: Path) -> Iterator[list[Lake]]:
    """The same lake, as two machines see it."""
    with ExitStack() as stack:
        yield [stack.enter_context(place.machine(tmp_path / name)) for name in ("one", "other")]


def write(lake: Lake, batch: str) -> Path:
    write_partition(lake, SHIPS, batch, [{"hull": 1, "batch": batch}])
    return lake.file(SHIPS, batch)


def mirror(lake: Lake) -> Mirror:
    found = mirror_of(lake.root)
    assert found
    return found


@contextmanager
def asking_slowly(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, answer: Callable[[threading.Event], dict[str, int]]
) -> Iterator[list[int]]:
    """A thread reads another table, and has no answer of PostgreSQL's before the block ends.

    Args:
        lake: the machine's.
        monkeypatch: puts itself between its mirror and its session.
        answer: asks, before or after it waits for the event.

    Yields:
        A number for each time that other threads asked.
    """
    session, asking, may_answer, asked = (
        mirror(lake).session,
        threading.Event(),
        threading.Event(),
        list[int](),
    )
    ask = session.writes

    def writes() -> dict[str, int]:
        if threading.current_thread() is thread:
            asking.set()
            return answer(may_answer)
        asked.append(len(asked))
        return ask()

    thread = threading.Thread(target=lake.partitions, args=[BOATS])
    monkeypatch.setattr(session, "writes", writes)
    thread.start()
    try:
        assert asking.wait(60)
        yield asked
    finally:
        may_answer.set()
        thread.join()


def test_the_holder_of_a_lock_sees_all_writes_though_another_thread_has_no_answer_yet(
    machines: list[Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = machines
    write(other, "fleet-1")
    assert one.partitions(SHIPS) == ["fleet-1"]
    ask = mirror(one).session.writes

    def late(may_answer: threading.Event) -> dict[str, int]:
        assert may_answer.wait(60)
        return ask()

    write(other, "fleet-2")
    with one.lock("harbour"), asking_slowly(one, monkeypatch, late):
        assert one.partitions(SHIPS) == ["fleet-1", "fleet-2"]


def test_an_old_answer_that_comes_late_does_not_replace_a_newer_one(
    machines: list[Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = machines
    monkeypatch.setattr(mirrors, "_OLDEST_LISTING_SECONDS", 600.0)
    write(other, "fleet-1")
    mirror(one).read_anew()
    ask = mirror(one).session.writes

    def old(may_answer: threading.Event) -> dict[str, int]:
        writes = ask()
        assert may_answer.wait(60)
        return writes

    with asking_slowly(one, monkeypatch, old) as asked:
        write(other, "fleet-2")
        mirror(one).read_anew()
        assert one.partitions(SHIPS) == ["fleet-1", "fleet-2"]
        assert asked == [0]
    one.partitions(RAFTS)
    assert asked == [0], "the newer answer is known still"


def test_a_file_that_another_machine_removed_before_its_writer_listed_the_lake_is_gone(
    machines: list[Lake],
) -> None:
    one, other = machines
    assert one.partitions(SHIPS) == []
    file = write(one, "fleet-1")
    journal = Journal(one.journal(SHIPS, "fleet-2"))
    journal.append({"number": 1})
    (segment,) = (path for path in segments_of(journal.path) if path.exists())
    aside = one.root / "quarantine" / "1" / file.name
    aside.parent.mkdir(parents=True)
    with mirror(one).moving(write(one, "fleet-3"), aside):
        one.file(SHIPS, "fleet-3").replace(aside)
    mirror(other).read_anew()
    for path in (file, segment, aside):
        mirror(other).bring_up_to_date(other.root / path.relative_to(one.root).parent)
        assert (other.root / path.relative_to(one.root)).is_file()
        mirror(other).remove(other.root / path.relative_to(one.root))
    mirror(one).read_anew()
    mirror(one).bring_up_to_date(aside.parent)
    assert one.partitions(SHIPS) == []
    assert [path for path in (file, segment, aside) if path.exists()] == []


def test_what_another_process_of_the_machine_wrote_and_another_machine_removed_is_gone(
    place: SharedPlace, machines: list[Lake]
) -> None:
    one, other = machines
    assert one.partitions(SHIPS) == []
    with place.machine(one.root) as process:
        write(process, "fleet-1")
    mirror(other).read_anew()
    assert other.partitions(SHIPS) == ["fleet-1"]
    mirror(other).remove(other.file(SHIPS, "fleet-1"))
    mirror(one).read_anew()
    assert one.partitions(SHIPS) == []
    assert one.partitions(SHIPS) == []


def test_a_file_put_while_the_whole_lake_is_listed_stays(
    machines: list[Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = machines
    write(one, "fleet-1")
    list_now = Objects.list

    def list_before_a_write(objects: Objects, folder: str) -> dict[str, Stored]:
        found = list_now(objects, folder)
        monkeypatch.setattr(Objects, "list", list_now)
        thread = threading.Thread(target=write, args=[one, "fleet-2"])
        thread.start()
        thread.join()
        return found

    mirror(one).read_anew()
    monkeypatch.setattr(Objects, "list", list_before_a_write)
    assert {file.parent.name for file in one.files()} == {"fleet-1", "fleet-2"}
