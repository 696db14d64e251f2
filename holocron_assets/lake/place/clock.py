"""The clock for the times in rows, and whether it was set back."""

from datetime import UTC, datetime, timedelta
from time import monotonic, time

SMALLEST_STEP = timedelta(microseconds=1)
"""The smallest difference between two times of a row."""

_WORTH_NOTICING_SECONDS = 60


def utc_now() -> datetime:
    """The current time in UTC, with microseconds."""
    return datetime.now(UTC)


class WallClock:
    """Notices that the machine's clock was set back, by a clock that cannot be set."""

    def __init__(self) -> None:
        """Start to compare the clocks."""
        self._ahead = time() - monotonic()

    def was_set_back(self) -> bool:
        """Whether it was set back by a minute or more since the last call."""
        before, self._ahead = self._ahead, time() - monotonic()
        return before - self._ahead > _WORTH_NOTICING_SECONDS
