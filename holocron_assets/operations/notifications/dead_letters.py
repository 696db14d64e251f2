"""Notices of dead letters: a page, a file or an item of an interrogation, once for each time that it dies."""

from datetime import datetime
from typing import Any

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS, FILE_LIST, FILES, LLM_RUNS, PAGES, UNREAD_PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.notifications.notifications import Notice

TABLES = (PAGES, UNREAD_PAGES, LLM_RUNS, FILES, FILE_LIST, DECISIONS)
"""The tables that `dead_letters` depends on: it changes only with them."""


def dead_letter_notices(lake: Lake) -> list[Notice]:
    """A notice for each dead letter that stands now.

    Raises:
        DamagedPartitionError: a file cannot be read.
    """
    with connect(lake, relations=["dead_letters"]) as connection:
        rows = query(connection, "from dead_letters order by died_at")
    return [_notice(row) for row in rows]


def _notice(row: dict[str, Any]) -> Notice:
    died_at: datetime = row["died_at"]
    parts = (row["stage"], row["source"], row["title_key"], row["title"], died_at.isoformat())
    return Notice(
        notice_id=f"dead-{content_hash(repr(parts))}",
        event="dead_letter",
        subject=f"{row['stage']}: {row['title']}",
        happened_at=died_at,
        data={name: row[name] for name in ("stage", "source", "title", "batch", "attempts", "error")},
    )
