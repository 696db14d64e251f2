"""Work on one model's items, with as many requests under way as the server takes, until the work is to end.

One thread prepares the next items, and others write results, so that the model waits for neither. A person's
question goes between two requests. Every outcome is in its partition's journal before the next request is
sent, so an interruption loses only the calls under way.
"""

import asyncio
from asyncio import Queue, TaskGroup
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.gpu.gpu_log import Tally
from holocron_assets.derive.gpu.open_partitions import OpenPartition
from holocron_assets.derive.gpu.turns import Step
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item
from holocron_assets.derive.results.answer_tables import UNANSWERED
from holocron_assets.errors import PermanentError, TransientError
from holocron_assets.lake.files.footers import Footer
from holocron_assets.telemetry.context import carried

PREPARED = 16
"""The most items that are ready and wait for the model."""

WRITE_SECONDS = 30.0
"""While answers come, tables are written this often, so that each answer can be seen within a minute."""

_ASKERS_MORE = 2
"""Items under way beyond those that the server answers: they are being written, or wait for another try."""

_Queue = Queue[tuple[OpenPartition, Item] | None]
_Result = TypeVar("_Result")


class Answerer(Protocol):
    """Answers items."""

    async def answer(self, item: Item, *, model: str, digest: str, attempt: int) -> Outcome:
        """The outcome of one attempt at an item (see `Engine.answer`)."""
        ...


class Turns(Protocol):
    """Limits the calls that are under way at once.

    Attributes:
        slots: how many may be.
        passed: questions of other processes that went first.
    """

    slots: int
    passed: int


@dataclass(frozen=True)
class Written:
    """A partition whose outcomes were written to the lake.

    Attributes:
        opened: the partition, with its counts.
        footer: of the interrogation's table, if its file was replaced; it may lack answers.
        remaining: items without an outcome: in that file, or else now.
        is_over: whether this work on the partition has ended; otherwise it may be written again.
    """

    opened: OpenPartition
    footer: Footer | None
    remaining: int
    is_over: bool

    @property
    def is_complete(self) -> bool:
        """Whether every item had an answer, or was given up."""
        return not self.remaining


