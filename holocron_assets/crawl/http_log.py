"""The record of every HTTP request, kept as it is made so that a kill loses none."""

from types import TracebackType
from typing import Self

from filelock import FileLock

from holocron_assets.lake.journal import Journal
from holocron_assets.lake.parquet import read_partition, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import HTTP_ATTEMPTS


class HttpLog:
    """Collects the `http_attempts` rows of one scope; a context manager, safe for threads.

    One process at a time serves a scope: a second one waits until the first has stored its rows.

    Attributes:
        scope: what the requests serve: a batch, or a source's seeds. It names the partition.
    """

    def __init__(self, lake: Lake, scope: str) -> None:
        """Keep the rows of `scope` in `lake`."""
        self.scope = scope
        self._lake = lake
        self._journal = Journal(lake.journal(HTTP_ATTEMPTS, scope))
        self._serving = FileLock(lake.locks / f"http-{scope}.lock")

    def __enter__(self) -> Self:
        """Wait for others that serve the scope, and return the log itself."""
        self._serving.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Turn what the journal holds, from killed runs too, into the partition's file."""
        try:
            self._journal.close()
            self._store()
        finally:
            self._serving.release()

    def record(self, attempt: Row) -> None:
        """Add one row of table `http_attempts`."""
        self._journal.append(dict(attempt))

    def _store(self) -> None:
        journaled = [HTTP_ATTEMPTS.revive(record) for record in self._journal.records()]
        if not journaled:
            return
        stored = (
            read_partition(self._lake, HTTP_ATTEMPTS, self.scope)
            if self._lake.has(HTTP_ATTEMPTS, self.scope)
            else []
        )
        # A kill between the next two lines leaves both; the id tells what is already stored.
        rows = {row["attempt_id"]: row for row in [*stored, *journaled]}
        write_partition(self._lake, HTTP_ATTEMPTS, self.scope, list(rows.values()))
        self._journal.path.unlink()
