"""Tracebacks of failures, kept beside the rows that say in one line what went wrong."""

import traceback
from collections.abc import Mapping

from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import TRACEBACKS
from holocron_assets.telemetry.masking import without_secrets

MOST_CHARACTERS = 8_000
"""The longest traceback that is kept. Of a longer one, the end stays, which names the error."""

MOST_KEPT = 500
"""The tracebacks that are kept of a partition, the newest. A fault in code makes all its items fail alike."""


def traceback_of(error: BaseException) -> str:
    """Python's traceback of an error and its causes, without secrets, cut to its end."""
    whole = without_secrets("".join(traceback.format_exception(error)))
    whole = whole.encode("utf-8", "replace").decode()  # a message may hold half of a surrogate pair
    over = len(whole) - MOST_CHARACTERS
    return f"(cut: {over:,} characters)\n{whole[over:]}" if over > 0 else whole


def keep_tracebacks(lake: Lake, scope: str, stage: str, found: Mapping[str, str]) -> None:
    """Keep the tracebacks of items that failed, in place of earlier ones of the same items.

    One process at a time works on a scope.

    Args:
        lake: where.
        scope: the partition of the rows that have the errors.
        stage: what failed, as in view `dead_letters`.
        found: tracebacks by item: a title key, the id of an interrogation's item, or an artifact's key.
    """
    if not found:
        return
    now = utc_now()
    rows = [
        {"scope": scope, "stage": stage, "item": item, "traceback": text, "failed_at": now}
        for item, text in found.items()
    ]
    earlier = rows_there(lake, TRACEBACKS, scope)
    kept = [row for row in earlier if row["stage"] != stage or row["item"] not in found]
    write_partition(lake, TRACEBACKS, scope, [*kept, *rows][-MOST_KEPT:])
