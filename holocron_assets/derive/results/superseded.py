"""Pages that a newer batch holds in a newer state: no model is asked about the older state."""

from functools import lru_cache

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.views.database import connect

# A title that was answered twice in one batch is still asked about, if either answer counts.
_SUPERSEDED = """
    select batch, position
    from superseded_answers
    join answers using (batch, position)
    anti join current_answers as current
        on answers.batch = current.batch and answers.title_key = current.title_key
    where answers.status = 'ok'
"""


def superseded_pages(lake: Lake) -> frozenset[tuple[str, int]]:
    """Batch and position of each superseded page; read again only after pages were written."""
    return _superseded(lake, lake.mark([PAGES]))


@lru_cache(maxsize=4)
def _superseded(lake: Lake, _mark: str) -> frozenset[tuple[str, int]]:
    with connect(lake, tables=[PAGES]) as connection:
        return frozenset(connection.execute(_SUPERSEDED).fetchall())
