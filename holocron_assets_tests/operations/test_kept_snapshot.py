"""A costly look is shared by all who ask, none waits for it for long, and a failed one never seems empty."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from holocron_assets.operations.state.kept_snapshot import KeptSnapshot


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """A look that lasts for as long as it is told to, and tells how often it was made."""

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
    """A look that takes some seconds and tells how often it was made."""

    def take() -> int:
        clock.now += seconds
        found.append(len(found))
        return len(found)

    return take


def test_a_look_is_kept_for_five_seconds() -> None:
    clock, made = Clock(), list[int]()
    take = KeptSnapshot(lasting(0.1, clock, made), clock=clock)
    assert (take.latest().found, take.latest().found) == (1, 1)
    clock.now += 4.9
    assert take.latest().found == 1
    clock.now += 0.2
    assert take.latest().found == 2


def test_a_look_that_takes_long_is_kept_for_longer() -> None:
    clock, made = Clock(), list[int]()
    take = KeptSnapshot(lasting(2, clock, made), clock=clock)
    take.latest()
    clock.now += 7.9
    assert take.latest().found == 1
    clock.now += 0.2
    assert take.latest().found == 2


def test_who_asks_soon_waits_for_the_look_under_way(slow: Slow) -> None:
    take = KeptSnapshot(slow)
    with ThreadPoolExecutor(8) as asking:
        answers = [asking.submit(take.latest) for _ in range(8)]
        assert slow.begun.wait(30)
        slow.may_end.set()
        assert [answer.result(30).found for answer in answers] == [1] * 8


def test_who_asks_later_is_told_at_once_of_the_last_look_and_how_old_it_is(slow: Slow) -> None:
    clock = Clock()
    take = KeptSnapshot(slow, clock=clock)
    slow.may_end.set()
    assert (take.latest().found, take.latest().under_way_seconds) == (1, None)
    slow.may_end.clear()
    clock.now += 60
    begun = take.begin()
    assert begun
    clock.now += 40
    told = take.latest()
    assert (told.found, told.age_seconds, told.under_way_seconds) == (1, 100, 40)
    assert slow.made == 2, "one at a time"
    slow.may_end.set()
    begun.result(30)
    assert take.latest().found == 2
    assert slow.made == 2


def test_until_the_first_look_ended_nothing_is_known_and_that_is_no_failure(slow: Slow) -> None:
    clock = Clock()
    take = KeptSnapshot(slow, clock=clock)
    take.begin()
    clock.now += 20
    told = take.latest()
    assert (told.found, told.failures, told.is_first_under_way) == (None, 0, True)
    assert told.problem == "the first snapshot of it has been under way for 20 s; ask again"


def test_a_look_that_fails_is_told_of_as_failed_to_all_who_ask_and_tried_again() -> None:
    clock, faults = Clock(), [OSError("the disk is gone"), OSError("still")]

    def broken() -> int:
        if faults:
            raise faults.pop(0)
        return 7

    take = KeptSnapshot(broken, clock=clock)
    for _ in range(3):
        told = take.latest()
        assert (told.found, told.problem) == (None, "OSError: the disk is gone")
        assert (told.failures, told.is_first_under_way) == (1, False)
    clock.now += 5
    assert take.latest().failures == 2
    clock.now += 5
    assert take.latest().found == 7
