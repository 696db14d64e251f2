"""Locks between machines, used like `filelock.FileLock`."""

import threading
from time import monotonic, sleep
from types import TracebackType
from typing import Protocol, Self

from filelock import Timeout

from holocron_assets.lake.shared.sessions import Session

_POLL_SECONDS = 0.05


class Lock(Protocol):
    """The methods of a lock that Holocron uses, for locks of files and of a server."""

    @property
    def is_locked(self) -> bool:
        """Whether this object holds it."""
        ...

    @property
    def lock_counter(self) -> int:
        """How often it was acquired and not yet released."""
        ...

    def acquire(self, timeout: float | None = None, *, blocking: bool | None = None) -> object:
        """Acquire it, or raise `filelock.Timeout`."""
        ...

    def release(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 - FileLock's own
        """Release it once; by force, release it entirely."""
        ...

    def __enter__(self) -> Self:
        """Acquire it."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        ...


class ServerLock:
    """A lock that one process of all machines holds at a time. Another thread may release it."""

    def __init__(self, session: Session, name: str, *, timeout: float = -1, blocking: bool = True) -> None:
        """Name a lock without acquiring it.

        Args:
            session: the session with the server that holds it.
            name: the lock's name.
            timeout: seconds to wait for it; without limit if negative.
            blocking: whether to wait for it at all.
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
        """Acquire the lock; its holder may acquire it again.

        Raises:
            Timeout: another process holds it.
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

    def release(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 - FileLock's own
        """Release the lock once; by force, release it entirely."""
        with self._counting:
            if not self.lock_counter:  # by its name, the session would release what another object holds
                return
            self.lock_counter = 0 if force else self.lock_counter - 1
            if not self.lock_counter:
                self._session.unlock(self.name)

    def __enter__(self) -> Self:
        """Acquire the lock."""
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        self.release()

    def _take(self) -> bool:
        with self._counting:
            if self.lock_counter or self._session.try_lock(self.name):
                self.lock_counter += 1
                return True
            return False
