"""The first known titles of pages that have another title now: ids are made from those."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import duckdb

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.views.database import query

Page = tuple[str, int | None]
"""A wiki's page, whatever its title: source and page id."""

_MOVED = """
    select pages.source, pages.page_id, arg_min(pages.title, answers.moment) as title
    from lake.pages as pages
    join answers using (batch, position)
    where answers.status = 'ok' and pages.page_id is not null
    group by all
    having min(pages.title) <> max(pages.title)
    order by min(answers.moment)
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
