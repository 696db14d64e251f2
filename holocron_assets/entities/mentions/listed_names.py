"""The names that a list page links to, one an item or a table's row, read without a model.

A list's editors link what it lists. So the first link of an item or a row is what the line is about; a name
without a link is left to a model.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from holocron_assets.classify.rules import load_rules
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.derive.code.given import CodeItem
from holocron_assets.entities.names.linked_names import linked_names
from holocron_assets.languages.language import ENGLISH, language_code

MOST_NAMES = 10_000
"""Of a page. MediaWiki's largest pages have fewer items."""
LONGEST_EVIDENCE = 300
"""Characters of a line that are quoted."""

_ITEM, _CELLS = "- ", " | "
_HEADING = re.compile(r"^=+ (.+) =+$")
_ASIDE_SECTIONS = frozenset(
    {"appearances", "bibliography", "external links", "notes", "notes and references", "references"}
    | {"see also", "sources", "further reading"}
)
_SEVERAL_KINDS = re.compile(r",| and | or ")
_LIST_OF = re.compile(r"^lists? of ", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:/Legends|\s*\([^()]*\))$")
_OPENING = " \t\"'\u201c\u2018("
_MOST_CELLS = 2
"""A row's subject is in its first cell, or in the second after a number or a date."""


def names_of_list(item: CodeItem) -> Iterator[dict[str, Any]]:
    """What a list page lists; the function of interrogation `listed_names`.

    Args:
        item: a list page.

    Yields:
        Rows of `evidence`, `name` and `type`, each name once. The type is the one that the list's title gives
        ("List of starships"), or null.
    """
    page, language = item.page, language_code(item.page.language)
    yield from islice(listed_names(page.title, page.text, page.wikitext, language), MOST_NAMES)


def listed_names(title: str, text: str, wikitext: str, language: str = ENGLISH) -> Iterator[dict[str, Any]]:
    """What a list page lists, row by row as `names_of_list` gives it.

    Args:
        title: the page's title.
        text: its clean text; see `page_text`.
        wikitext: its wikitext, which has the links.
        language: code of its language.
    """
    entity_type = type_of_list(title)
    seen: set[str] = set()
    for line, name in _named(text, linked_names(wikitext, language)):
        if name not in seen:
            seen.add(name)
            yield {"evidence": line[:LONGEST_EVIDENCE], "name": name, "type": entity_type}


def type_of_list(title: str) -> str | None:
    """The entity type of what a list of this title lists; None if its title does not say."""
    listed, is_list = _LIST_OF.subn("", _SUFFIX.sub("", title))
    if not is_list or _SEVERAL_KINDS.search(listed):
        return None
    found = load_rules().type_of_members(listed)
    return found if found in load_taxonomy().entity_worthy_types else None


def _named(text: str, links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Lines of a page's clean text that list something, each with the name."""
    lengths = sorted({len(name) for name in links}, reverse=True)

    def first(part: str) -> str | None:
        beginning = part.lstrip(_OPENING)
        names = (beginning[:length] for length in lengths if not beginning[length : length + 1].isalnum())
        return next((name for name in names if name in links), None)

    is_aside = False
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            is_aside = heading[1].casefold() in _ASIDE_SECTIONS
        elif not is_aside and (name := next(filter(None, map(first, _subjects(line))), None)):
            yield line.removeprefix(_ITEM), name


def _subjects(line: str) -> list[str]:
    """The parts of a line that may begin with what it is about: an item, or the first cells of a row."""
    if line.startswith(_ITEM):
        return [line.removeprefix(_ITEM)]
    cells = line.split(_CELLS)
    return cells[:_MOST_CELLS] if len(cells) > 1 else []
