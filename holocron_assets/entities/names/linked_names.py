"""The names under which a page links to others."""

import re
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from urllib.parse import unquote

from holocron_assets.lake.titles import DEFAULT_SITE, InvalidTitle, Site
from holocron_assets.languages.language import ENGLISH, load_language

_LINK = re.compile(r"\[\[([^\[\]|#]+(?:#[^\[\]|]*)?)(?:\|([^\[\]]*))?\]\](\w*)")
_MARKS = re.compile(r"'{2,}")
_SHORTEST_NAME = 3
_PREFIXES = DEFAULT_SITE.namespace_numbers.keys() | DEFAULT_SITE.interwiki_prefixes


def linked_names(wikitext: str, language: str = ENGLISH, site: Site = DEFAULT_SITE) -> Mapping[str, str]:
    """The names under which a page links to others, with the titles that they lead to.

    Titles are written as table `page_links` has them. A link to a section keeps its fragment
    ("Guilds#Lamplighters"): it names a part of that page. If a name leads to a page and also to its
    sections, it names the page. A name that leads to two pages, or only to two sections of one, is left out,
    and so are files, categories and other wikis.

    Args:
        wikitext: of the page.
        language: code of its language, as `language_code` gives it.
        site: the wiki that it is on.
    """
    prefixes = _PREFIXES | _namespaces(language)
    found: dict[str, set[str]] = defaultdict(set)
    for link in _LINK.finditer(wikitext):
        title = _title(link[1], site)
        name = _MARKS.sub("", (link[2] or link[1]).strip()) + link[3]
        leads_elsewhere = _leads_elsewhere(link[1].replace("_", " "), prefixes)
        if title and not leads_elsewhere and len(name) >= _SHORTEST_NAME:
            found[name].add(title)
    named = ((name, _one_of(titles)) for name, titles in found.items())
    return {name: title for name, title in named if title}


def _title(written: str, site: Site) -> str | None:
    """The title that a link leads to, with its fragment; None if no page can have it."""
    try:
        found = site.parse_title(unquote(written))
    except InvalidTitle:
        return None
    return f"{found.title}#{found.fragment}" if found.fragment else found.title


def _one_of(titles: AbstractSet[str]) -> str | None:
    """What a name stands for that leads to some titles; None if that is open."""
    pages = {title.partition("#")[0] for title in titles}
    whole = titles if len(titles) == 1 else pages & titles
    return min(whole) if len(pages) == 1 and whole else None


@cache
def _namespaces(language: str) -> AbstractSet[str]:
    """The names that namespaces have in a language, in lower case."""
    names = load_language(language).namespaces.values()
    return frozenset(name.lower() for of_one in names for name in of_one)


def _leads_elsewhere(title: str, prefixes: AbstractSet[str]) -> bool:
    """Whether a title is of another namespace or wiki, as "Category:Guilds", but not "Guilds: Origins"."""
    prefix, colon, rest = title.partition("#")[0].partition(":")
    prefix = prefix.strip().lower()
    # Only the wiki knows all its prefixes. People write them as one word, and no space after them.
    is_written_so = " " not in prefix and not rest.startswith(" ")
    return bool(colon) and (prefix in prefixes or is_written_so)
