"""What is to be known of Dagster, which this room does not know: who does looks at it and tells."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class DagsterState:
    """Dagster, as its storage tells of it.

    Attributes:
        at: when it was looked at.
        runs: how many runs wait or are under way, by status.
        heard_at: when each part of the daemon that there should be last showed that it lives; None if never.
        ticked_at: when any sensor last ticked; None if none ever did.
    """

    at: datetime
    runs: Mapping[str, int]
    heard_at: Mapping[str, datetime | None]
    ticked_at: datetime | None
