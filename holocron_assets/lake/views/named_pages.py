"""Finds the page that a person means by a title, or those that a misspelt title may mean."""

import unicodedata
from collections.abc import Mapping, Sequence

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

_EXACT = """
    select distinct source, title
    from (select source, title from lake.seed_titles union all select source, title from last_attempts)
    where title in (select unnest($titles)) and source = $source
"""
_ALIKE = """
    select distinct source, title, title = $title as exact
    from (
        select source, title from lake.seed_titles
        union all select source, title from last_attempts
        union all select source, target from page_links where lower(target) = lower($title)
    )
    where lower(title) = lower($title) and coalesce(source = $source, true)
    order by exact desc, source, title
"""
_NEAREST = """
    select source, title
    from (
        select source, title from lake.seed_titles
        union select source, title from last_attempts
    )
    where coalesce(source = $source, true)
        and jaro_winkler_similarity(lower(title), lower($title)) > 0.7
    order by jaro_winkler_similarity(lower(title), lower($title)) desc, source, title
    limit 5
"""


def find_page(lake: Lake, title: str, source: str | None) -> list[tuple[str, str]]:
    """Sources and canonical titles of pages that a person may mean by `title`.

    Args:
        lake: the lake.
        title: as the person wrote it; an exact match wins over one that differs in upper or lower case.
        source: only in this source.
    """
    wanted = composed(title).replace("_", " ")
    with connect(lake, relations=("lake.seed_titles", "last_attempts", "page_links")) as connection:
        if source:  # what only links name is looked up last: there are many links
            asked = {"titles": [wanted], "source": source}
            if found := query(connection, _EXACT, asked):
                return [(row["source"], row["title"]) for row in found]
        found = query(connection, _ALIKE, {"title": wanted, "source": source})
    exact = [row for row in found if row["exact"]]
    return [(row["source"], row["title"]) for row in exact or found]


def nearest_pages(lake: Lake, title: str, source: str | None = None) -> str:
    """A sentence with the titles that are spelt most like a misspelt one; empty if none is alike.

    Args:
        lake: the lake.
        title: as the person wrote it.
        source: only in this source.
    """
    with connect(lake, relations=("lake.seed_titles", "last_attempts")) as connection:
        found = query(connection, _NEAREST, {"title": composed(title), "source": source})
    near = "; ".join(f"{row['title']!r} of {row['source']}" for row in found)
    return f" Nearest are: {near}." if near else ""


def composed(title: str) -> str:
    """A title as MediaWiki stores it, with each accent in its letter."""
    return unicodedata.normalize("NFC", title).strip()


def find_files(lake: Lake, name: str, source: str | None) -> list[tuple[str, str]]:
    """Sources and names of files that are listed under exactly this name.

    Args:
        lake: the lake.
        name: a title, or an address, as a source lists it.
        source: only in this source.
    """
    sql = "select source, name from file_list where name = $name and coalesce(source = $source, true)"
    with connect(lake, relations=["file_list"]) as connection:
        return [
            (row["source"], row["name"]) for row in query(connection, sql, {"name": name, "source": source})
        ]


def page_ids(lake: Lake, title_keys: Sequence[int]) -> Mapping[int, int]:
    """The ids of the pages that have some titles now, by title key; without those that have no id."""
    sql = """
        select title_key, page_id from current_answers
        where title_key in (select unnest($keys::bigint[])) and page_id is not null
    """
    with connect(lake, relations=["current_answers"]) as connection:
        return {row["title_key"]: row["page_id"] for row in query(connection, sql, {"keys": title_keys})}


def batch_of(lake: Lake, key: int) -> str | None:
    """The batch that holds the page of a title key as it is now; None if there is no such page."""
    with connect(lake, relations=["current_answers"]) as connection:
        found = query(connection, "select batch from current_answers where title_key = $key", {"key": key})
    return found[0]["batch"] if found else None


def titles_there(lake: Lake, source: str, titles: Sequence[str]) -> set[str]:
    """Those of some exact titles that pages of a source have, with one reading for all."""
    with connect(lake, relations=("lake.seed_titles", "last_attempts")) as connection:
        return {row["title"] for row in query(connection, _EXACT, {"titles": titles, "source": source})}
