"""How often and when something that failed is tried again: four attempts, crashes included."""

from datetime import datetime, timedelta

MAX_ATTEMPTS = 4
DELAYS = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10))


def is_waiting(due_at: datetime | None, now: datetime) -> bool:
    """Whether something that failed is not due yet.

    A time further ahead than the longest delay was told by a clock that was ahead, and was set back since.
    """
    return due_at is not None and now < due_at <= now + DELAYS[-1]


def delay_after(attempts: int) -> timedelta:
    """How long to wait after the given number of failed attempts (1 or more); the last delay repeats."""
    return DELAYS[min(attempts, len(DELAYS)) - 1]
