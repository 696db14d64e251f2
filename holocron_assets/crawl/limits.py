"""The limits of one host, shared by every process on the machine: rate, requests in flight, holds.

All state lies in one folder and is guarded by locks of the operating system, which a killed process cannot
leave behind. The folder must be on a local disk.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, cast
from urllib.parse import quote

from filelock import BaseFileLock, FileLock, Timeout
from pyrate_limiter import Rate, RateItem, SQLiteBucket

from holocron_assets.crawl.errors import HostBusy
from holocron_assets.crawl.politeness import Decision, HostState, hold_seconds
from holocron_assets.crawl.politeness_settings import Politeness
from holocron_assets.lake.parquet import replacing

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Turn:
    """Leave to send one request.

    Attributes:
        waited_seconds: waited for rate and slot, and until the host might be asked.
        held_seconds: the part of it spent leaving the host alone.
    """

    waited_seconds: float
    held_seconds: float


class HostLimits:
    """The limits of one host. A context manager, safe to use from several threads.

    Attributes:
        host: host and port.
    """

    def __init__(
        self, host: str, politeness: Politeness, state_folder: Path, *, queue_seconds: float = 300.0
    ) -> None:
        """Open the state that is shared under `state_folder`, and make it if it is new.

        Args:
            host: host and port.
            politeness: requests a second and in flight.
            state_folder: holds a folder for each host.
            queue_seconds: longest wait for rate and slot: that long, and something is stuck.
        """
        self.host = host
        self._in_flight = politeness.requests_in_flight
        self._queue_seconds = queue_seconds
        self._folder = state_folder / f"host-{quote(host, safe='')}"
        self._folder.mkdir(parents=True, exist_ok=True)
        # One request in each interval spreads them evenly; N a second would let N leave at once.
        interval = Rate(1, max(round(1000 / politeness.requests_per_second), 1))
        self._bucket = SQLiteBucket.init_from_file(
            [interval], db_path=str(self._folder / "rate.sqlite"), use_file_lock=True
        )

    def __enter__(self) -> Self:
        """Return the limits themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the shared state."""
        self._bucket.close()  # type: ignore[no-untyped-call] # pyrate-limiter left it so

    @contextmanager
    def turn(self, max_hold_seconds: float = 10.0) -> Iterator[Turn]:
        """Wait until a request may be sent, and hold its slot until the block ends.

        Nothing is held while waiting.

        Args:
            max_hold_seconds: longest sleep for a host that is to be left alone.

        Raises:
            HostBusy: the host is to be left alone for longer, or no slot came free.
        """
        started = time.monotonic()
        held = 0.0
        while True:
            if hold := hold_seconds(self.state(), time.time()):
                if held + hold > max_hold_seconds:
                    raise self._busy("it is being left alone, as its last answers asked", hold)
                held += hold
                time.sleep(hold)
                continue
            slot, wait = self._take_slot()
            if slot:
                break
            if time.monotonic() - started - held + wait > self._queue_seconds:
                raise self._busy(f"no request may be sent within {self._queue_seconds:g} s", wait)
            time.sleep(wait)
        try:
            yield Turn(time.monotonic() - started, held)
        finally:
            slot.release()

    def state(self) -> HostState:
        """What any process last learnt of the host."""
        try:
            return HostState(**json.loads((self._folder / "state.json").read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            # A damaged file costs one request too early; refusing to start would cost a person's time.
            return HostState()

    def learn(self, judge: Callable[[HostState], Decision]) -> Decision:
        """Let `judge` decide on what is known of the host, and share what it makes of it."""
        with FileLock(self._folder / "state.lock"):
            before = self.state()
            decision = judge(before)
            if decision.state != before:
                with replacing(self._folder / "state.json") as file:
                    file.write_text(json.dumps(asdict(decision.state)))
        return decision

    def _take_slot(self) -> tuple[BaseFileLock | None, float]:
        """A slot whose request may be sent now; else None, and the seconds to wait before asking again."""
        slot = self._free_slot()
        if slot is None:
            return None, _POLL_SECONDS
        wait = self._take_rate()
        if wait > 0:
            slot.release()
            return None, wait
        return slot, 0.0

    def _free_slot(self) -> BaseFileLock | None:
        for number in range(self._in_flight):
            slot = FileLock(self._folder / f"slot-{number}.lock", thread_local=False)
            try:
                slot.acquire(timeout=0)
            except Timeout:
                continue
            return slot
        return None

    def _take_rate(self) -> float:
        """Count a request; or, if one would be too many, the seconds until there is room."""
        with self._bucket.lock:
            now = time.time_ns() // 1_000_000
            newest = self._bucket.peek(0)
            if newest and newest.timestamp > now:
                self._bucket.flush()  # the clock was moved back: what it counted would block us until then
            request = RateItem(self.host, now)
            if not self._bucket.put(request):
                return cast("int", self._bucket.waiting(request)) / 1000
            self._bucket.leak(now)
        return 0.0

    def _busy(self, reason: str, wait_seconds: float) -> HostBusy:
        return HostBusy(self.host, reason, datetime.fromtimestamp(time.time() + wait_seconds, UTC))
