"""A lake that machines share: what one does, others see, and no machine that lost its locks does anything."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from uuid import uuid4

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from filelock import Timeout
from shared_lakes import SharedPlace, environment_of, shared_place
from whole_holocron import until

from holocron_assets.crawl.files.transfers.parts import Part
from holocron_assets.decisions.controls import DRAIN, Scope, control
from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string
from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition, write_partition
from holocron_assets.lake.files.quarantine import all_set_aside, set_aside
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.files.verifying import damage_of, files_due, note_verified
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.packing import pack_journals
from holocron_assets.lake.packs.compaction import FEWEST, compact
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.lake.shared import mirror as mirrors
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Stored
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.lake.shared.segments import segments_of
from holocron_assets.lake.shared.sessions import LocksLostError
from holocron_assets.lake.tables import FILE_LIST, FILES, LLM_ATTEMPTS, PAGE_LINKS, PAGES, SEED_TITLES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.resources.known_lake import expect_lake
from holocron_assets.orchestration.runs.reaper import held_by_run, reap_dead_runs
from holocron_assets.planning.holding import hold_on
from holocron_assets.planning.job_names import BATCH_JOB, FILES_JOB, LIST_FILES_JOB, SEEDS_JOB
from holocron_assets.planning.work import Work

SHIPS = Table(
    "ships",
    "yard",
    "Ships.",
    key=("hull",),
    columns=(Column("hull", type_int, "Hull"), Column("batch", type_string, "Batch")),
    partition_column="batch",
)
HOLD = """
import sys, time
from pathlib import Path
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import data_folder
with Lake(data_folder()).lock("harbour"):
    print("held", flush=True)
    time.sleep(600)
