"""Tries again what was given up or failed. A person decides it, and the decision is a row."""

from collections.abc import Sequence

from holocron_assets.decisions.log import decided_now, new_decision, record
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import SMALLEST_STEP
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

_DEAD = """
    select source, title, max(died_at) as died_at
    from dead_letters
    where coalesce(source = $source, true) and coalesce(list_contains($titles, title), true)
    group by source, title
    order by source, title
"""


def requeue(
    lake: Lake, *, source: str | None, titles: Sequence[str] | None, author: str, reason: str
) -> list[Row]:
    """Let the dead letters of some titles be tried again, with the full number of attempts.

    Args:
        lake: where the dead letters are and the decision goes.
        source: only this source; all if None.
        titles: only these, as the dead letters name them; all if None.
        author: who decides.
        reason: why.

    Returns:
        The rows of table `decisions` that were written: one for each chosen title with a dead letter.
    """
    with connect(lake, relations=["dead_letters"]) as connection:
        dead = query(
            connection, _DEAD, {"source": source, "titles": None if titles is None else list(titles)}
        )
    now = decided_now(lake)  # and after each death, whose time may come from a clock that was ahead
    rows = [
        # A pair of entities has no title, but two names for one.
        new_decision("requeue", author=author, reason=reason, now=max(now, died_at + SMALLEST_STEP), **letter)
        for letter in dead
        for died_at in [letter.pop("died_at")]
    ]
    record(lake, rows)
    return rows


def retry_now(lake: Lake, pages: Sequence[tuple[str, str]], *, author: str, reason: str) -> None:
    """Let failed work on some pages, which would be tried again later, be tried again at once.

    The attempts so far still count. The work is fetching a page, or asking a model about it.

    Args:
        lake: where the decision goes.
        pages: source and canonical title of each.
        author: who decides.
        reason: why.
    """
    now = decided_now(lake)
    rows = [
        new_decision("requeue", author=author, reason=reason, now=now, source=source, title=title)
        for source, title in pages
    ]
    record(lake, rows)
