"""Bringing dead letters back, of pages and interrogations, by a person's decision, which is itself a row."""

import uuid
from collections.abc import Sequence
from typing import Any

from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.keys import title_key
from holocron_assets.lake.parquet import write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import REQUEUES
from holocron_assets.lake.views import connect, query

_DEAD = """
    select distinct source, title, title_key
    from dead_letters
    where coalesce(source = $source, true) and coalesce(list_contains($titles, title), true)
    order by source, title
"""


def requeue(
    lake: Lake, *, source: str | None, titles: Sequence[str] | None, author: str, reason: str
) -> list[dict[str, Any]]:
    """Let what was given up about some titles be tried again, with a full count of attempts.

    Args:
        lake: where the dead letters are and the decision goes.
        source: only of this source; of all if None.
        titles: only these, as the dead letters have them; all if None.
        author: who decides.
        reason: why.

    Returns:
        The rows of table `requeues` that were written: one for each title with a dead letter that was meant.
    """
    with connect(lake) as connection:
        dead = query(
            connection, _DEAD, {"source": source, "titles": None if titles is None else list(titles)}
        )
    now = utc_now()
    decision = {"author": author, "reason": reason, "decided_at": now}
    rows = [{**row, "title_key": _key(row), **decision} for row in dead]
    if rows:
        write_partition(lake, REQUEUES, f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:12]}", rows)
    return rows


def _key(letter: Row) -> int:
    """The key that a title is requeued by. A pair of entities has none, but two names for a title."""
    key: int | None = letter["title_key"]
    return title_key(letter["source"], letter["title"]) if key is None else key
