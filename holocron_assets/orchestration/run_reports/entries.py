"""What every report says of a run: when it was made, began and ended."""

from collections.abc import Mapping
from datetime import UTC, datetime

import dagster as dg


def times_of(record: dg.RunRecord) -> Mapping[str, str | None]:
    """When a run was requested, began and ended: ISO 8601, UTC; None for what is yet to come."""
    return {
        "created_at": record.create_timestamp.replace(tzinfo=UTC).isoformat(),
        "started_at": iso_time(record.start_time),
        "ended_at": iso_time(record.end_time),
    }


def iso_time(seconds: float | None) -> str | None:
    """A timestamp as ISO 8601, UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
