"""When the machine last woke.

Work is not late if it could not be done because the machine slept or was off.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

CHECK = "raise_alerts"
"""The sensor that checks every two minutes, and keeps in its cursor since when it does."""

_BREAK = timedelta(minutes=10)
"""If two checks are further apart, nothing ran in between."""


def awake_since(since: datetime | None, checked_at: datetime | None, *, now: datetime) -> datetime:
    """Since when checks come without a break.

    Args:
        since: the same as of the last check; None if it is not known.
        checked_at: when the last check was, also if it failed; None if there was none.
        now: the moment.
    """
    if since is None or checked_at is None or now - checked_at > _BREAK:
        return now
    return min(since, now)  # the clock may be set back


def kept_times(cursor: str | None) -> Mapping[str, datetime]:
    """The times in the cursor of that sensor, by name."""
    return {name: datetime.fromisoformat(at) for name, at in json.loads(cursor or "{}").items()}
