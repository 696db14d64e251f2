"""The names under which a page links to others."""

import re
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from holocron_assets.lake.titles import DEFAULT_SITE

_LINK = re.compile(r"\[\[([^\[\]|#]+(?:#[^\[\]|]*)?)(?:\|([^\[\]]*))?\]\](\w*)")
_MARKS = re.compile(r"'{2,}")
_SHORTEST_NAME = 3
_PREFIXES = DEFAULT_SITE.namespace_numbers.keys() | DEFAULT_SITE.interwiki_prefixes


def linked_names(wikitext: str) -> Mapping[str, str]:
    """The names under which a page links to others, with the titles that they lead to.

    A link to a section keeps its fragment ("Guilds#Lamplighters"): it names a part of that page. If a name
    leads to a page and also to its sections, it names the page. A name that leads to two pages, or only to
    two sections of one, is left out, and so are files, categories and other wikis.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for link in _LINK.finditer(wikitext):
        title = link[1].strip().replace("_", " ")
        name = _MARKS.sub("", (link[2] or link[1]).strip()) + link[3]
        if _leads_elsewhere(title) or len(name) < _SHORTEST_NAME or not title:
            continue
        found[name].add(title)
    named = ((name, _one_of(titles)) for name, titles in found.items())
    return {name: title for name, title in named if title}


def _one_of(titles: AbstractSet[str]) -> str | None:
    """What a name stands for that leads to some titles; None if that is open."""
    pages = {title.partition("#")[0] for title in titles}
    whole = titles if len(titles) == 1 else pages & titles
    return min(whole) if len(pages) == 1 and whole else None


def _leads_elsewhere(title: str) -> bool:
    """Whether a title is of another namespace or wiki, as "Category:Guilds", but not "Guilds: Origins"."""
    prefix, colon, rest = title.partition(":")
    # Only the wiki knows all its prefixes; people write them without a space.
    return bool(colon) and (prefix.strip().lower() in _PREFIXES or not rest.startswith(" "))
