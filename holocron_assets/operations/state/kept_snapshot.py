"""A snapshot for many callers: one is taken at a time, in the background, and its result or error is kept."""

import atexit
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, replace
from threading import Lock, Thread
from time import monotonic
from typing import Generic, TypeVar
from weakref import WeakSet

_KEPT_SECONDS = 5.0
_SHARE_OF_TIME = 0.2
"""The largest share of time to spend on snapshots. So a snapshot of a large lake is kept for longer."""

_PATIENCE_SECONDS = 5.0
"""Callers wait so long for a new snapshot; then they get the one before it."""
_LONGEST_WAIT_SECONDS = 15.0
"""How long callers wait if there is no snapshot yet, or only an old one. Prometheus waits for 25 s."""
_TOO_OLD_SECONDS = 600.0
_SECONDS_AT_EXIT = 3.0
"""A process that ends waits so long for its snapshots: DuckDB reports each open connection as a leak."""

_UNDER_WAY: WeakSet[Thread] = WeakSet()
_T = TypeVar("_T")


@dataclass(frozen=True)
class Taken(Generic[_T]):
    """The last snapshot that ended.

    Attributes:
        found: its values; None if it failed, or none ended yet.
        problem: why there are no values; None if there are.
        seconds: how long it took.
        failures: how many snapshots failed so far.
        age_seconds: how long ago it began; None if none ended yet.
        under_way_seconds: for how long a newer one has been under way; None if none is.
    """

    found: _T | None
    problem: str | None
    seconds: float
    failures: int
    age_seconds: float | None = 0.0
    under_way_seconds: float | None = None

    @property
    def is_first_under_way(self) -> bool:
        """Whether there are no values because the first snapshot has not ended yet."""
        return self.age_seconds is None


def in_background(take: Callable[[], _T]) -> Future[_T]:
    """Begin a snapshot in a thread that does not keep the process from ending."""
    taking = Future[_T]()

    def run() -> None:
        try:
            taking.set_result(take())
        except BaseException as error:  # noqa: BLE001 - any error is given to all callers
            taking.set_exception(error)

    thread = Thread(target=run, name="snapshot", daemon=True)
    _UNDER_WAY.add(thread)
    thread.start()
    return taking


@atexit.register
def _wait_at_exit() -> None:
    until = monotonic() + _SECONDS_AT_EXIT
    for thread in list(_UNDER_WAY):
        thread.join(max(0.0, until - monotonic()))


class KeptSnapshot(Generic[_T]):
    """Takes a snapshot on request, if the last one is too old. Meanwhile, other callers get the last one."""

    def __init__(self, take: Callable[[], _T], *, clock: Callable[[], float] = monotonic) -> None:
        """Take no snapshot yet.

        Args:
            take: takes one; it is costly, and may raise.
            clock: seconds that only grow.
        """
        self._take, self._clock, self._lock = take, clock, Lock()
        self._last: Taken[_T] | None = None
        self._began_at = self._ended_at = 0.0
        self._under_way: tuple[float, Future[Taken[_T]]] | None = None
        self._failures = 0

    def begin(self) -> Future[Taken[_T]] | None:
        """Begin a snapshot if one is due. Returns the snapshot under way; None if there is none."""
        with self._lock:
            is_due = self._last is None or self._clock() - self._ended_at >= _kept_seconds(self._last)
            if self._under_way is None and is_due:
                began = self._clock()
                self._under_way = began, in_background(lambda: self._taken_now(began))
            return self._under_way[1] if self._under_way else None

    def latest(self) -> Taken[_T]:
        """The last snapshot, or a new one if it is due and quick. If it failed, `problem` says why."""
        if under_way := self.begin():
            wait_for([under_way], timeout=self._patience_seconds())
        with self._lock:
            now = self._clock()
            lasts = now - self._under_way[0] if self._under_way else None
            if self._last is None:
                message = f"the first snapshot of it has been under way for {lasts or 0:,.0f} s; ask again"
                return Taken(None, message, 0.0, self._failures, None, lasts or 0.0)
            return replace(self._last, age_seconds=now - self._began_at, under_way_seconds=lasts)

    def _patience_seconds(self) -> float:
        """How long to wait for the snapshot under way: some seconds from its beginning."""
        with self._lock:
            if self._under_way is None:
                return 0.0
            now = self._clock()
            is_too_old = self._last is None or now - self._began_at > _TOO_OLD_SECONDS
            longest = _LONGEST_WAIT_SECONDS if is_too_old else _PATIENCE_SECONDS
            return max(0.0, self._under_way[0] + longest - now)

    def _taken_now(self, began: float) -> Taken[_T]:
        found, problem = None, None
        try:
            found = self._take()
        except BaseException as error:  # noqa: BLE001 - it is reported; a snapshot that ended must not seem under way
            problem = f"{type(error).__name__}: {error}"
        with self._lock:
            self._failures += problem is not None
            self._began_at, self._ended_at = began, self._clock()
            self._last = Taken(found, problem, self._ended_at - began, self._failures)
            self._under_way = None
            return self._last


def _kept_seconds(latest: Taken[_T]) -> float:
    return max(_KEPT_SECONDS, latest.seconds * (1 - _SHARE_OF_TIME) / _SHARE_OF_TIME)
