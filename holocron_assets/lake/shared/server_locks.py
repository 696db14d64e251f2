"""Locks between machines, used as `filelock.FileLock` is."""

import threading
from time import monotonic, sleep
from types import TracebackType
from typing import Protocol, Self

from filelock import Timeout

from holocron_assets.lake.shared.sessions import Session

_POLL_SECONDS = 0.05


class Lock(Protocol):
    """What Holocron uses of a lock, be it a file's or a server's."""

    @property
    def is_locked(self) -> bool:
        """Whether this object holds it."""
        ...

    @property
    def lock_counter(self) -> int:
        """How often it was acquired and not released since."""
        ...

    def acquire(self, timeout: float | None = None, *, blocking: bool | None = None) -> object:
        """Take it, or raise `filelock.Timeout`."""
        ...

    def release(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 - FileLock's own
        """Give it back, as often as it was taken; at once by force."""
        ...

    def __enter__(self) -> Self:
        """Take it."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        ...


class ServerLock:
    """A lock that one process of all machines holds at a time. May be released by another thread."""

    def __init__(self, session: Session, name: str, *, timeout: float = -1, blocking: bool = True) -> None:
        """Name a lock without taking it.

        Args:
            session: whose server holds it.
            name: the lock's name.
            timeout: seconds that are waited for it; for ever if negative.
            blocking: whether it is waited for at all.
        """
        self._session, self.name = session, name
        self._timeout, self._blocking = timeout, blocking
        self._counting = threading.Lock()
        self.lock_counter = 0

    @property
    def is_locked(self) -> bool:
        """Whether this object holds it."""
        return self.lock_counter > 0

    def acquire(self, timeout: float | None = None, *, blocking: bool | None = None) -> Self:
        """Take the lock; who holds it takes it once more.

        Raises:
            Timeout: another holds it.
            DatabaseGoneError: the server gives no answer.
        """
        seconds = self._timeout if timeout is None else timeout
        waits = self._blocking if blocking is None else blocking
        until = None if seconds < 0 else monotonic() + seconds
        while not self._take():
            if not waits or (until is not None and monotonic() >= until):
                raise Timeout(self.name)
            sleep(_POLL_SECONDS)
        return self

    def release(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 - as FileLock has it
        """Give the lock back, as often as it was taken; at once by force."""
        with self._counting:
            self.lock_counter = 0 if force else max(self.lock_counter - 1, 0)
            if not self.lock_counter:
                self._session.unlock(self.name)

    def __enter__(self) -> Self:
        """Take the lock."""
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self.release()

    def _take(self) -> bool:
        with self._counting:
            if self.lock_counter or self._session.try_lock(self.name):
                self.lock_counter += 1
                return True
            return False
