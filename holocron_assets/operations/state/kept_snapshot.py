"""A look that many ask for at any time: one at a time, in the background, and kept, also when it failed."""

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, replace
from threading import Lock, Thread
from time import monotonic
from typing import Generic, TypeVar

_KEPT_SECONDS = 5.0
_SHARE_OF_TIME = 0.2
"""Of the time that is spent looking, at most: a look at a large lake is kept for longer."""

_PATIENCE_SECONDS = 5.0
"""A look that takes no longer is waited for; then the one before it is told of."""
_LONGEST_WAIT_SECONDS = 15.0
"""The same where nothing is known yet, or only what is long over. Prometheus waits for 25 s."""
_OVER_SECONDS = 600.0

_T = TypeVar("_T")


@dataclass(frozen=True)
class Taken(Generic[_T]):
    """What the last look that ended came to.

    Attributes:
        found: what was seen; None if it failed, or none ended yet.
        problem: why nothing was seen; None if something was.
        seconds: how long it took.
        failures: how many looks failed so far.
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
        """Whether nothing is known only because no look ended yet."""
        return self.age_seconds is None


def in_background(take: Callable[[], _T]) -> Future[_T]:
    """Begin to look. The thread keeps no process from ending, which may happen at any time."""
    taking = Future[_T]()

    def run() -> None:
        try:
            taking.set_result(take())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is told to all who ask
            taking.set_exception(error)

    Thread(target=run, name="look", daemon=True).start()
    return taking


class KeptSnapshot(Generic[_T]):
    """Looks when asked, if the last look is too old. Who asks meanwhile is soon told of the last one."""

    def __init__(self, take: Callable[[], _T], *, clock: Callable[[], float] = monotonic) -> None:
        """Nothing is looked at yet.

        Args:
            take: what is costly, and may raise.
            clock: seconds that only grow.
        """
        self._take, self._clock, self._lock = take, clock, Lock()
        self._last: Taken[_T] | None = None
        self._began_at = self._ended_at = 0.0
        self._under_way: tuple[float, Future[Taken[_T]]] | None = None
        self._failures = 0

    def begin(self) -> Future[Taken[_T]] | None:
        """The look under way, which is begun if one is due; None if none is."""
        with self._lock:
            is_due = self._last is None or self._clock() - self._ended_at >= _kept_seconds(self._last)
            if self._under_way is None and is_due:
                began = self._clock()
                self._under_way = began, in_background(lambda: self._taken_now(began))
            return self._under_way[1] if self._under_way else None

    def latest(self) -> Taken[_T]:
        """The last look, or a new one if it is due and short. One that failed is told as such."""
        if under_way := self.begin():
            wait_for([under_way], timeout=self._patience_seconds())
        with self._lock:
            now = self._clock()
            lasts = now - self._under_way[0] if self._under_way else None
            if self._last is None:
                told = f"the first look at it has been under way for {lasts or 0:,.0f} s; ask again"
                return Taken(None, told, 0.0, self._failures, None, lasts or 0.0)
            return replace(self._last, age_seconds=now - self._began_at, under_way_seconds=lasts)

    def _patience_seconds(self) -> float:
        """For how long to wait for the look under way: some seconds from its beginning."""
        with self._lock:
            if self._under_way is None:
                return 0.0
            now = self._clock()
            is_over = self._last is None or now - self._began_at > _OVER_SECONDS
            longest = _LONGEST_WAIT_SECONDS if is_over else _PATIENCE_SECONDS
            return max(0.0, self._under_way[0] + longest - now)

    def _taken_now(self, began: float) -> Taken[_T]:
        found, problem = None, None
        try:
            found = self._take()
        except BaseException as error:  # noqa: BLE001 - it is told; a look that ended must not seem under way
            problem = f"{type(error).__name__}: {error}"
        with self._lock:
            self._failures += problem is not None
            self._began_at, self._ended_at = began, self._clock()
            self._last = Taken(found, problem, self._ended_at - began, self._failures)
            self._under_way = None
            return self._last


def _kept_seconds(latest: Taken[_T]) -> float:
    return max(_KEPT_SECONDS, latest.seconds * (1 - _SHARE_OF_TIME) / _SHARE_OF_TIME)
