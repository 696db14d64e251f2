"""A file to which several threads append: one sync serves all that was written before it."""

import os
from contextlib import suppress
from io import FileIO
from threading import Lock


class SyncedFile:
    """A file whose writers wait until their bytes are on disk. One thread at a time may write.

    Attributes:
        opened: the file, unbuffered.
    """

    def __init__(self, opened: FileIO) -> None:
        """Take over a file that is open for writing."""
        self.opened = opened
        self._syncing = Lock()
        self._written = self._synced = 0
        self._failure: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write all of the bytes, and return what `sync` needs to know of them."""
        left = memoryview(data)
        while left:
            left = left[self.opened.write(left) :]
        self._written += 1
        return self._written

    def sync(self, written: int) -> None:
        """Return when the bytes of a write are on disk.

        Raises:
            OSError: the disk is failing. After a failed sync the system may forget what it did not write, so
                that a later sync says nothing about these bytes.
        """
        with self._syncing:
            if self._synced >= written:
                return
            if self._failure:
                raise OSError(self._failure.errno, self._failure.strerror)
            before = self._written
            try:
                os.fsync(self.opened.fileno())
            except OSError as failure:
                self._failure = failure
                raise
            self._synced = before

    def close(self) -> None:
        """Sync what another thread wrote and has not synced, and close the file."""
        with suppress(OSError):  # the thread that wrote it gets the error
            self.sync(self._written)
        with self._syncing:
            self.opened.close()
