"""The row of an artifact that could not be fetched."""

from datetime import datetime
from typing import Any

from holocron_assets.crawl.frontier.attempts import settle_failure
from holocron_assets.lake.declaration.schema import Row

COPIED = ("source", "batch", "position", "name", "artifact_id", "artifact_key", "version")
"""Columns of the manifest that the outcome repeats."""


def failed_file(wanted: Row, error: str, *, attempts: int, now: datetime, run_id: str) -> dict[str, Any]:
    """The row of an artifact that could not be fetched, already settled.

    Args:
        wanted: its row of the batch's manifest (table `file_batches`).
        error: what went wrong; the artifact's name is added.
        attempts: attempts made so far, including this one.
        now: when it failed.
        run_id: the run that tried.
    """
    row = {
        **{name: wanted[name] for name in COPIED},
        "status": "failed",
        "reason": "crash",
        "attempts": attempts,
        "error": f"{wanted['name']}: {error}",
        "fetched_at": now,
        "candidates": [],
        "run_id": run_id,
    }
    return settle_failure(row, now)
