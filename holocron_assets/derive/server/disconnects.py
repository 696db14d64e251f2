"""A request's body, within bounds, and work that stops when the client has gone."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

MOST_BYTES = 16 * 1024 * 1024
"""Most bytes of a request's body; the longest prompt that fits into a context has a few hundred KB."""

SECONDS_TO_SEND = 30.0
"""The most time for the whole body, so that a very slow client does not hold a connection for ever."""

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """The client no longer waits for the answer."""


async def body_of(request: Request) -> bytes:
    """A request's whole body.

    Raises:
        HTTPException: it is too large, or takes too long.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(SECONDS_TO_SEND):
            async for some in request.stream():
                body += some
                if len(body) > MOST_BYTES:
                    problem = f"the request body is larger than {MOST_BYTES // 1024**2} MiB"
                    raise HTTPException(413, problem, headers={"Connection": "close"})
    except TimeoutError as error:
        raise HTTPException(408, "the request body took too long", headers={"Connection": "close"}) from error
    return bytes(body)


async def unless_gone(request: Request, work: Awaitable[Result]) -> Result:
    """Do some work for a request whose body was read, and stop when the client goes.

    Raises:
        ClientGoneError: the client went first; the work was cancelled, and has ended.
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
