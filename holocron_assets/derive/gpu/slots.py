"""Locks: only one process calls the model server at a time, and a person's question goes in between.

The lock and the reservation are free as soon as the process that held them is dead. A note next to each names
the holder, for messages. Machines that share a lake share them too.
"""

import asyncio
import json
import os
import platform
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from filelock import Timeout

from holocron_assets.errors import TransientError
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

GPU_POOL = "gpu"
"""Pool of what runs on this machine's GPU, or on its CPU where there is none."""

RESERVATION_SECONDS = 600.0
"""A reservation ends by itself after so long: the process that made it may hang."""

_POLL_SECONDS = 0.05
_UNKNOWN = "another process"
_PROBE_SECONDS = 0.5  # a check whether a lock is held holds it for a moment


def place_of(pool: str, model: str) -> str:
    """The name of the place that a process must hold to ask a model: the GPU, or a model of another pool.

    Args:
        pool: the model's pool.
        model: its name.
    """
    return pool if pool == GPU_POOL else f"{pool}-{content_hash(model)[:12]}"


@dataclass(frozen=True)
class Holder:
    """The holder of a lock.

    Attributes:
        what: what it holds the lock for.
        process: process id.
        since: since when.
        machine: host name of the machine of the process; empty if its note does not say it.
    """

    what: str
    process: int
    since: datetime
    machine: str = ""

    def __str__(self) -> str:
        """The holder in words, for people. Its machine is named if it is another than this one."""
        where = f" on {self.machine}" if self.machine not in {"", platform.node()} else ""
        return f"{self.what} (process {self.process}{where}, since {self.since:%H:%M:%S} UTC)"


class SlotTakenError(TransientError):
    """Another process may call the model server for now; the message names it."""


class NotedLock:
    """A lock, and a note next to it that names its holder.

    Attributes:
        note: the note; there while the lock is held, and after its holder was killed.
    """

    def __init__(self, lake: Lake, name: str) -> None:
        """Name a lock of a lake without taking it."""
        self.note = lake.note(f"{name}.json")
        self._lock = lake.lock(name)

    def try_take(self, what: str, *, seconds: float = 0) -> bool:
        """Take the lock if it is free within some seconds; return whether it was."""
        try:
            self._lock.acquire(timeout=seconds)
        except Timeout:
            return False
        since = utc_now().isoformat()
        holder = {"what": what, "process": os.getpid(), "since": since, "machine": platform.node()}
        self.note.write(json.dumps(holder))
        return True

    def give_back(self) -> None:
        """Give the lock back, if it is held."""
        if self._lock.is_locked:
            self.note.remove()
            self._lock.release(force=True)

    def is_held(self) -> bool:
        """Whether a living process holds the lock. The note of a dead one is removed."""
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return True
        self.note.remove()
        self._lock.release()
        return False

    def holder(self) -> Holder | None:
        """The holder by the note; None if there is no note, or it is being written."""
        try:
            note = json.loads(self.note.read() or "")
            since = datetime.fromisoformat(note["since"])
            return Holder(note["what"], note["process"], since, note.get("machine", ""))
        except ValueError:
            return None


class GpuLock:
    """The right to have calls under way, which one process has at a time.

    A process that holds it for long asks `is_reserved` before each new request, and if so calls `let_pass`.
    """

    def __init__(self, lake: Lake, what: str, *, pool: str = GPU_POOL) -> None:
        """Name the lock of a lake's pool without taking it; `what` names its holder."""
        self._what = what
        self._lock = NotedLock(lake, f"gpu-{pool}")
        self._reservation = NotedLock(lake, f"gpu-{pool}-reserved")
        self._seen: Hashable | None = None
        self._seen_at = 0.0

    def is_reserved(self) -> bool:
        """Whether another process waits to ask a question. It takes as long as trying a lock, at most.

        A reservation counts for `RESERVATION_SECONDS` from when it is first seen, and no longer than the
        process that made it lives.
        """
        mark = self._reservation.note.mark()
        if mark is None:
            return False
        if mark != self._seen:
            self._seen, self._seen_at = mark, monotonic()
        return monotonic() - self._seen_at < RESERVATION_SECONDS and self._reservation.is_held()

    async def take(self, *, seconds: float = RESERVATION_SECONDS) -> None:
        """Wait for the lock; reservations go first.

        Raises:
            SlotTakenError: it was not free within `seconds`; the message names the holder.
        """
        await self._wait(lambda: not self.is_reserved() and self._lock.try_take(self._what), seconds)

    def give_back(self) -> None:
        """Give the lock back, if it is held."""
        self._lock.give_back()

    async def let_pass(self) -> None:
        """Give the lock to the process that reserved it, and wait until it is free again.

        No call may be under way.

        Raises:
            SlotTakenError: it was not given back in time; see `take`.
        """
        self.give_back()
        # The time of a reservation, and the same again for one that was made meanwhile.
        await self.take(seconds=2 * RESERVATION_SECONDS)

    @asynccontextmanager
    async def reserved(self) -> AsyncIterator[None]:
        """Hold the lock as soon as the calls under way have ended. No process sends new calls meanwhile.

        Raises:
            SlotTakenError: there is another reservation, or calls under way do not end; names the holder.
            TimeoutError: the block took longer than a reservation lasts. It was cancelled.
        """
        if not self._reservation.try_take(self._what, seconds=_PROBE_SECONDS):
            holder = self._reservation.holder() or _UNKNOWN
            raise SlotTakenError(f"one question at a time: {holder} goes first; ask again when it is done")
        try:
            async with asyncio.timeout(RESERVATION_SECONDS):
                await self._wait(lambda: self._lock.try_take(self._what), RESERVATION_SECONDS / 2)
                yield
        finally:
            self.give_back()
            self._reservation.give_back()

    async def _wait(self, try_take: Callable[[], bool], seconds: float) -> None:
        deadline = monotonic() + seconds
        while not try_take():
            if monotonic() > deadline:
                holder = self._lock.holder() or self._reservation.holder() or _UNKNOWN
                raise SlotTakenError(f"{holder} uses the model server and did not end within {seconds:.0f} s")
            await asyncio.sleep(_POLL_SECONDS)
