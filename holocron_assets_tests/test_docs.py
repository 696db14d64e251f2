"""The pages of docs/ lead to each other, and nowhere else."""

import re
from pathlib import Path

import pytest
from documented import pages

from holocron_assets.settings import PROJECT_FOLDER

_LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)\)")
_CODE = re.compile(r"```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_INDEX = PROJECT_FOLDER / "docs" / "README.md"


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
