"""Working on what one model has to do: as many requests under way as the server takes, until it is enough.

What comes next is prepared in a thread, and what is done is written in others, so that the model waits for
neither. A person's question goes between two requests. Every outcome is in its partition's journal before the
next request is sent, so whatever ends this loses the calls under way and nothing else.
"""

import asyncio
from asyncio import Queue, TaskGroup
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from holocron_assets.derive.engine import Engine, Outcome
from holocron_assets.derive.gpu_log import Tally
from holocron_assets.derive.items import Item
from holocron_assets.derive.slots import GpuLock, SlotTakenError
from holocron_assets.derive.turns import OpenPartition, Step
from holocron_assets.lake.footers import Footer

PREPARED = 16
"""Items that are ready to be asked about, waiting for the model."""

_ASKERS_MORE = 2
"""Items in hand beyond those that the server answers: they are being written, or wait to be tried again."""

_Queue = Queue[tuple[OpenPartition, Item] | None]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Written:
    """A partition whose outcomes were written to the lake.

    Attributes:
        opened: the partition, with its counts.
        footer: of the interrogation's table; None while answers lack.
    """

    opened: OpenPartition
    footer: Footer | None


class _HaltError(Exception):
    """Ends the work: the server, not an item, is at fault."""

    def __init__(self, problem: Exception) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass
class Working:
    """The work on one model's items.

    Attributes:
        engine: asks the model.
        gpu: held while calls are under way.
        model: the model's name.
        digest: the model's digest.
        run_id: of the run that works.
        tell: told each partition that was written, from another thread than the caller's.
        tally: what it came to so far.
        problem: why it could not go on; None if it could.
    """

    engine: Engine
    gpu: GpuLock
    model: str
    digest: str
    run_id: str
    tell: Callable[[Written], None]
    tally: Tally = field(default_factory=Tally)
    problem: Exception | None = None
    _under_way: int = 0
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _passing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _has_gpu: bool = False

    async def work(self, steps: Iterator[Step]) -> None:
        """Ask about every item that `steps` gives. When cancelled, calls under way are given up.

        A server that is gone, lacks the model or has no memory for it ends the work: see `problem`.
        """
        self._idle.set()
        slots = await self.engine.slots(self.model)
        self._slots = asyncio.Semaphore(slots)
        # One thread writes the journals, so that outcomes of one partition do not mix.
        self._journals = ThreadPoolExecutor(1, "journals")
        try:
            await self._ask_about_all(steps, askers=slots + _ASKERS_MORE)
        except BaseExceptionGroup as errors:
            self.problem = _halted_by(errors)
        finally:
            self.gpu.give_back()
            self._journals.shutdown()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A request's turn: a slot of the server is free, and no question is to go first."""
        async with self._slots:
            await self._have_gpu()
            self._under_way += 1
            self._idle.clear()
            try:
                yield
            finally:
                self._under_way -= 1
                if not self._under_way:
                    self._idle.set()

    async def _have_gpu(self) -> None:
        """Have the GPU, once a question that it was reserved for is answered."""
        while not self._has_gpu or self._passing.locked() or self.gpu.is_reserved():
            async with self._passing:
                try:
                    if not self._has_gpu:
                        await self.gpu.take()
                        self._has_gpu = True
                    elif self.gpu.is_reserved():
                        await self._idle.wait()
                        await self.gpu.let_pass()
                except SlotTakenError as error:
                    raise _HaltError(error) from error

    async def _ask_about_all(self, steps: Iterator[Step], *, askers: int) -> None:
        queue: _Queue = Queue(PREPARED)
        async with TaskGroup() as tasks:
            for _ in range(askers):
                tasks.create_task(self._ask(queue, tasks))
            while step := await asyncio.to_thread(next, steps, None):
                opened, item = step
                if item is not None:
                    opened.under_way += 1
                    await queue.put((opened, item))
                else:
                    opened.is_all_out = True
                    self._write_if_done(opened, tasks)
            for _ in range(askers):
                await queue.put(None)

    async def _ask(self, queue: _Queue, tasks: TaskGroup) -> None:
        while step := await queue.get():
            opened, item = step
            attempt = await self._in_journal(opened.work.start, item)
            try:
                outcome = await self.engine.answer(
                    item, model=self.model, digest=self.digest, attempt=attempt
                )
            except BaseException:
                # Not awaited: who is cancelled has no time to wait.
                self._journals.submit(opened.work.abandon, item)
                raise
            await self._in_journal(opened.work.record, item, outcome)
            self._count(opened, outcome)
            if outcome.problem:
                raise _HaltError(outcome.problem)
            opened.under_way -= 1
            self._write_if_done(opened, tasks)

    def _write_if_done(self, opened: OpenPartition, tasks: TaskGroup) -> None:
        if opened.is_all_out and not opened.under_way:
            tasks.create_task(self._write(opened))

    async def _write(self, opened: OpenPartition) -> None:
        footer = await asyncio.to_thread(opened.work.publish, self.run_id)
        opened.lock.release()
        self.tally.calls_saved += opened.work.calls_saved
        self.tally.partitions_completed += footer is not None
        self.tell(Written(opened, footer))

    def _count(self, opened: OpenPartition, outcome: Outcome) -> None:
        for call in outcome.calls:
            self.tally.count_call(call)
        if outcome.counts:
            self.tally.items[opened.work.interrogation.name] += 1
            self.tally.failed_items += outcome.status != "ok"

    async def _in_journal(self, write: Callable[..., _Result], *arguments: Any) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._journals, write, *arguments)


def _halted_by(errors: BaseExceptionGroup[BaseException]) -> Exception:
    """What halted the work.

    Raises:
        BaseException: another error than a halt, if there is one.
    """
    halts, others = errors.split(_HaltError)
    for error in _leaves(others):
        raise error
    return next(error.problem for error in _leaves(halts) if isinstance(error, _HaltError))


def _leaves(errors: BaseException | None) -> Iterator[BaseException]:
    if isinstance(errors, BaseExceptionGroup):
        for error in errors.exceptions:
            yield from _leaves(error)
    elif errors:
        yield errors
