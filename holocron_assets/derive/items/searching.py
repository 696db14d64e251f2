"""What is searched about an item, and digests that change with what a search may find."""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol, cast

from holocron_assets.derive.code.functions import INDEX, SEARCH
from holocron_assets.derive.code.given import FoundRows
from holocron_assets.derive.evidence.queries import QueryError
from holocron_assets.derive.evidence.specs import SearchEvidence
from holocron_assets.derive.interrogations.derived_tables import ROW_TABLES, Over
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.templates import TemplateError, rendered
from holocron_assets.derive.items.query_digests import Digests, query_digests
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake

PageName = tuple[str, str]
"""Source and title of a page."""

FindPassages = Callable[[str, Collection[PageName]], list[Row]]
"""Finds passages for a text, in none of some pages; raises `QueryError`."""

_ROLES: Mapping[Over, tuple[str, ...]] = {"pages": ("",), "entities": ("",), "pairs": ("first_", "second_")}
"""Prefixes of the columns that name the pages of an item."""


class Index(Protocol):
    """The module that `INDEX` names."""

    def indexed(self, lake: Lake) -> str | None:
        """A hash of all that can be found; None if nothing is indexed yet."""


class Search(Protocol):
    """The module that `SEARCH` names."""

    def finding(self, lake: Lake, search: SearchEvidence) -> AbstractContextManager[FindPassages]:
        """A function that finds passages as an interrogation's file says."""


def search_module() -> Search:
    """The search of the room that builds on this one."""
    return cast("Search", import_module(SEARCH))


def passages_about(
    interrogation: Interrogation, row: Row, variables: Mapping[str, Any], find: FindPassages
) -> FoundRows:
    """The passages that an interrogation of kind 'search' finds about an item.

    Args:
        interrogation: one that has a `search`.
        row: of the table that the item was chosen from.
        variables: the values that the query may name.
        find: finds passages.

    Raises:
        QueryError: the query cannot be filled in, or nothing can be searched now.
    """
    search, roles = interrogation.search, _ROLES[interrogation.over]
    if search is None:
        raise QueryError("it searches nothing")
    try:
        text = rendered(search.query, variables)
    except TemplateError as error:
        raise QueryError(f"evidence: query: {error}") from error
    own = [] if search.same_page else [(row[f"{role}source"], row[f"{role}title"]) for role in roles]
    return FoundRows(tuple(find(text, own)))


def search_digests(lake: Lake, interrogation: Interrogation) -> Digests:
    """Digests of what each partition of a search depends on beside its rows: all that can be found.

    The same index gives the same digests. None is given while nothing is indexed.

    Args:
        lake: where it would be searched.
        interrogation: one that was linked.
    """
    indexed = cast("Index", import_module(INDEX)).indexed(lake)
    if indexed is None:
        return {}
    chosen = query_digests(lake, interrogation) if interrogation.tables_read else {}
    names = lake.partitions(ROW_TABLES[interrogation.over])
    return {name: content_hash(json.dumps([indexed, chosen.get(name)])) for name in names}
