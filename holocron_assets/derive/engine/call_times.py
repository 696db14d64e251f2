"""How long a call may take: its time runs only once the server can be at work on it."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from holocron_assets.errors import PermanentError


def server_slots() -> int:
    """Calls that the server works on at once (OLLAMA_NUM_PARALLEL, or 1).

    Raises:
        PermanentError: the variable is no whole number.
    """
    value = os.environ.get("OLLAMA_NUM_PARALLEL") or "1"
    if not value.isdecimal():
        raise PermanentError(f"OLLAMA_NUM_PARALLEL is {value!r}; it must be a whole number")
    return max(1, int(value))  # with 0, an Ollama chooses


def calls_at_once() -> int:
    """Calls to have under way at once: one more than the server's slots.

    So the next is at hand when a slot has done its own.
    """
    return server_slots() + 1


class CallTimes:
    """The times of the calls of one event loop that are under way, the longest under way first.

    More calls than the server has slots are sent, so that a slot has the next one at hand. Such a call waits
    in the server's line, and the time that others take is not its own.
    """

    def __init__(self) -> None:
        """No call is under way."""
        self._under_way: list[tuple[asyncio.Timeout, float]] = []

    @asynccontextmanager
    async def limited(self, seconds: float) -> AsyncIterator[None]:
        """Make one call in this block.

        Args:
            seconds: how long it may take, from when a slot is free of the calls that were sent before it.

        Raises:
            TimeoutError: it took longer.
        """
        async with asyncio.timeout(None) as limit:
            call = (limit, seconds)
            self._under_way.append(call)
            self._start_clocks()
            try:
                yield
            finally:
                self._under_way.remove(call)
                self._start_clocks()

    def _start_clocks(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit, seconds in self._under_way[: server_slots()]:
            if limit.when() is None:
                limit.reschedule(now + seconds)
