"""Waiting that ends early when work has to stop."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

_T = TypeVar("_T")


class StoppedError(Exception):
    """A call was cancelled because work has to stop."""


async def unless_stopped(asking: Awaitable[_T], stop: asyncio.Event | None) -> _T:
    """Wait for an answer, or for the event: then what is under way is cancelled, and its connection closed.

    Raises:
        StoppedError: the event was set first.
    """
    if stop is None:
        return await asking
    call, stopping = asyncio.ensure_future(asking), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({call, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if call.done():
            return call.result()
        raise StoppedError
    finally:
        call.cancel()
        stopping.cancel()
        await asyncio.gather(call, stopping, return_exceptions=True)


async def slept(seconds: float, stop: asyncio.Event | None) -> bool:
    """Wait; say whether the whole time passed without the event."""
    try:
        await unless_stopped(asyncio.sleep(seconds), stop)
    except StoppedError:
        return False
    return True
