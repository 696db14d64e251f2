"""A costly snapshot serves all requests, none waits long for it, and a failed one never seems empty."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from holocron_assets.operations.state.kept_snapshot import KeptSnapshot

ENDING = """
from threading import Event
import duckdb
from holocron_assets.operations.state.kept_snapshot import in_background

is_open = Event()

def take():
    with duckdb.connect() as connection:
        is_open.set()
        connection.execute("select count(*) from range(300_000_000)").fetchall()

in_background(take)
is_open.wait()
"""


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """A snapshot that lasts until a test ends it, and that says how often it was taken."""

    def __init__(self) -> None:
        self.made, self.begun, self.may_end = 0, Event(), Event()

    def __call__(self) -> int:
        self.made += 1
        made = self.made
        self.begun.set()
        assert self.may_end.wait(30)
        return made


@pytest.fixture
def slow() -> Iterator[Slow]:
    take = Slow()
    yield take
    take.may_end.set()


def lasting(seconds: float, clock: Clock, found: list[int]) -> Callable[[], int]:
    """A snapshot that takes some seconds and says how often it was taken."""

    def take() -> int:
        clock.now += seconds
        found.append(len(found))
        return len(found)

    return take


def test_a_snapshot_is_kept_for_five_seconds() -> None:
    clock, made = Clock(), list[int]()
    take = KeptSnapshot(lasting(0.1, clock, made), clock=clock)
    assert (take.latest().found, take.latest().found) == (1, 1)
    clock.now += 4.9
    assert take.latest().found == 1
    clock.now += 0.2
    assert take.latest().found == 2


def test_a_snapshot_that_takes_long_is_kept_for_longer() -> None:
    clock, made = Clock(), list[int]()
    take = KeptSnapshot(lasting(2, clock, made), clock=clock)
    take.latest()
    clock.now += 7.9
    assert take.latest().found == 1
    clock.now += 0.2
    assert take.latest().found == 2


def test_an_early_request_waits_for_the_snapshot_under_way(slow: Slow) -> None:
    take = KeptSnapshot(slow)
    with ThreadPoolExecutor(8) as asking:
        answers = [asking.submit(take.latest) for _ in range(8)]
        assert slow.begun.wait(30)
        slow.may_end.set()
        assert [answer.result(30).found for answer in answers] == [1] * 8


def test_a_later_request_gets_the_last_snapshot_at_once_with_its_age(slow: Slow) -> None:
    clock = Clock()
    take = KeptSnapshot(slow, clock=clock)
    slow.may_end.set()
    assert (take.latest().found, take.latest().under_way_seconds) == (1, None)
    slow.may_end.clear()
    clock.now += 60
    begun = take.begin()
    assert begun
    clock.now += 40
    latest = take.latest()
    assert (latest.found, latest.age_seconds, latest.under_way_seconds) == (1, 100, 40)
    assert slow.made == 2, "one at a time"
    slow.may_end.set()
    begun.result(30)
    assert take.latest().found == 2
    assert slow.made == 2


def test_until_the_first_snapshot_ended_nothing_is_known_and_that_is_no_failure(slow: Slow) -> None:
    clock = Clock()
    take = KeptSnapshot(slow, clock=clock)
    take.begin()
    clock.now += 20
    latest = take.latest()
    assert (latest.found, latest.failures, latest.is_first_under_way) == (None, 0, True)
    assert latest.problem == "the first snapshot of it has been under way for 20 s; ask again"


def test_every_request_learns_that_a_snapshot_failed_and_it_is_tried_again() -> None:
    clock, faults = Clock(), [OSError("the disk is gone"), OSError("still")]

    def broken() -> int:
        if faults:
            raise faults.pop(0)
        return 7

    take = KeptSnapshot(broken, clock=clock)
    for _ in range(3):
        latest = take.latest()
        assert (latest.found, latest.problem) == (None, "OSError: the disk is gone")
        assert (latest.failures, latest.is_first_under_way) == (1, False)
    clock.now += 5
    assert take.latest().failures == 2
    clock.now += 5
    assert take.latest().found == 7


def test_a_process_that_ends_during_a_snapshot_closes_its_connection_first() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING], check=True, capture_output=True, text=True)  # noqa: S603
    assert ended.stderr == "", "DuckDB reports open connections as leaks"
