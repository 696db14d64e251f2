"""Noticing that whoever asked has gone."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import Request

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def unless_gone(request: Request, work: Awaitable[Result]) -> Result:
    """Do some work for a request whose body was read, and stop when its sender goes.

    Raises:
        ClientGoneError: the sender went first; the work was cancelled, and has ended.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGoneError
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
