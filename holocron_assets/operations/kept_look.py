"""A look that many ask for at any time: one at a time, and kept for some seconds, also when it failed."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

_KEPT_SECONDS = 5.0
_SHARE_OF_TIME = 0.2
"""Of the time that is spent looking, at most: a look at a large lake is kept for longer."""

_T = TypeVar("_T")


class LookFailedError(Exception):
    """What was looked at could not be read: nothing is known of how much work there is. Says why."""


@dataclass(frozen=True)
class Looked(Generic[_T]):
    """What a look came to.

    Attributes:
        found: what was seen; None if it failed.
        problem: why it failed; None if it did not.
        seconds: how long it took.
        failures: how many looks failed so far.
    """

    found: _T | None
    problem: str | None
    seconds: float
    failures: int


class KeptLook(Generic[_T]):
    """Looks when asked, if the last look is too old. Who asks meanwhile waits for the look under way."""

    def __init__(self, look: Callable[[], _T], *, clock: Callable[[], float] = monotonic) -> None:
        """Nothing is looked at yet.

        Args:
            look: what is costly, and may raise.
            clock: seconds that only grow.
        """
        self._look, self._clock, self._lock = look, clock, Lock()
        self._last: Looked[_T] | None = None
        self._ended_at = 0.0
        self._failures = 0

    def looked(self) -> Looked[_T]:
        """The last look, or a new one; one that failed is told of as such."""
        with self._lock:
            if self._last is None or self._clock() - self._ended_at >= _kept_seconds(self._last):
                started = self._clock()
                self._last = self._looked_now(started)
                self._ended_at = self._clock()
            return self._last

    def __call__(self) -> _T:
        """What was found.

        Raises:
            LookFailedError: the look failed.
        """
        looked = self.looked()
        if looked.found is None:
            raise LookFailedError(looked.problem)
        return looked.found

    def _looked_now(self, started: float) -> Looked[_T]:
        try:
            found = self._look()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to all who ask
            self._failures += 1
            problem = f"{type(error).__name__}: {error}"
            return Looked(None, problem, self._clock() - started, self._failures)
        return Looked(found, None, self._clock() - started, self._failures)


def _kept_seconds(looked: Looked[_T]) -> float:
    return max(_KEPT_SECONDS, looked.seconds * (1 - _SHARE_OF_TIME) / _SHARE_OF_TIME)
