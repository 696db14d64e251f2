"""Whether a lake holds what its wiki has now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

_LAGS = """
    select fetched_at - revision_at as lag
    from pages
    where source = $source and revision_at > $since and revision_id is not null
    order by lag
"""
_STANDING = "select title, wikitext from current_pages where source = $source"


@dataclass(frozen=True)
class Comparison:
    """Titles by what is wrong with them.

    Attributes:
        equal: how many titles stand in both, with the same text.
        outdated: stand in both with different texts.
        absent: stand in the wiki alone.
        ghosts: stand in the lake alone.
    """

    equal: int
    outdated: list[str]
    absent: list[str]
    ghosts: list[str]


def compare(lake: Lake, source: str, texts: Mapping[str, str]) -> Comparison:
    """Compare a lake's current pages of a source with the wiki's texts, by title."""
    with connect(lake) as connection:
        found = {row["title"]: row["wikitext"] for row in query(connection, _STANDING, {"source": source})}
    shared = found.keys() & texts.keys()
    outdated = sorted(title for title in shared if found[title] != texts[title])
    return Comparison(
        equal=len(shared) - len(outdated),
        outdated=outdated,
        absent=sorted(texts.keys() - found.keys()),
        ghosts=sorted(found.keys() - texts.keys()),
    )


def lags(lake: Lake, source: str, since: datetime) -> list[timedelta]:
    """How old each revision that was made after a moment was when it was fetched, from the shortest on."""
    with connect(lake) as connection:
        return [row["lag"] for row in query(connection, _LAGS, {"source": source, "since": since})]
