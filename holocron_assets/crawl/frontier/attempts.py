"""The consequence for a page that could not be read: another attempt later, or a dead letter."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holocron_assets.lake.attempts import MAX_ATTEMPTS, delay_after
from holocron_assets.lake.declaration.schema import Row


def settle_failure(row: Row, now: datetime) -> dict[str, Any]:
    """Give a failed page the time of its next attempt, or declare it dead if all its attempts are used up.

    Args:
        row: a row of table `pages` with status 'failed' and `attempts` counting this failure.
        now: when it failed.

    Returns:
        The row with status 'failed' and a due time, or with status 'dead'.
    """
    if row["attempts"] >= MAX_ATTEMPTS:
        return {**row, "status": "dead", "due_at": None}
    return {**row, "due_at": now + delay_after(row["attempts"])}


def failed_page(wanted: Row, error: str, *, attempts: int, now: datetime, run_id: str) -> dict[str, Any]:
    """The row of a page that could not be read, already settled.

    Args:
        wanted: the page's row of the batch's manifest (table `batch_pages`).
        error: what went wrong; the page's title is added.
        attempts: attempts made so far, including this one.
        now: when it failed.
        run_id: the run that tried.
    """
    kept: Mapping[str, Any] = {
        name: wanted[name]
        for name in ("source", "batch", "position", "depth", "discovered_from", "namespace")
    }
    row = {
        **kept,
        "requested_title": wanted["title"],
        "requested_key": wanted["title_key"],
        "title": wanted["title"],
        "title_key": wanted["title_key"],
        "status": "failed",
        "attempts": attempts,
        "error": f"{wanted['title']}: {error}",
        "fetched_at": now,
        "run_id": run_id,
    }
    return settle_failure(row, now)
