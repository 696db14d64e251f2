"""How often and when failed work is tried again: four attempts, including crashes."""

from datetime import datetime, timedelta

MAX_ATTEMPTS = 4
DELAYS = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10))


def is_waiting(due_at: datetime | None, now: datetime) -> bool:
    """Whether failed work is not due yet.

    A time further ahead than the longest delay does not count: it came from a clock that was ahead.
    """
    return due_at is not None and now < due_at <= now + DELAYS[-1]


def delay_after(attempts: int) -> timedelta:
    """How long to wait after the given number of failed attempts (1 or more); the last delay repeats."""
    return DELAYS[min(attempts, len(DELAYS)) - 1]
