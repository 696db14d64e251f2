"""The clock that rows are stamped by, and whether it was set back."""

from datetime import UTC, datetime, timedelta
from time import monotonic, time

SMALLEST_STEP = timedelta(microseconds=1)
"""What tells two moments of a row apart."""

_WORTH_NOTICING_SECONDS = 60


def utc_now() -> datetime:
    """The moment, in UTC, with microseconds."""
    return datetime.now(UTC)


class WallClock:
    """Notices that the machine's clock was set back, by one that cannot be."""

    def __init__(self) -> None:
        """Begin to watch."""
        self._ahead = time() - monotonic()

    def was_set_back(self) -> bool:
        """Whether it was, by a minute or more, since this was asked before."""
        before, self._ahead = self._ahead, time() - monotonic()
        return before - self._ahead > _WORTH_NOTICING_SECONDS