"""
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


def ships(batch: str, *hulls: int) -> list[dict[str, object]]:
    return [{"hull": hull, "batch": batch} for hull in hulls]


def mirror(lake: Lake) -> Mirror:
    found = mirror_of(lake.root)
    assert found
    return found


def test_what_one_machine_writes_others_read_the_same(machines: list[Lake]) -> None:
    one, other = machines
    write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 1, 2))
    mirror(other).read_anew()
    assert read_partition(other, SHIPS, "fleet-1") == ships("fleet-1", 1, 2)
    assert other.file(SHIPS, "fleet-1").read_bytes() == one.file(SHIPS, "fleet-1").read_bytes()
    assert other.listing(SHIPS).own == one.listing(SHIPS).own, "all machines give a file the same mark"
    assert other.mark([SHIPS]) == one.mark([SHIPS])


def test_a_rewrite_or_a_removal_is_seen_on_all_machines(machines: list[Lake]) -> None:
    one, other = machines
    write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 1))
    write_partition(one, SHIPS, "fleet-2", ships("fleet-2", 2))
    mirror(other).read_anew()
    assert other.partitions(SHIPS) == ["fleet-1", "fleet-2"]
    write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 3))
    mirror(one).remove(one.file(SHIPS, "fleet-2"))
    mirror(other).read_anew()
    assert other.partitions(SHIPS) == ["fleet-1"]
    assert read_partition(other, SHIPS, "fleet-1") == ships("fleet-1", 3)
    with pytest.raises(MissingPartitionError):
        read_partition(other, SHIPS, "fleet-2")


def test_sql_sees_the_files_of_all_machines(machines: list[Lake]) -> None:
    for number, lake in enumerate(machines):
        shared = replace(lake, derived_tables=(SHIPS,))
        write_partition(shared, SHIPS, f"fleet-{number}", ships(f"fleet-{number}", number))
    mirror(shared).read_anew()
    with connect(shared, tables=[SHIPS]) as connection:
        assert query(connection, "select hull from lake.ships order by 1") == [{"hull": 0}, {"hull": 1}]


def test_the_holder_of_a_lock_sees_all_that_was_written_under_it(machines: list[Lake]) -> None:
    for number in range(10):
        lake = machines[number % 2]
        with lake.lock("count"):  # without the lock, a listing of the lake would be up to a second old
            seen = len(read_partition(lake, SHIPS, "all")) if lake.has(SHIPS, "all") else 0
            assert seen == number
            write_partition(lake, SHIPS, "all", ships("all", *range(number + 1)))


def test_a_lock_is_one_machines_until_it_is_given_back(machines: list[Lake]) -> None:
    one, other = machines
    with one.lock("harbour"):
        with pytest.raises(Timeout):
            other.lock("harbour").acquire(blocking=False)
        with pytest.raises(Timeout):
            one.lock("harbour").acquire(timeout=0.2)
        with other.lock("sea"):
            pass
    with other.lock("harbour", blocking=False):
        pass


@pytest.mark.fault(7, "a process killed that holds a lock of all machines")
def test_the_lock_of_a_killed_process_is_free(
    place: SharedPlace, machines: list[Lake], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", HOLD]
    held = subprocess.Popen(  # noqa: S603 - our own
        command, env=environment_of(place, tmp_path / "third"), stdout=subprocess.PIPE, text=True
    )
    with held:
        assert held.stdout
        assert held.stdout.readline() == "held\n"
        with pytest.raises(Timeout):
            machines[0].lock("harbour").acquire(timeout=0.5)
        held.kill()
        began = monotonic()
        with machines[0].lock("harbour", timeout=30):
            assert monotonic() - began < 20


@pytest.mark.fault(7, "the session with PostgreSQL cut below a process that holds locks")
def test_a_process_that_lost_its_locks_writes_nothing(place: SharedPlace, machines: list[Lake]) -> None:
    one, other = machines
    write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 1))
    with one.lock("harbour"):
        journal = Journal(one.journal(SHIPS, "fleet-1"))
        cut_sessions(place, mirror(one))
        with pytest.raises(LocksLostError, match="nothing is written"):
            write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 2))
        with pytest.raises(LocksLostError):
            journal.append({"hull": 2})
        with pytest.raises(LocksLostError):
            one.lock("another").acquire()
    mirror(other).read_anew()
    assert read_partition(other, SHIPS, "fleet-1") == ships("fleet-1", 1)
    assert not Journal(other.journal(SHIPS, "fleet-1")).exists()
    write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 3))  # it has given back what it lost
    mirror(other).read_anew()
    assert read_partition(other, SHIPS, "fleet-1") == ships("fleet-1", 3)


def cut_sessions(place: SharedPlace, of: Mirror) -> None:
    """End a machine's session as a network does that fails."""
    (number,) = of.session.connection.ask("select pg_backend_pid()")[0]
    with_another = place.mirror(of.root).session.connection
    with_another.ask("select pg_terminate_backend(%s)", [number])
    with_another.close()


def test_both_machines_append_to_one_journal_and_read_all_of_it(machines: list[Lake]) -> None:
    journals = [Journal(lake.journal(SHIPS, "fleet-1")) for lake in machines]
    for number in range(20):
        journals[number % 2].append({"number": number})
    for lake, journal in zip(machines, journals, strict=True):
        mirror(lake).read_anew()
        assert sorted(record["number"] for record in journal.records()) == list(range(20))
        own = [record["number"] for record in journal.records() if record["number"] % 2]
        assert own == sorted(own), "a writer's records stay in order"
    journals[0].remove()
    mirror(machines[1]).read_anew()
    assert not journals[1].exists()
    assert list(journals[1].records()) == []


def test_what_one_machine_began_is_begun_for_another_so_a_drain_lets_it_be_finished(
    machines: list[Lake],
) -> None:
    one, other = machines
    begun = [(BATCH_JOB, PAGES, "wiki-000001"), (FILES_JOB, FILES, "art-000001")]
    begun += [(SEEDS_JOB, SEED_TITLES, "wiki"), (LIST_FILES_JOB, FILE_LIST, "art")]
    for _, table, partition in begun:
        Journal(one.journal(table, partition)).append({"began": True})
    control(other, DRAIN, Scope("all"), author="Kim", reason="enough")
    mirror(other).read_anew()
    assert [hold_on(other, Work(job, partition, "1")) for job, _, partition in begun] == [None] * len(begun)
    assert hold_on(other, Work(BATCH_JOB, "wiki-000002", "1")), "nobody began it"


