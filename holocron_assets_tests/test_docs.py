"""The pages of docs/ lead to each other, and nowhere else."""

import re
from itertools import combinations
from pathlib import Path

import pytest
from documented import pages

from holocron_assets.settings import PROJECT_FOLDER

_LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)\)")
_CODE = re.compile(r"```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_INDEX = PROJECT_FOLDER / "docs" / "README.md"
_FEWEST_ROWS = 5
_WRITTEN_FROM_THE_CODE = {"tables.md", "views.md", "names.md", "vocabulary.md", "reference.md", "graph.md"}
"""A page that people write may say more of what they list."""


def links_of(page: Path) -> list[str]:
    return _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))


def anchors_of(page: Path) -> set[str]:
    """The anchors that a page's headings get, as GitHub makes them."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(PROJECT_FOLDER)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_the_index_names_every_page() -> None:
    named = {(_INDEX.parent / link.partition("#")[0]).resolve() for link in links_of(_INDEX)}
    assert {page.name for page in pages() if page not in named and page != _INDEX} == set()


def tables_of(page: Path) -> list[set[str]]:
    """What each table of a page is about: its first column."""
    tables = (table.splitlines()[2:] for table in _TABLE.findall(page.read_text(encoding="utf-8")))
    return [{line.split("|")[1].strip() for line in rows} for rows in tables if len(rows) >= _FEWEST_ROWS]


def test_no_table_stands_in_two_pages_that_people_write() -> None:
    repeated = [
        (one.name, other.name, sorted(first & second)[:3])
        for one, other in combinations(
            [page for page in pages() if page.name not in _WRITTEN_FROM_THE_CODE], 2
        )
        for first in tables_of(one)
        for second in tables_of(other)
        if len(first & second) > min(len(first), len(second)) / 2
    ]
    assert repeated == []


def test_one_page_lists_the_metrics() -> None:
    listing = {page.name for page in pages() if any(map(_lists_metrics, tables_of(page)))}
    assert listing == {"reference.md"}


def _lists_metrics(named: set[str]) -> bool:
    return any(name.startswith("`holocron_") for name in named)
