"""The limits of one host, shared by every process on the machine: rate, requests under way, holds.

All state is in one folder, which must be on a local disk. Machines that share a lake keep it in PostgreSQL.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Semaphore
from types import TracebackType
from typing import NamedTuple, Self

from holocron_assets.crawl.errors import HostBusy
from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.rules import Decision, Obstacle, permit
from holocron_assets.crawl.politeness.shared_state import (
    ServerSlots,
    ServerState,
    SharedState,
    Slots,
    folder_of,
)
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.shared.places import shared_server

LONGEST_QUEUE_SECONDS = 300.0
"""Longest wait for rate and slot in which no other request of ours is sent: a longer one fails the run."""

_POLL_SECONDS = 0.02
_LONGEST_SPACING_SECONDS = 86_400.0
_OTHERS = Obstacle("slot", _POLL_SECONDS, "others of us are asking it")
"""All slots are taken, by other processes too."""


@dataclass(frozen=True)
class Turn:
    """Permission to send one request.

    Attributes:
        waited_seconds: time waited for rate and slot, and until the host might be asked.
        held_seconds: the part of this time in which the host was left alone.
    """

    waited_seconds: float
    held_seconds: float


class _Standing(NamedTuple):
    slot: int | None
    """The slot taken, which permits one request; None if an obstacle is in the way."""
    obstacle: Obstacle
    looked_at: float
    spaced_until: float
    """It moves on with each request that is sent to the host."""


class HostLimits:
    """The limits of one host. A context manager, safe to use from several threads.

    Attributes:
        host: host and port.
        politeness: the limits set for it.
        folder: what all processes share about it.
    """

    def __init__(
        self,
        host: str,
        politeness: Politeness,
        state_folder: Path,
        *,
        queue_seconds: float = LONGEST_QUEUE_SECONDS,
        patience_seconds: float = math.inf,
    ) -> None:
        """Open the state that is shared under `state_folder`, and make it if it is new.

        Args:
            host: host and port.
            politeness: the limits set for it.
            state_folder: holds a folder for each host.
            queue_seconds: longest wait for rate and slot in which no other request of ours is sent: a longer
                one means that something is stuck.
            patience_seconds: after this time, from now, no request is sent any more.
        """
        self.host = host
        self.politeness = politeness
        self.folder = folder_of(host, state_folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._queue_seconds = queue_seconds
        self._closes_at = time.monotonic() + patience_seconds
        # Of this process, as many threads as there are slots look for one; others need no look at the disk.
        self._looking = Semaphore(politeness.requests_in_flight)
        self._shared, self._slots = _memory(host, self.folder, politeness.requests_in_flight)

    def __enter__(self) -> Self:
        """Return the limits themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what is shared."""
        self._slots.close()
        self._shared.close()

    def space_out(self, seconds: float) -> None:
        """Let at least `seconds` pass between two requests, but at most a day."""
        rate = 1 / max(min(seconds, _LONGEST_SPACING_SECONDS), 1e-3)
        if rate < self.politeness.requests_per_second:
            self.politeness = self.politeness.model_copy(update={"requests_per_second": rate, "burst": 1})

    def seconds_to_wait(self) -> float:
        """Longest wait for other processes of ours: at most the rest of the patience."""
        return min(self._queue_seconds, max(self._closes_at - time.monotonic(), 0.0))

    @contextmanager
    def turn(self, max_hold_seconds: float = 10.0) -> Iterator[Turn]:
        """Wait until a request may be sent, and hold its slot until the block ends.

        A waiting process holds no slot and no lock.

        Args:
            max_hold_seconds: longest sleep for a host that must be left alone.

        Raises:
            HostBusy: the host must be left alone for longer, no slot came free, or the patience is over.
        """
        started, longest = time.monotonic(), self.seconds_to_wait()
        if longest == 0.0:
            raise HostBusy(self.host, "the time to ask it is over for now", utc_now(), "slot")
        if not self._looking.acquire(timeout=longest):
            raise self._queued_too_long(longest, _OTHERS, utc_now())
        try:
            slot, held = self._slot(started, longest, max_hold_seconds)
            try:
                yield Turn(time.monotonic() - started, held)
            finally:
                self._slots.free(slot)
        finally:
            self._looking.release()

    def _slot(self, started: float, longest: float, max_hold_seconds: float) -> tuple[int, float]:
        """Wait until a request may be sent; return its slot, and how long the host was left alone.

        Raises:
            HostBusy: that would take too long.
        """
        held = quiet_from = 0.0
        rest = max(self._closes_at - started, 0.0)
        last_seen = None
        while True:
            slot, obstacle, looked_at, spaced_until = self._standing_now()
            if slot is not None:
                return slot, held
            due_at = datetime.fromtimestamp(looked_at + obstacle.wait_seconds, UTC)
            waited = time.monotonic() - started - held
            if last_seen not in (None, spaced_until):  # another of ours had its turn: nothing is stuck
                quiet_from = waited
            last_seen = spaced_until
            if obstacle.hindrance in {"rate", "slot"}:
                until_sent = waited + obstacle.wait_seconds
                if until_sent - quiet_from > self._queue_seconds or until_sent > rest:
                    raise self._queued_too_long(longest, obstacle, due_at)
            else:
                held += obstacle.wait_seconds
                if held > min(max_hold_seconds, longest):
                    raise HostBusy(self.host, obstacle.reason, due_at, obstacle.hindrance)
            time.sleep(obstacle.wait_seconds)

    def _queued_too_long(self, longest: float, obstacle: Obstacle, due_at: datetime) -> HostBusy:
        reason = f"no request may be sent within {longest:.3g} s: {obstacle.reason}"
        return HostBusy(self.host, reason, due_at, obstacle.hindrance)

    def now(self) -> float:
        """The time by the clock that the host's state uses, in seconds since 1970."""
        return self._shared.now()

    def state(self) -> HostState:
        """What all processes know of the host."""
        with self._shared.locked():
            return self._shared.read()

    def learn(self, judge: Callable[[HostState], Decision]) -> Decision:
        """Let `judge` decide by what is known of the host, and share the new state."""
        with self._shared.locked():
            decision = judge(self._shared.read())
            self._shared.write(decision.state)
        return decision

    def _standing_now(self) -> _Standing:
        """Check whether a request may be sent now; if so, take a slot and count the request."""
        with self._shared.locked():
            state = self._shared.read()
            now = self._shared.now()
            found = permit(state, self.politeness, now)
            most = 1 if found.one_at_a_time else self.politeness.requests_in_flight
            slot = None if found.obstacle else self._slots.take(most)
            self._shared.write(found.state if slot is None else found.state_once_sent)
        return _Standing(slot, found.obstacle or _OTHERS, now, state.pace.spaced_until)


def _memory(host: str, folder: Path, slots: int) -> tuple[SharedState | ServerState, Slots | ServerSlots]:
    """The shared state of a host: in files, or in PostgreSQL where machines share a lake."""
    if server := shared_server():
        return ServerState(server, host), ServerSlots(server, host, slots)
    return SharedState(folder), Slots(folder, slots)
