"""The works that references cite."""

import re
from collections.abc import Iterator, Mapping

from holocron_assets.lake.titles import InvalidTitle, Site
from holocron_assets.signals.hidden import references

_NAME = re.compile(r"name\s*+=\s*+(?:\"([^\"<>]++)\"|'([^'<>]++)'|([^\s\"'<>/]++))", re.IGNORECASE)
# The title of a work is written in italics: ''[[X]]'' or [[X|''Y'']]
_WORK = re.compile(r"''\[\[([^\[\]{}<>|\n]++)(?:\||\]\])|\[\[([^\[\]{}<>|\n]++)\|''")
_LONGEST_READ = 2_000


def cited_works(wikitext: str, site: Site) -> Mapping[int, str]:
    """The work that each reference of a page cites, if it links to one.

    A reference that only repeats another's name cites the same work, at any place on the page.

    Args:
        wikitext: the page's text.
        site: the wiki that the page is on.

    Returns:
        Canonical titles, by the character where the reference starts, in page order.
    """
    works: dict[int, str] = {}
    by_name: dict[str, str] = {}
    repeated: dict[int, str] = {}
    for start, tag, content in _references(wikitext):
        match = _NAME.search(tag)
        name = next(filter(None, match.groups()), "") if match else ""
        work = _work(content, site) or by_name.get(name)
        if work:
            works[start] = work
            by_name.setdefault(name, work) if name else None
        elif name:
            repeated[start] = name
    works |= {start: by_name[name] for start, name in repeated.items() if name in by_name}
    return dict(sorted(works.items()))


def _references(wikitext: str) -> Iterator[tuple[int, str, str]]:
    for hidden in references(wikitext):
        content = wikitext[hidden.inner_start : min(hidden.inner_end, hidden.inner_start + _LONGEST_READ)]
        yield hidden.start, wikitext[hidden.start : hidden.inner_start][:_LONGEST_READ], content


def _work(content: str, site: Site) -> str | None:
    match = _WORK.search(content)
    if match is None:
        return None
    try:
        return site.parse_title(match[1] or match[2]).title
    except InvalidTitle:
        return None
