"""The state of Dagster. This package does not import Dagster, so its callers fill the values in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class DagsterState:
    """Dagster's state, as its storage has it.

    Attributes:
        at: when it was read.
        runs: how many runs wait or are under way, by status.
        heard_at: when each expected part of the daemon last showed that it lives; None if never.
        ticked_at: when any sensor last ticked; None if none ever did.
    """

    at: datetime
    runs: Mapping[str, int]
    heard_at: Mapping[str, datetime | None]
    ticked_at: datetime | None
