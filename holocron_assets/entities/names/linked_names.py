"""The names under which a page links to others."""

import re
from collections.abc import Mapping

_LINK = re.compile(r"\[\[([^\[\]|#]+(?:#[^\[\]|]*)?)(?:\|([^\[\]]*))?\]\](\w*)")
_MARKS = re.compile(r"'{2,}")
_SHORTEST_NAME = 3


def linked_names(wikitext: str) -> Mapping[str, str]:
    """The names under which a page links to others, with the titles that they lead to.

    A link to a section keeps its fragment ("Guilds#Lamplighters"): it names a part of that page.
    A name that leads to two titles is left out, and so are files, categories and other wikis.
    """
    found: dict[str, str] = {}
    ambiguous = set()
    for link in _LINK.finditer(wikitext):
        title = link[1].strip().replace("_", " ")
        name = _MARKS.sub("", (link[2] or link[1]).strip()) + link[3]
        if ":" in title.split(" ")[0] or len(name) < _SHORTEST_NAME or not title:
            continue
        if found.setdefault(name, title) != title:
            ambiguous.add(name)
    return {name: title for name, title in found.items() if name not in ambiguous}
