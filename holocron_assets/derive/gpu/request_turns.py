"""When a request may be sent: a slot is free, this process has the GPU, and no question goes first."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from holocron_assets.derive.gpu.slots import GpuLock


class RequestTurns:
    """Lets one process send its requests to one model, when each may be sent.

    Attributes:
        slots: requests that may be under way at once.
        passed: questions of other processes that went first.
    """

    def __init__(self, gpu: GpuLock, slots: int, *, prepare: Callable[[], Awaitable[None]]) -> None:
        """Serve one event loop.

        Args:
            gpu: the lock; taken at the first request.
            slots: requests that may be under way at once.
            prepare: awaited whenever this process takes the GPU: another may have used it meanwhile.
        """
        self.slots = slots
        self.passed = 0
        self._gpu = gpu
        self._prepare = prepare
        self._free = asyncio.Semaphore(slots)
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._passing = asyncio.Lock()
        self._has_gpu = False

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Send one request in this block.

        Raises:
            SlotTakenError: another process has the GPU, and does not release it.
        """
        async with self._free:
            await self._have_gpu()
            self._under_way += 1
            self._idle.clear()
            try:
                yield
            finally:
                self._under_way -= 1
                if not self._under_way:
                    self._idle.set()

    def close(self) -> None:
        """Release the GPU."""
        self._gpu.give_back()
        self._has_gpu = False

    async def _have_gpu(self) -> None:
        while not self._has_gpu or self._passing.locked() or self._gpu.is_reserved():
            async with self._passing:
                if not self._has_gpu:
                    await self._gpu.take()
                elif self._gpu.is_reserved():
                    await self._idle.wait()
                    self._has_gpu = False
                    await self._gpu.let_pass()
                    self.passed += 1
                else:
                    continue
                await self._prepare()
                self._has_gpu = True
