"""Asynchronous work for a synchronous caller: the caller gets its reports, and it ends with the caller."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from holocron_assets.telemetry.context import carried

_Report = TypeVar("_Report")
_Result = TypeVar("_Result")
_Running = tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any]"]


class _Over:
    """Marks the end of the reports."""


def reports_of(
    work: Callable[[Callable[[_Report], None]], Coroutine[Any, Any, _Result]],
) -> Generator[_Report, None, _Result]:
    """Run a coroutine in an event loop of its own thread, and yield each report as soon as it comes.

    The loop goes on while the caller is busy with a report. When the caller is interrupted, or closes
    the generator, the coroutine is cancelled and waited for.

    Args:
        work: returns the coroutine; its argument is a function that reports to the caller, from any thread.

    Returns:
        The coroutine's result.
    """
    reports: SimpleQueue[_Report | _Over] = SimpleQueue()
    running: Future[_Running] = Future()

    async def run() -> _Result:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs is in a task
        running.set_result((asyncio.get_running_loop(), task))
        return await work(reports.put)

    with ThreadPoolExecutor(1, "model") as thread:
        result = thread.submit(carried(asyncio.run), run())
        result.add_done_callback(lambda _: reports.put(_Over()))
        try:
            while not isinstance(one := reports.get(), _Over):
                yield one
        except BaseException:
            loop, task = running.result()
            if not result.done():
                loop.call_soon_threadsafe(task.cancel)
            raise
        return result.result()