def test_a_record_is_in_the_store_once_it_is_appended(machines: list[Lake]) -> None:
    one, other = machines
    with Journal(one.journal(SHIPS, "fleet-1")) as journal:
        for number in range(3):
            journal.append({"number": number})
            mirror(other).read_anew()
            assert [record["number"] for record in Journal(other.journal(SHIPS, "fleet-1")).records()][
                -1
            ] == number


def test_a_packed_journal_holds_every_record_once_though_packing_was_killed(machines: list[Lake]) -> None:
    one, other = machines
    scope = "kinds-wiki-000001"
    for lake, first in ((one, 0), (other, 50)):
        with Journal(lake.journal(LLM_ATTEMPTS, scope)) as journal:
            for number in range(first, first + 50):
                journal.append({"number": number, "question": "What is said of the harbour? " * 9})
    mirror(one).read_anew()
    parts = segments_of(one.journal(LLM_ATTEMPTS, scope))
    kept = {part: part.read_bytes() for part in parts}
    assert pack_journals(one, now=utc_now() + timedelta(days=3)).journals == 1
    part, content = next(iter(kept.items()))
    with mirror(one).publishing_grown(content, part):  # as if it was killed before this one was removed
        part.write_bytes(content)
    for lake in machines:
        mirror(lake).read_anew()
        records = Journal(lake.journal(LLM_ATTEMPTS, scope)).records()
        assert sorted(record["number"] for record in records) == list(range(100))
    assert pack_journals(other, now=utc_now() + timedelta(days=3)).journals == 1
    assert segments_of(other.journal(LLM_ATTEMPTS, scope)) == []
    records = Journal(other.journal(LLM_ATTEMPTS, scope)).records()
    assert sorted(record["number"] for record in records) == list(range(100))


def test_a_mirror_that_was_removed_is_brought_again(place: SharedPlace, machines: list[Lake]) -> None:
    one, _ = machines
    write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 1))
    shutil.rmtree(one.root)
    with place.machine(one.root) as again:
        assert read_partition(again, SHIPS, "fleet-1") == ships("fleet-1", 1)


@pytest.mark.fault(7, "a shared store emptied below a machine, and another lake in its place")
def test_an_emptied_store_is_not_taken_for_a_new_lake(place: SharedPlace, machines: list[Lake]) -> None:
    one, _ = machines
    with dg.instance_for_test() as instance:
        expect_lake(instance, one)
        write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 1))
        elsewhere = replace(place, url=f"{place.url}-empty")
        with elsewhere.machine(one.root) as emptied:
            with pytest.raises(FolderGoneError, match="holds no lake any more"):
                emptied.partitions(SHIPS)
            with pytest.raises(FolderGoneError):
                write_partition(emptied, SHIPS, "fleet-2", [])
        assert one.file(SHIPS, "fleet-1").exists()


def test_damage_of_a_mirror_is_made_good_from_the_store(machines: list[Lake]) -> None:
    one, other = machines
    write_partition(one, PAGE_LINKS, "wiki-000001", [])
    file = one.file(PAGE_LINKS, "wiki-000001")
    file.write_bytes(b"torn")
    error = damage_of(file)
    assert error
    assert set_aside(one, error) is None
    assert read_partition(one, PAGE_LINKS, "wiki-000001") == []
    assert all_set_aside(one) == all_set_aside(other) == []


def test_each_machine_verifies_its_own_copies_whatever_the_others_verified(machines: list[Lake]) -> None:
    start, verified = utc_now(), set()
    write_partition(machines[0], PAGE_LINKS, "wiki-000001", [])
    for day in range(8):
        for lake in machines:
            files, hour = files_due(lake, start + timedelta(days=day))
            note_verified(lake, hour)
            verified |= set(files)
    assert verified == {lake.file(PAGE_LINKS, "wiki-000001") for lake in machines}


def test_damage_of_the_store_itself_is_set_aside_for_all(machines: list[Lake]) -> None:
    one, other = machines
    write_partition(one, PAGE_LINKS, "wiki-000001", [])
    file = one.file(PAGE_LINKS, "wiki-000001")
    with mirror(one).publishing_grown(b"torn", file):
        file.write_bytes(b"torn")
    error = damage_of(file)
    assert error
    assert set_aside(one, error)
    mirror(other).read_anew()
    assert not other.has(PAGE_LINKS, "wiki-000001")
    assert [aside.table for aside in all_set_aside(other)] == ["page_links"]


