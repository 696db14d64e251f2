"""Bodies of any length, which go to a receiver as they come: memory holds two blocks of each."""

import asyncio
from asyncio import Future, Timeout
from collections.abc import AsyncIterable, Mapping
from typing import Protocol

BLOCK_BYTES = 256 * 1024
"""Bytes that a receiver gets at once. A shorter body is one block, which costs no change of thread."""

SLOWEST_BYTES_PER_SECOND = 4096
"""A body that comes more slowly is given up once its first deadline has passed."""

PEEKED_BYTES = 100_000
"""Bytes of a body that nobody wants, at most: enough to see what a page for people says."""


class Receiver(Protocol):
    """Takes one answer, and its body in blocks."""

    def begins(self, status: int, headers: Mapping[str, str]) -> bool:
        """Note status and headers, and say whether the body is wanted. Must not wait for anything."""
        ...

    def take(self, block: bytes) -> bool:
        """Take the next bytes, in a thread where waiting does no harm; return whether more is wanted."""
        ...


class ReceiverFailedError(Exception):
    """A receiver could not store a block; its cause says why. No server is to blame."""


class Pouring:
    """One body on its way into a receiver.

    Attributes:
        received: bytes that came so far, as they are on the wire.
    """

    def __init__(self, receiver: Receiver) -> None:
        """Pour into `receiver`."""
        self.received = 0
        self._receiver = receiver
        self._waiting = bytearray()
        self._is_wanted = True

    async def pour(self, parts: AsyncIterable[bytes], timer: Timeout) -> bool:
        """Hand over block after block while the next one comes; the last bytes wait for `take_rest`.

        Args:
            parts: the body's bytes as they come.
            timer: the request's deadline, which moves on with the bytes.

        Returns:
            Whether the body was read to its end: a receiver may have had enough.

        Raises:
            ReceiverFailedError: the receiver failed.
        """
        begins_at, loop = timer.when(), asyncio.get_running_loop()
        taking: Future[None] | None = None
        try:
            async for part in parts:
                self.received += len(part)
                self._waiting += part
                if begins_at is not None:
                    timer.reschedule(begins_at + self.received / SLOWEST_BYTES_PER_SECOND)
                if len(self._waiting) >= BLOCK_BYTES:
                    if taking:
                        await taking
                    if not self._is_wanted:
                        return False
                    block, self._waiting = bytes(self._waiting), bytearray()
                    taking = loop.run_in_executor(None, self._take, block)
        finally:
            if taking:
                await asyncio.wait({taking})  # also if this task is cancelled: blocks must stay in order
        if taking:
            await taking
        return True

    def take_rest(self) -> None:
        """Hand over the last bytes, in the caller's thread; also those before a connection broke.

        Raises:
            ReceiverFailedError: the receiver failed.
        """
        block, self._waiting = bytes(self._waiting), bytearray()
        if block and self._is_wanted:
            self._take(block)

    def _take(self, block: bytes) -> None:
        try:
            self._is_wanted = self._receiver.take(block)
        except Exception as error:
            self._is_wanted = False
            raise ReceiverFailedError from error


async def peek(parts: AsyncIterable[bytes]) -> bytes:
    """The start of a body that nobody wants."""
    start = bytearray()
    async for part in parts:
        start += part
        if len(start) >= PEEKED_BYTES:
            break
    return bytes(start[:PEEKED_BYTES])
