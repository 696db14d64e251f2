"""How often and when something that failed is tried again: four attempts, crashes included."""

from datetime import timedelta

MAX_ATTEMPTS = 4
DELAYS = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10))


def delay_after(attempts: int) -> timedelta:
    """How long to wait after the given number of failed attempts (1 or more); the last delay repeats."""
    return DELAYS[min(attempts, len(DELAYS)) - 1]
