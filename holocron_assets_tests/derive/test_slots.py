"""Who has the model server: one process at a time, a question in between, and nobody once they are dead."""

import asyncio
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import pytest

from holocron_assets.derive.gpu import slots
from holocron_assets.derive.gpu.slots import GpuLock, NotedLock, SlotTakenError
from holocron_assets.lake.place.paths import Lake

_HOLDER = """
import asyncio, sys
from pathlib import Path
from holocron_assets.derive.gpu.slots import GpuLock
from holocron_assets.lake.place.paths import Lake

gpu = GpuLock(Lake(Path(sys.argv[1])), "a process of its own")

async def hold():
    {how}
        print("has it", flush=True)
        await asyncio.sleep(60)

asyncio.run(hold())
"""
ASKER = _HOLDER.format(how="async with gpu.reserved():")
BATCH = _HOLDER.format(how="if not await gpu.take():")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@contextmanager
def process(program: str, lake: Lake) -> Iterator["subprocess.Popen[str]"]:
    """A process that has the lock, or waits for it."""
    command = [sys.executable, "-c", program, str(lake.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:  # noqa: S603 - our own program
        try:
            yield started
        finally:
            started.kill()


def wait_for_word(started: "subprocess.Popen[str]") -> None:
    assert started.stdout is not None
    assert started.stdout.readline() == "has it\n"


async def until_reserved(gpu: GpuLock) -> None:
    while not gpu.is_reserved():  # noqa: ASYNC110 - what is waited for is another process's file
        await asyncio.sleep(0.01)


def test_a_second_process_waits_until_the_first_gives_the_lock_back(lake: Lake) -> None:
    async def both() -> list[str]:
        events = []
        first, second = GpuLock(lake, "first"), GpuLock(lake, "second")
        await first.take()

        async def wait() -> None:
            await second.take()
            events.append("second has it")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0.2)
        events.append("first ends")
        first.give_back()
        await waiting
        return events

    assert asyncio.run(both()) == ["first ends", "second has it"]


def test_a_wait_that_is_too_long_names_who_has_the_lock_and_since_when(lake: Lake) -> None:
    async def both() -> None:
        first = GpuLock(lake, "dispatch asking qwen")
        await first.take()
        await GpuLock(lake, "second").take(seconds=0.1)

    with pytest.raises(
        SlotTakenError, match=r"dispatch asking qwen \(process \d+, since \d\d:\d\d:\d\d UTC\)"
    ):
        asyncio.run(both())


def test_the_holder_on_another_machine_is_named_with_its_machine(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, there = NotedLock(lake, "gpu-gpu"), platform.node()
    assert lock.try_take("dispatch asking qwen")
    assert " on " not in str(lock.holder())
    monkeypatch.setattr("platform.node", lambda: "this-one")
    assert f" on {there}, since " in str(lock.holder())


def test_the_note_of_a_process_of_an_earlier_version_names_no_machine(lake: Lake) -> None:
    lock = NotedLock(lake, "gpu-gpu")
    lock.note.write('{"what": "local asking qwen", "process": 7, "since": "2026-03-01T12:00:00+00:00"}')
    assert str(lock.holder()) == "local asking qwen (process 7, since 12:00:00 UTC)"


def test_the_batch_sees_a_reservation_gives_way_and_goes_on_when_it_ends(lake: Lake) -> None:
    async def both() -> list[str]:
        events = []
        batch, question = GpuLock(lake, "batch"), GpuLock(lake, "a question")
        await batch.take()
        assert not batch.is_reserved()

        async def ask() -> None:
            async with question.reserved():
                events.append("asked")
                await asyncio.sleep(0.1)
                events.append("answered")

        asking = asyncio.create_task(ask())
        await until_reserved(batch)
        events.append("batch finishes what is under way")
        await batch.let_pass()
        events.append("batch goes on")
        assert not batch.is_reserved()
        await asking
        return events

    assert asyncio.run(both()) == ["batch finishes what is under way", "asked", "answered", "batch goes on"]


def test_a_second_question_is_refused_and_learns_whose_is_first(lake: Lake) -> None:
    async def both() -> None:
        first, second = GpuLock(lake, "page_classification about Yoda"), GpuLock(lake, "another")
        async with first.reserved(), second.reserved():
            pytest.fail("two questions at once")

    with pytest.raises(
        SlotTakenError, match=r"one question at a time: page_classification about Yoda \(process"
    ):
        asyncio.run(both())


def test_a_reservation_ends_with_the_process_that_made_it(lake: Lake) -> None:
    batch = GpuLock(lake, "batch")
    with process(ASKER, lake) as asker:
        wait_for_word(asker)
        assert batch.is_reserved()
        asker.kill()
        asker.wait()
        assert not batch.is_reserved()
        asyncio.run(batch.take(seconds=1))
    assert not (lake.locks / "gpu-gpu-reserved.json").exists(), "no file is read again for a dead process"


def test_the_lock_of_a_killed_batch_is_free_for_a_question_at_once(lake: Lake) -> None:
    with process(BATCH, lake) as batch:
        wait_for_word(batch)
        holder = NotedLock(lake, "gpu-gpu").holder()
        assert holder is not None
        assert (holder.what, holder.process) == ("a process of its own", batch.pid)
        batch.kill()
        batch.wait()

        async def ask() -> None:
            async with GpuLock(lake, "a question").reserved():
                pass

        asyncio.run(asyncio.wait_for(ask(), 1))


def test_a_reservation_that_hangs_counts_no_longer_than_it_may(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = GpuLock(lake, "batch")
    reservation = NotedLock(lake, "gpu-gpu-reserved")
    assert reservation.try_take("somebody who hangs")
    assert batch.is_reserved()
    monkeypatch.setattr(slots, "RESERVATION_SECONDS", 0.0)
    assert not batch.is_reserved()
    monkeypatch.setattr(slots, "RESERVATION_SECONDS", 600.0)
    reservation.give_back()
    assert reservation.try_take("the next one")
    assert batch.is_reserved(), "another reservation has its own time"


def test_a_question_that_takes_too_long_is_cancelled_and_frees_both(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "RESERVATION_SECONDS", 0.1)

    async def ask() -> None:
        async with GpuLock(lake, "a slow question").reserved():
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(ask())
    batch = GpuLock(lake, "batch")
    assert not batch.is_reserved()
    asyncio.run(batch.take(seconds=0))


def test_a_process_that_gave_a_lock_back_can_take_it_again(lake: Lake) -> None:
    async def again() -> None:
        gpu = GpuLock(lake, "batch")
        await gpu.take()
        gpu.give_back()
        gpu.give_back()
        await gpu.take()
        assert NotedLock(lake, "gpu-gpu").is_held()

    asyncio.run(again())


def test_pools_do_not_wait_for_each_other(lake: Lake) -> None:
    async def both() -> None:
        here = GpuLock(lake, "here")
        await here.take()
        await GpuLock(lake, "elsewhere", pool="remote").take(seconds=0)

    asyncio.run(both())


def test_checking_for_a_reservation_takes_microseconds(lake: Lake) -> None:
    gpu = GpuLock(lake, "batch")
    best = 1.0
    for _ in range(5):
        started = perf_counter()
        for _ in range(1000):
            gpu.is_reserved()
        best = min(best, (perf_counter() - started) / 1000)
    assert best < 50e-6
