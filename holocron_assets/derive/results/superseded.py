"""Pages that a newer batch holds in a newer state: no model is asked about the older state."""

from functools import lru_cache

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.views.database import connect

# A title that was answered twice in one batch is still asked about, if either answer counts.
_SUPERSEDED = """
    with gone as materialized (from superseded_answers),
    read as (select batch, position, title_key from answers where status = 'ok')
    select batch, position
    from read
    semi join gone using (batch, position)
    anti join (from read anti join gone using (batch, position)) as current using (batch, title_key)
"""


def superseded_pages(lake: Lake) -> frozenset[tuple[str, int]]:
    """Batch and position of each superseded page; read again only after pages were written."""
    return _superseded(lake, lake.mark([PAGES]))


@lru_cache(maxsize=4)
def _superseded(lake: Lake, _mark: str) -> frozenset[tuple[str, int]]:
    with connect(lake, tables=[PAGES]) as connection:
        return frozenset(connection.execute(_SUPERSEDED).fetchall())
