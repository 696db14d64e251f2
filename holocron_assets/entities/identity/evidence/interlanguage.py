"""Links between wikis of several languages, by which editors say that two pages are about one thing."""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from holocron_assets.entities.identity.records import Record

_LANGUAGE_AND_TITLE = re.compile(r"[\s_]*([^:=]+?)[\s_]*[:=][\s_]*([^#\s_][^#]*)")


def address(language: str, title: str) -> str:
    """The address of a page among wikis of several languages, as 'de:Varn'."""
    name = " ".join(title.replace("_", " ").split())
    return f"{language.lower()}:{name[:1].upper()}{name[1:]}"


def links_in(found: Iterable[str], codes: AbstractSet[str]) -> Iterator[str]:
    """The addresses in links and templates.

    A link to a section names a part of a page, so it is left out.

    Args:
        found: 'de:Varn' of a link, or the arguments of a template, as '|de=Varn|es=Varno'.
        codes: of the languages that may be linked to.
    """
    for part in (part for text in found for part in text.split("|")):
        match = _LANGUAGE_AND_TITLE.fullmatch(part)
        if match and match[1].lower() in codes:
            yield address(match[1], match[2])


def contradicts(one: Record, other: Record) -> str | None:
    """How a link of one page leads to another page of the other's language; None if none does."""
    for here, there in ((one, other), (other, one)):
        languages = {language_of(each) for each in there.addresses}
        linked = [each for each in here.interlanguage if language_of(each) in languages]
        if linked and not set(linked) & set(there.addresses):
            return f"{here.title!r} of {here.source} links to {linked[0]!r} instead"
    return None


def language_of(written: str) -> str:
    """The language of an address."""
    return written.partition(":")[0]
