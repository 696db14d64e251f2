"""A costly look is shared by all who ask, and one that failed is never taken for one that found nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from holocron_assets.operations.kept_look import KeptLook, LookFailedError


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lasting(seconds: float, clock: Clock, found: list[int]) -> Callable[[], int]:
    """A look that takes some seconds and tells how often it was made."""

    def look() -> int:
        clock.now += seconds
        found.append(len(found))
        return len(found)

    return look


def test_a_look_is_kept_for_five_seconds() -> None:
    clock, made = Clock(), list[int]()
    look = KeptLook(lasting(0.1, clock, made), clock=clock)
    assert (look(), look()) == (1, 1)
    clock.now += 4.9
    assert look() == 1
    clock.now += 0.2
    assert look() == 2


def test_a_look_that_takes_long_is_kept_for_longer() -> None:
    clock, made = Clock(), list[int]()
    look = KeptLook(lasting(30, clock, made), clock=clock)
    look()
    clock.now += 119
    assert look() == 1
    clock.now += 2
    assert look() == 2


def test_who_asks_meanwhile_waits_for_the_look_under_way() -> None:
    begun, may_end, made = Event(), Event(), list[int]()

    def slow() -> int:
        begun.set()
        made.append(1)
        assert may_end.wait(30)
        return len(made)

    look = KeptLook(slow)
    with ThreadPoolExecutor(8) as asking:
        answers = [asking.submit(look) for _ in range(8)]
        assert begun.wait(30)
        may_end.set()
        assert [answer.result(30) for answer in answers] == [1] * 8


def test_a_look_that_fails_is_told_of_as_failed_to_all_who_ask_and_tried_again() -> None:
    clock, faults = Clock(), [OSError("the disk is gone"), OSError("still")]

    def broken() -> int:
        if faults:
            raise faults.pop(0)
        return 7

    look = KeptLook(broken, clock=clock)
    for _ in range(3):
        with pytest.raises(LookFailedError, match="OSError: the disk is gone"):
            look()
    assert (look.looked().found, look.looked().failures) == (None, 1)
    clock.now += 5
    assert look.looked().failures == 2
    clock.now += 5
    assert look() == 7
