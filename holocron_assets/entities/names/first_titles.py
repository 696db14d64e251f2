"""The first known titles of pages that have another title now: ids are made from those."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import duckdb

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.views.database import query

Page = tuple[str, int | None]
"""A wiki's page, whatever its title: source and page id."""

# Few pages were ever moved, and keys tell which: only theirs are read.
_MOVED = """
    with read as (from answers where status = 'ok' and page_id is not null),
    moved as (
        select source, page_id from read group by all having min(title_key) <> max(title_key)
    )
    select read.source, read.page_id, arg_min(pages.title, moment) as title
    from read
    semi join moved using (source, page_id)
    join page_outcomes as pages using (batch, position)
    group by all
    order by min(moment)
"""


@dataclass(frozen=True)
class FirstTitles:
    """The first titles of pages that were moved.

    Attributes:
        by_page: title by page, in the order in which the pages were first read.
    """

    by_page: Mapping[Page, str]

    def of(self, candidate: Row) -> str:
        """The title of a candidate's page when it was first read."""
        page: Page = (candidate["source"], candidate.get("page_id"))
        return self.by_page.get(page, candidate["title"])

    def is_of_another(self, candidate: Row) -> bool:
        """Whether another page had a candidate's first title before, and moved away from it."""
        page = (candidate["source"], candidate.get("page_id"))
        return self._pages.get((candidate["source"], self.of(candidate)), page) != page

    def place_of(self, candidate: Row) -> int:
        """The place of a candidate's page among those that were moved; one that was not comes after them."""
        page: Page = (candidate["source"], candidate.get("page_id"))
        return self._places.get(page, len(self.by_page))

    @cached_property
    def _places(self) -> Mapping[Page, int]:
        return {page: place for place, page in enumerate(self.by_page)}

    @cached_property
    def _pages(self) -> Mapping[tuple[str, str], Page]:
        pages: dict[tuple[str, str], Page] = {}
        for page, title in self.by_page.items():
            pages.setdefault((page[0], title), page)
        return pages


NO_FIRST_TITLES = FirstTitles({})


def first_titles(connection: duckdb.DuckDBPyConnection) -> FirstTitles:
    """Read first titles from all answers of the wikis, through a connection to the lake."""
    rows = query(connection, _MOVED)
    return FirstTitles({(row["source"], row["page_id"]): row["title"] for row in rows})
