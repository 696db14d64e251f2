"""Asynchronous work in a thread of its own: it goes on while its caller is busy, and ends when that does."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Event
from time import sleep

import pytest

from holocron_assets.derive.gpu.background import reports_of

Report = Callable[[int], None]


async def count_to_three(report: Report) -> str:
    for number in (1, 2, 3):
        report(number)
        await asyncio.sleep(0)
    return "done"


def test_reports_are_given_in_order_and_the_result_last() -> None:
    given = []

    def read() -> Iterator[int]:
        result = yield from reports_of(count_to_three)
        given.append(result)

    assert list(read()) == [1, 2, 3]
    assert given == ["done"]


def test_the_loop_goes_on_while_the_caller_is_busy() -> None:
    ticks = []

    async def work(report: Report) -> None:
        report(0)
        for _ in range(10):
            await asyncio.sleep(0.01)
            ticks.append(1)

    with closing(reports_of(work)) as working:
        next(working)
        sleep(0.5)
        assert len(ticks) == 10


def test_what_the_coroutine_raises_comes_out_after_what_it_reported() -> None:
    async def work(report: Report) -> None:
        report(1)
        raise LookupError("no such page")

    working = reports_of(work)
    assert next(working) == 1
    with pytest.raises(LookupError, match="no such page"):
        next(working)


def test_a_caller_that_leaves_cancels_the_coroutine_and_waits_for_its_end() -> None:
    ended = Event()

    async def work(report: Report) -> None:
        report(1)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
            ended.set()

    working = reports_of(work)
    next(working)
    working.close()
    assert ended.is_set()


def test_an_interrupt_of_the_caller_cancels_the_coroutine() -> None:
    ended = Event()

    async def work(report: Report) -> None:
        try:
            report(1)
            await asyncio.sleep(60)
        finally:
            ended.set()

    working = reports_of(work)
    next(working)
    with pytest.raises(KeyboardInterrupt):
        working.throw(KeyboardInterrupt())
    assert ended.is_set()
