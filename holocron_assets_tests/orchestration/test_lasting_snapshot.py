"""One tick begins a long snapshot, a later tick gets it, and only the end of the process loses it."""

import subprocess
import sys
from pathlib import Path
from threading import Event
from time import monotonic

import dagster as dg
import pytest
from sample_holocron import SAMPLE_BATCH, Holocron
from watched_sample import status_of

from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.tables import PAGES
from holocron_assets.operations.state.status import Status
from holocron_assets.orchestration.sensors.snapshots import LastingSnapshot, lasting_snapshot

HERE = Path("lake")


def test_one_tick_begins_a_snapshot_and_a_later_tick_gets_it(busy_status: Status) -> None:
    may_end, made = Event(), list[int]()

    def take() -> Status:
        made.append(1)
        assert may_end.wait(30)
        return busy_status

    lookout = LastingSnapshot()
    first = lookout.see(HERE, take, patience_seconds=0)
    assert (first.is_under_way, first.status, first.problem) == (True, None, None)
    lookout.judged(HERE, first)
    assert lookout.see(HERE, take, patience_seconds=0) == first
    may_end.set()
    later = lookout.see(HERE, take, patience_seconds=30)
    assert later.status is busy_status
    assert later.since == first.since
    assert len(made) == 1, "one at a time"


def test_a_snapshot_is_kept_until_it_was_evaluated(busy_status: Status) -> None:
    lookout, made = LastingSnapshot(), list[int]()

    def take() -> Status:
        made.append(1)
        return busy_status

    sight = lookout.see(HERE, take, patience_seconds=30)
    assert lookout.see(HERE, take, patience_seconds=30) == sight
    lookout.judged(HERE, sight)
    assert lookout.see(HERE, take, patience_seconds=30).since > sight.since
    assert len(made) == 2


def test_a_snapshot_that_no_tick_asked_for_in_a_long_time_is_taken_anew(busy_status: Status) -> None:
    lookout = LastingSnapshot()
    old = lookout.see(HERE, lambda: busy_status, patience_seconds=30)
    ended = lookout._begun[HERE].ended_at  # noqa: SLF001 - ten minutes are not to be waited for
    assert ended
    lookout._begun[HERE].ended_at = ended - 601  # noqa: SLF001
    assert lookout.see(HERE, lambda: busy_status, patience_seconds=30).since > old.since


def test_a_snapshot_that_fails_says_why_and_the_next_one_is_taken_anew(busy_status: Status) -> None:
    def broken() -> Status:
        raise OSError("the disk is gone")

    lookout = LastingSnapshot()
    sight = lookout.see(HERE, broken, patience_seconds=30)
    assert (sight.status, sight.problem, sight.is_under_way) == (None, "OSError: the disk is gone", False)
    lookout.judged(HERE, sight)
    assert lookout.see(HERE, lambda: busy_status, patience_seconds=30).status is busy_status


def test_what_it_finds_damaged_is_set_aside_and_named(fetched_sample: Holocron, tmp_path: Path) -> None:
    own = fetched_sample.copy_to(tmp_path / "own")
    file = own.lake.file(PAGES, SAMPLE_BATCH)
    file.write_bytes(file.read_bytes()[:-1])
    sight = LastingSnapshot().see(HERE, lambda: status_of(own), patience_seconds=60)
    assert sight.status
    assert [str(aside) for aside in all_set_aside(own.lake)] == list(sight.repaired)


def test_a_snapshot_goes_on_after_the_instance_of_its_tick_was_closed(
    fetched_sample: Holocron, tmp_path: Path
) -> None:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        take = lasting_snapshot(
            fetched_sample.lake, [fetched_sample.source()], fetched_sample.politeness_folder, instance
        )
    assert take().runs_problem is None


@pytest.mark.system
def test_a_snapshot_under_way_keeps_no_process_from_ending() -> None:
    code = (
        "from pathlib import Path; from time import sleep; "
        "from holocron_assets.orchestration.sensors.snapshots import LastingSnapshot; "
        "print(LastingSnapshot().see(Path('lake'), lambda: sleep(600), patience_seconds=0).is_under_way)"
    )
    began = monotonic()
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=1200
    )
    assert (done.returncode, done.stdout) == (0, "True\n")
    assert monotonic() - began < 300