@dataclass
class Working:
    """The work on one model's items.

    Attributes:
        engine: asks the model.
        turns: limits its requests.
        model: the model's name.
        digest: the model's digest.
        run_id: the id of the run.
        report: called with each partition when its table's file was replaced, and when its work is over;
            from another thread than the caller's.
        is_paused: whether to leave a partition for now; called with its interrogation and its name.
        tally: its figures so far.
        problem: why it could not go on; None if it could.
    """

    engine: Answerer
    turns: Turns
    model: str
    digest: str
    run_id: str
    report: Callable[[Written], None]
    is_paused: Callable[[Interrogation, str], bool] = lambda _interrogation, _partition: False
    tally: Tally = field(default_factory=Tally)
    problem: Exception | None = None
    _unwritten: set[OpenPartition] = field(default_factory=set)

    async def work(self, steps: Iterator[Step]) -> None:
        """Ask about every item that `steps` gives. If it is cancelled, calls under way are dropped.

        A server that is gone, lacks the model or has no memory for it ends the work: see `problem`.
        """
        # One thread writes the journals, so that outcomes of one partition do not mix; another the tables.
        with (
            ThreadPoolExecutor(1, "journals") as self._journals,
            ThreadPoolExecutor(1, "tables") as self._tables,
        ):
            try:
                async with TaskGroup() as tasks:
                    writing = tasks.create_task(self._write_now_and_then())
                    await self._ask_about_all(steps, askers=self.turns.slots + _ASKERS_MORE)
                    writing.cancel()
            except BaseExceptionGroup as errors:
                self.problem = _halted_by(errors)
                await self._in_thread(self._journals, lambda: None)  # dropped calls are recorded by now
                for opened in list(self._unwritten):
                    await self._write(opened)

    async def _ask_about_all(self, steps: Iterator[Step], *, askers: int) -> None:
        queue: _Queue = Queue(PREPARED)
        async with TaskGroup() as tasks:
            for _ in range(askers):
                tasks.create_task(self._ask(queue, tasks))
            while step := await asyncio.to_thread(next, steps, None):
                opened, item = step
                if item is not None:
                    if opened not in self._unwritten:
                        tasks.create_task(self._begin(opened))
                    self._unwritten.add(opened)
                    opened.under_way += 1
                    await queue.put((opened, item))
                else:
                    self._unwritten.add(opened)
                    opened.is_all_out = True
                    self._write_if_done(opened, tasks)
            for _ in range(askers):
                await queue.put(None)

    async def _begin(self, opened: OpenPartition) -> None:
        """Write what an earlier run left in the journal, and what needs no request."""
        await self._in_thread(self._journals, opened.work.give_up_what_cannot_be_asked)
        await self._write_so_far(opened)

    async def _write_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            for opened in list(self._unwritten):
                await self._write_so_far(opened)

    async def _ask(self, queue: _Queue, tasks: TaskGroup) -> None:
        while step := await queue.get():
            opened, item = step
            await self._ask_about(opened, item)
            opened.under_way -= 1
            self._write_if_done(opened, tasks)

    def _start(self, opened: OpenPartition, item: Item) -> int | None:
        """Record that an attempt begins, and return which; None if the item is not to be asked about now.

        A question that went first may have answered it, or somebody may have paused it meanwhile. One thread
        checks and records, so that no limit is passed by items that begin at once.
        """
        work = opened.work
        if self.is_paused(work.interrogation, work.partition):
            return None
        if opened.passed < self.turns.passed:
            opened.passed = self.turns.passed
            work.catch_up()
        return work.start(item) if work.is_open(item) else None

    async def _ask_about(self, opened: OpenPartition, item: Item) -> None:
        try:
            attempt = await self._in_thread(self._journals, self._start, opened, item)
            if attempt is None:
                return
            outcome = await self.engine.answer(item, model=self.model, digest=self.digest, attempt=attempt)
        except BaseException:
            # Not awaited: a cancelled task has no time to wait.
            self._journals.submit(opened.work.abandon, item)
            raise
        await self._in_thread(self._journals, opened.work.record, item, outcome)
        self.tally.count(opened.work.interrogation.name, outcome)
        if outcome.problem:
            raise outcome.problem

    def _write_if_done(self, opened: OpenPartition, tasks: TaskGroup) -> None:
        if opened.is_all_out and not opened.under_way:
            tasks.create_task(self._write(opened))

    async def _write_so_far(self, opened: OpenPartition) -> None:
        """Write the new results of a partition under way, unless all of it was written."""

        def write() -> Written | None:
            if opened not in self._unwritten:
                return None
            footer = opened.work.publish_so_far(self.run_id)
            return written(opened, footer, is_over=False) if footer else None

        if one := await self._in_thread(self._tables, write):
            self._report(one)

    async def _write(self, opened: OpenPartition) -> None:
        footer = await self._in_thread(self._tables, opened.work.publish, self.run_id)
        opened.lock.release()
        opened.is_over = True
        self.tally.calls_saved += opened.work.calls_saved
        self._unwritten.discard(opened)
        self._report(written(opened, footer, is_over=True))

    def _report(self, one: Written) -> None:
        self.tally.partitions_completed += one.footer is not None and one.is_complete
        self.report(one)

    async def _in_thread(
        self, thread: ThreadPoolExecutor, write: Callable[..., _Result], *arguments: Any
    ) -> _Result:
        writing = asyncio.get_running_loop().run_in_executor(thread, carried(write), *arguments)
        return await asyncio.shield(writing)  # answers are written even if this task is cancelled


def written(opened: OpenPartition, footer: Footer | None, *, is_over: bool) -> Written:
    """A partition that was written, with the items left by its file, or else by the partition now."""
    remaining = int(footer.inputs.get(UNANSWERED, 0)) if footer else opened.work.remaining
    return Written(opened, footer, remaining, is_over=is_over)


def _halted_by(errors: BaseExceptionGroup[BaseException]) -> Exception:
    """The error that halted the work.

    Raises:
        BaseException: another error than a halt, if there is one.
    """
    halts, others = errors.split((PermanentError, TransientError))
    for error in _leaves(others):
        raise error
    return next(error for error in _leaves(halts) if isinstance(error, Exception))


def _leaves(errors: BaseException | None) -> Iterator[BaseException]:
    if isinstance(errors, BaseExceptionGroup):
        for error in errors.exceptions:
            yield from _leaves(error)
    elif errors:
        yield errors
