"""Asynchronous work beside a caller that is not: what it tells is given on; it ends when the caller does."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from holocron_assets.telemetry.context import carried

_Told = TypeVar("_Told")
_Result = TypeVar("_Result")
_Running = tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any]"]


class _Over:
    """Told at last."""


def told_by(
    work: Callable[[Callable[[_Told], None]], Coroutine[Any, Any, _Result]],
) -> Generator[_Told, None, _Result]:
    """Run a coroutine in an event loop of its own thread, and give what it tells as soon as it is told.

    The loop goes on while the caller is busy with what was told. When the caller is interrupted, or closes
    the generator, the coroutine is cancelled and waited for.

    Args:
        work: gives the coroutine; it is handed what to tell by, from any thread.

    Returns:
        What the coroutine returns.
    """
    told: SimpleQueue[_Told | _Over] = SimpleQueue()
    running: Future[_Running] = Future()

    async def run() -> _Result:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs is in a task
        running.set_result((asyncio.get_running_loop(), task))
        return await work(told.put)

    with ThreadPoolExecutor(1, "model") as thread:
        result = thread.submit(carried(asyncio.run), run())
        result.add_done_callback(lambda _: told.put(_Over()))
        try:
            while not isinstance(one := told.get(), _Over):
                yield one
        except BaseException:
            loop, task = running.result()
            if not result.done():
                loop.call_soon_threadsafe(task.cancel)
            raise
        return result.result()
