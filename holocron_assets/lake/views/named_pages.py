"""Finds the page that a person means by a title, or those that a misspelt title may mean."""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

_EXACT = """
    select distinct source, title
    from (select source, title from lake.seed_titles union all select source, title from last_attempts)
    where title in (select unnest($titles::varchar[])) and source = $source
"""
_ALIKE = """
    with asked as (select unnest($titles::varchar[]) as title)
    select distinct asked.title as asked, named.source, named.title
    from (
        select source, title from lake.seed_titles
        union all select source, title from last_attempts
        union all
        select source, target from page_links where lower(target) in (select lower(title) from asked)
    ) as named
    join asked on lower(named.title) = lower(asked.title)
    where coalesce(named.source = $source, true)
    qualify rank() over (partition by asked.title order by named.title <> asked.title) = 1
    order by named.source, named.title
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
    return find_pages(lake, [title], source)[title]


def find_pages(
    lake: Lake, titles: Collection[str], source: str | None
) -> Mapping[str, list[tuple[str, str]]]:
    """What `find_page` finds for each of some titles, with one reading for all.

    Args:
        lake: the lake.
        titles: as for `find_page`.
        source: only in this source.
    """
    wanted = {title: composed(title).replace("_", " ") for title in titles}
    found: Mapping[str, list[tuple[str, str]]] = defaultdict(list)
    with connect(lake, relations=("lake.seed_titles", "last_attempts", "page_links")) as connection:
        if source:  # what only links name is looked up last: there are many links
            for row in query(connection, _EXACT, {"titles": sorted(set(wanted.values())), "source": source}):
                found[row["title"]].append((row["source"], row["title"]))
        if left := sorted(set(wanted.values()) - found.keys()):
            for row in query(connection, _ALIKE, {"titles": left, "source": source}):
                found[row["asked"]].append((row["source"], row["title"]))
    return {title: found[name] for title, name in wanted.items()}


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


def find_files(lake: Lake, names: Collection[str], source: str | None) -> Mapping[str, list[tuple[str, str]]]:
    """Sources and names of files that are listed under exactly these names, by name.

    Args:
        lake: the lake.
        names: titles, or addresses, as a source lists them.
        source: only in this source.
    """
    sql = """
        select source, name from file_list
        where name in (select unnest($names::varchar[])) and coalesce(source = $source, true)
    """
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in names}
    with connect(lake, relations=["file_list"]) as connection:
        for row in query(connection, sql, {"names": sorted(names), "source": source}):
            found[row["name"]].append((row["source"], row["name"]))
    return found


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
