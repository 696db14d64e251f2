"""The infobox of a page: its template and fields.

The infobox is the first template before the first heading that has an infobox's name. If there is none, it is
the first with a named parameter on a line of its own, or else the one with the most named parameters. What is
known as something else (a notice, a quote, an eyeline) is none. If no such template has fields, the infobox
is the largest template with an infobox's name that a table or another template encloses. The language's file
has the names.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, auto
from itertools import groupby, islice
from operator import itemgetter

from mwparserfromhell.nodes import Template

from holocron_assets.lake.titles import InvalidTitle, Site
from holocron_assets.signals.clean import Cleaner, is_hostile, parse
from holocron_assets.signals.hidden import FILLER, unmasked
from holocron_assets.signals.outline import Outline, enclosed_templates
from holocron_assets.signals.sentences import cut_between_words
from holocron_assets.signals.vocabulary import PageWords, normalised_name

_MOST_CANDIDATES = 200
_MOST_FIELDS = 300
_LONGEST_NAME = 100
_LONGEST_VALUE = 2_000
_FEWEST_NAMED = 2

_TEMPLATE_NAME = re.compile(r"\{\{\s*+(?:(?i:Template)\s*+:\s*+)?+([^|{}\[\]<>#:]++)")
OWN_LINE_PARAMETER = re.compile(
    r"^[ \t]*+\|[ \t]*+([^=|{}\[\]\n]{1,100}?)[ \t]*+=(.*+(?:\n(?![ \t]*\||\n|'''|=).*+)*+)$", re.MULTILINE
)
_CLOSING_BRACES = re.compile(r"\}\}\s*+$")
# A template within a value, with no bracket inside
_INNER_TEMPLATE = re.compile(r"\{\{([ \t]*+[^\s\[\]{}|<>#:][^\[\]{}|\n<>]*+)(?:\|[^\[\]{}]*+)?\}\}")
# What only mwparserfromhell reads: nested brackets, tags, addresses, and the marks at the start of a line
_NEEDS_PARSER = re.compile(r"[\[\]{}<]|[a-zA-Z]:[^ \n]|\n[*#:;=-]")


@dataclass(frozen=True, slots=True)
class Infobox:
    """An infobox.

    Attributes:
        template: name of its template, as the wiki writes it.
        fields: name and clean value of each named parameter, in page order; values may be empty.
    """

    template: str
    fields: tuple[tuple[str, str], ...]


def template_name(markup: str) -> str | None:
    """The name in a template's markup; None for parser functions and names that are computed."""
    match = _TEMPLATE_NAME.match(markup)
    if not match or markup[match.end() : match.end() + 1] in ("{", "[", "#", ":", "<"):
        return None
    return match[1].replace(FILLER, "").strip() or None


def find_infobox(head: str, head_outline: Outline, cleaner: Cleaner, words: PageWords) -> Infobox | None:
    """The infobox of a page.

    Args:
        head: masked wikitext up to the first heading.
        head_outline: its outline.
        cleaner: the page's cleaner.
        words: names that are, or are not, an infobox.
    """
    found = _likeliest(head, head_outline, cleaner, words)
    if found and (found.fields or _is_called_infobox(found.template, words)):
        return found
    return _enclosed(head, head_outline, cleaner, words) or found


def _enclosed(head: str, head_outline: Outline, cleaner: Cleaner, words: PageWords) -> Infobox | None:
    markups = (head[block.start : block.end] for block in enclosed_templates(head, head_outline))
    called = (markup for markup in markups if _is_called_infobox(template_name(markup) or "", words))
    read = (_infobox(markup, cleaner, words) for markup in islice(called, _MOST_CANDIDATES))
    return max(filter(None, read), key=_size, default=None)


def _likeliest(head: str, head_outline: Outline, cleaner: Cleaner, words: PageWords) -> Infobox | None:
    templates = (block for block in head_outline.blocks if block.kind == "template")
    candidates = [(head[block.start : block.end], _infobox) for block in islice(templates, _MOST_CANDIDATES)]
    if head_outline.unclosed is not None:
        candidates.append((head[head_outline.unclosed :], _unclosed_infobox))
    ranked = [(_rank(markup, words), markup, read) for markup, read in candidates]
    ranked.sort(key=itemgetter(0))  # the order is the page's otherwise
    for rank, equals in groupby(ranked, key=itemgetter(0)):
        found = filter(None, (read(markup, cleaner, words) for _, markup, read in equals))
        first = next(found, None)
        if first:
            return max((first, *found), key=_size) if rank is _Rank.INLINE else first
    return None


