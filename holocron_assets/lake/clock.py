"""The clock that rows are stamped by."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The moment, in UTC, with microseconds."""
    return datetime.now(UTC)