def test_a_write_whose_machine_died_before_it_was_counted_is_found(
    machines: list[Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = machines
    write_partition(one, SHIPS, "fleet-1", ships("fleet-1", 1))
    assert other.partitions(SHIPS) == ["fleet-1"]
    monkeypatch.setattr(type(mirror(one).session), "count_write", lambda *_: None)
    write_partition(one, SHIPS, "fleet-2", ships("fleet-2", 1))
    mirror(other).read_anew()
    assert other.partitions(SHIPS) == ["fleet-1"], "the write was not counted"
    monkeypatch.setattr(mirrors, "_UNCOUNTED_WRITE_SECONDS", 0.0)
    mirror(other).read_anew()
    assert other.partitions(SHIPS) == ["fleet-1", "fleet-2"]


def test_packs_of_one_machine_are_read_on_others(machines: list[Lake]) -> None:
    one, other = (replace(lake, derived_tables=(SHIPS,)) for lake in machines)
    names = [f"fleet-{number:02d}" for number in range(50)]
    for number, name in enumerate(names):
        write_partition(one, SHIPS, name, ships(name, number))
    before = other.mark([SHIPS])
    assert compact(one, now=utc_now() + timedelta(days=2)).packed == 50
    mirror(other).read_anew()
    assert all(other.listing(SHIPS).is_packed(name) for name in names)
    assert other.mark([SHIPS]) == before
    assert [row["hull"] for name in names for row in read_partition(other, SHIPS, name)] == list(range(50))


def test_twice_as_many_packed_files_take_twice_as_many_listed_objects_to_remove(
    machines: list[Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = replace(machines[0], derived_tables=(SHIPS,))
    objects, now = mirror(one)._objects, utc_now()  # noqa: SLF001 - what is asked of the store
    listed = list[int]()
    real = objects.list

    def counted(folder: str) -> Mapping[str, Stored]:
        found = real(folder)
        listed.append(len(found))
        return found

    monkeypatch.setattr(objects, "list", counted)
    costs = []
    for count, day in ((FEWEST, 2), (2 * FEWEST, 6)):
        for number in range(count):
            write_partition(one, SHIPS, f"fleet-{day}-{number:02d}", ships(f"fleet-{day}-{number:02d}", 1))
        assert compact(one, now=now + timedelta(days=day)).packed >= count  # and a pack that was half empty
        listed.clear()
        assert compact(one, now=now + timedelta(days=day + 2)).removed >= count
        costs.append(sum(listed))
    assert costs[1] < 3 * costs[0]


@pytest.mark.fault(7, "a worker's machine gone with a run under way")
def test_the_run_of_a_machine_that_is_gone_is_found_by_another(machines: list[Lake]) -> None:
    one, other = machines
    with dg.instance_for_test() as instance:
        run_id = str(uuid4())
        instance.add_run(dg.DagsterRun("crawl_batch", run_id, status=DagsterRunStatus.STARTED))
        with held_by_run(one, run_id):
            assert reap_dead_runs(instance, other) == []
            mirror(one).session.connection.close()  # as the server does when it falls silent
            found: list[str] = []

            def is_found() -> bool:
                found.extend(reap_dead_runs(instance, other))
                return bool(found)

            until(is_found, "the server frees the lock of a connection that is closed")
            assert found == [run_id]


def test_an_object_of_one_machine_is_brought_by_another_that_wants_it(
    place: SharedPlace, tmp_path: Path
) -> None:
    with place.machine(tmp_path / "one") as lake, Part(FileStore(lake), "http://example.org/") as part:
        part.start_over()
        part.write(b"bytes")
        sha256, _ = part.sha256, part.publish()
    with place.machine(tmp_path / "two") as lake:
        store = FileStore(lake)
        assert (store.has(sha256), store.path(sha256).exists()) == (True, False)
        assert store.bring(sha256).read_bytes() == b"bytes"
        assert store.unnamed([], timedelta(days=-1)) == [store.path(sha256)]
        assert lake.files() == []