class _Rank(IntEnum):
    """How likely a template is the infobox, likeliest first."""

    CALLED_INFOBOX = auto()
    ON_LINES = auto()
    INLINE = auto()


def _rank(markup: str, words: PageWords) -> _Rank:
    if _is_called_infobox(template_name(markup) or "", words):
        return _Rank.CALLED_INFOBOX
    return _Rank.ON_LINES if OWN_LINE_PARAMETER.search(markup) else _Rank.INLINE


def _size(infobox: Infobox) -> int:
    return len(infobox.fields)


def _infobox(markup: str, cleaner: Cleaner, words: PageWords) -> Infobox | None:
    name = template_name(markup)
    if name is None or not _may_be_infobox(name, words):
        return None
    is_called_infobox = _is_called_infobox(name, words)
    if "=" not in markup and not is_called_infobox:
        return None
    markup = cleaner.prepared(markup)
    fields = _fields(name, markup, cleaner)
    if is_called_infobox or len(fields) >= _FEWEST_NAMED or OWN_LINE_PARAMETER.search(markup):
        return Infobox(shown_name(name, cleaner.site), fields)
    return None


def _may_be_infobox(name: str, words: PageWords) -> bool:
    return _is_called_infobox(name, words) or not words.not_infobox_names.fullmatch(normalised_name(name))


def _is_called_infobox(name: str, words: PageWords) -> bool:
    return words.infobox_names.fullmatch(normalised_name(name)) is not None


def _fields(name: str, markup: str, cleaner: Cleaner) -> tuple[tuple[str, str], ...]:
    if is_hostile(markup):
        cleaner.problems.append(f"template {name!r} is too large or nested too deep, read by lines")
        return _fields_by_lines(markup, cleaner)
    plain = _plain_fields(markup, cleaner)
    if plain is not None:
        return plain
    parsed = parse(markup).nodes[0]
    return (
        _parsed_fields(parsed, cleaner) if isinstance(parsed, Template) else _fields_by_lines(markup, cleaner)
    )


def _plain_fields(markup: str, cleaner: Cleaner) -> tuple[tuple[str, str], ...] | None:
    """The fields of a template that needs no parser, as most; None if it needs one.

    mwparserfromhell would give the same. It makes objects of every name and value, which takes most of the
    time of reading an infobox.
    """
    inner = markup.strip()[2:-2]
    shape = _INNER_TEMPLATE.sub(lambda match: FILLER * len(match[0]), inner)
    name, *parameters = shape.split("|")
    if _NEEDS_PARSER.search(shape) or "\n" in name.strip() or set("{>") & set(inner[: len(name)]):
        return None
    fields, start = [], len(name) + 1
    for parameter in parameters[:_MOST_FIELDS]:
        sign, end = start + parameter.find("="), start + len(parameter)
        if "=" in parameter:
            key, value = inner[start:sign], inner[sign + 1 : end]
            if "{" in key:
                return None
            fields.append((key, cleaner.field(_INNER_TEMPLATE.sub(cleaner.inner_template, value))))
        start = end + 1
    return _named(fields)


def _parsed_fields(template: Template, cleaner: Cleaner) -> tuple[tuple[str, str], ...]:
    given = (param for param in template.params[:_MOST_FIELDS] if param.showkey)
    return _named((str(param.name), cleaner.value(param.value)) for param in given)


def _named(fields: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each field once: if a parameter is given twice, the last one counts, as in MediaWiki."""
    named = {
        unmasked(name).strip()[:_LONGEST_NAME]: cut_between_words(value, _LONGEST_VALUE)
        for name, value in fields
    }
    return tuple(named.items())


def _fields_by_lines(markup: str, cleaner: Cleaner) -> tuple[tuple[str, str], ...]:
    body = _CLOSING_BRACES.sub("", markup)
    given = islice(OWN_LINE_PARAMETER.finditer(body), _MOST_FIELDS)
    return _named((match[1], cleaner.bounded(match[2])) for match in given)


def _unclosed_infobox(markup: str, cleaner: Cleaner, words: PageWords) -> Infobox | None:
    name = template_name(markup)
    if name is None or not _may_be_infobox(name, words):
        return None
    name = cut_between_words(name.split("\n")[0], _LONGEST_NAME)
    fields = _fields_by_lines(cleaner.prepared(markup), cleaner)
    if not fields:
        return None
    cleaner.problems.append(f"template {name!r} is never closed, read by lines")
    return Infobox(shown_name(name, cleaner.site), fields)


def shown_name(name: str, site: Site) -> str:
    """A template's name as the wiki stores it."""
    try:
        return site.parse_title(f"Template:{name}").name
    except InvalidTitle:
        return " ".join(name.split())[:_LONGEST_NAME]
