"""The infobox of a page value by value: text, links, remarks in parentheses, and place.

The signals hold an infobox as clean text, from which single values cannot be read any more. So its wikitext
is read again, in one pass over its brackets. Every step is linear in the text's length, and no content of a
page raises an error.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import NamedTuple

from holocron_assets.lake.titles import Site
from holocron_assets.signals.infobox.runs import Run, matched_brackets, parameters, read_lines
from holocron_assets.signals.infobox.template import OWN_LINE_PARAMETER, shown_name, template_name
from holocron_assets.signals.outline import Outline, enclosed_templates, masked_outline
from holocron_assets.signals.references import cited_works

_FIRST_LENGTH = 24_000
_SECOND_LENGTH = 400_000
_MOST_FIELDS = 300
_MOST_VALUES = 500
_LONGEST_LINE = 5_000

_PARENTHESES = re.compile(r"\((?:[^()]|\([^()]*+\))*+\)")
_SEMICOLON = re.compile(r";")
_SEMICOLON_OR_COMMA = re.compile(r";|,(?=\s)")
_AROUND = " \t\n\u00a0,;:*\u2020{}[]|"
_LINKED = "x"
"""Replaces each character that a link shows, so that its brackets and commas separate nothing."""


class Link(NamedTuple):
    """A link in a value: its visible text, and the canonical title that it leads to, with its fragment."""

    text: str
    title: str


class InfoboxValue(NamedTuple):
    """One value of an infobox field.

    Attributes:
        field: the field's name, as written.
        text: the value as clean text, without text in parentheses.
        whole: the value with the text in parentheses.
        qualifier: the text in parentheses; `; ` separates several.
        links: its links to pages of the wiki, outside parentheses, in order.
        work: title of the work that it comes from: that of its first reference, or one named in parentheses.
        start: its first character in the wikitext.
        end: the character after its last.
    """

    field: str
    text: str
    whole: str
    qualifier: str | None
    links: tuple[Link, ...]
    work: str | None
    start: int
    end: int


class _Place(NamedTuple):
    """A field's name, and the start and end of its value."""

    name: str
    start: int
    end: int


def infobox_values(
    wikitext: str, template: str, site: Site, parts_at_commas: Callable[[str], bool]
) -> list[InfoboxValue]:
    """Read the values of a page's infobox, in page order.

    Values are list items, lines, or parts between `;`. Commas separate values only if the caller says so.
    What is only a remark in parentheses belongs to the value before it.

    Args:
        wikitext: the page's text.
        template: the infobox's template, as the page's signals name it.
        site: the wiki that the page is on.
        parts_at_commas: whether commas separate the values of a field, by its name as written.
    """
    for length in dict.fromkeys((_FIRST_LENGTH, _SECOND_LENGTH)):
        text, blocks = masked_outline(wikitext[:length])
        is_cut = length < len(wikitext) and length == _FIRST_LENGTH
        places = _places(text, blocks, template, site, is_cut=is_cut)
        if places is not None:
            return list(islice(_values(wikitext, text, places, site, parts_at_commas), _MOST_VALUES))
        if not is_cut:
            break
    return []


def _places(text: str, blocks: Outline, template: str, site: Site, *, is_cut: bool) -> list[_Place] | None:
    """The place of each field's value; the last one if a field is given twice. None without infobox."""
    places: list[_Place] | None = None
    for block in blocks.blocks:
        if block.kind == "template" and _is_called(text[block.start : block.end], template, site):
            places = _of_closed(text, block.start + 2, block.end - 2)
            break
    if places is None and blocks.unclosed is not None and not is_cut:
        rest = text[blocks.unclosed :]
        if _is_called(rest, template, site):
            places = _of_unclosed(rest, blocks.unclosed)
    if places is None and not is_cut:  # the page's own infobox may stand behind the cut
        places = _enclosed(text, blocks, template, site)
    return None if places is None else list({place.name: place for place in places}.values())


def _enclosed(text: str, blocks: Outline, template: str, site: Site) -> list[_Place] | None:
    """The places in the largest of the infoboxes that a table or another template encloses."""
    read = (
        _of_closed(text, block.start + 2, block.end - 2)
        for block in enclosed_templates(text, blocks)
        if _is_called(text[block.start : block.end], template, site)
    )
    return max(read, key=len, default=None)


def _is_called(markup: str, template: str, site: Site) -> bool:
    name = template_name(markup)
    return name is not None and shown_name(name.split("\n")[0], site) == template


def _of_closed(text: str, start: int, end: int) -> list[_Place]:
    named = (part for part in parameters(text, start, end, matched_brackets(text, start, end)) if part.name)
    return [_Place(part.name, part.start, part.end) for part in islice(named, _MOST_FIELDS)]


def _of_unclosed(rest: str, offset: int) -> list[_Place]:
    matches = islice(OWN_LINE_PARAMETER.finditer(rest), _MOST_FIELDS)
    return [_Place(match[1].strip(), offset + match.start(2), offset + match.end(2)) for match in matches]


def _values(
    wikitext: str,
    text: str,
    places: Sequence[_Place],
    site: Site,
    parts_at_commas: Callable[[str], bool],
) -> Iterator[InfoboxValue]:
    works = cited_works(wikitext[:_SECOND_LENGTH], site)
    for name, start, end in places:
        separator = _SEMICOLON_OR_COMMA if parts_at_commas(name) else _SEMICOLON
        lines = _with_remarks(line for line in read_lines(text, start, end, site) if line)
        starts = [line[0].start for line in lines]
        for line, limit in zip(lines, [*starts[1:], end], strict=False):
            yield from _line_values(name, line, separator, partial(_work_between, works), limit)


def _with_remarks(parts: Iterable[list[Run]]) -> list[list[Run]]:
    """The lines of a field, or the parts of a line. A mere remark belongs to the one before it."""
    found: list[list[Run]] = []
    for part in parts:
        if found and _PARENTHESES.fullmatch(_shape(part).strip(_AROUND)):
            last = found[-1][-1]
            found[-1] += [last._replace(text=" ", title=None, start=last.end), *part]
        else:
            found.append(part)
    return found


def _work_between(works: Mapping[int, str], start: int, end: int) -> str | None:
    """The work that the first reference in a part of the text cites."""
    places = list(works)
    first = bisect_left(places, start)
    return works[places[first]] if first < len(places) and places[first] < end else None


def _line_values(
    name: str,
    line: Sequence[Run],
    separator: re.Pattern[str],
    work_between: Callable[[int, int], str | None],
    limit: int,
) -> Iterator[InfoboxValue]:
    """The values of one line. A reference counts for the values before it, up to `limit`."""
    shape = _shape(line)[:_LONGEST_LINE]
    bare = _PARENTHESES.sub(lambda match: "(" * len(match[0]), shape)
    cuts = [0, *(match.end() for match in separator.finditer(bare)), len(bare)]
    parts = _with_remarks(part for cut in pairwise(cuts) if (part := _within(line, *cut)))
    ends = [*(part[0].start for part in parts[1:]), limit]
    for part, end in zip(parts, ends, strict=False):
        value = _value(name, part, work_between(part[0].start, max(end, part[-1].end)))
        if value:
            yield value


def _shape(line: Sequence[Run]) -> str:
    """The text of a line, without what its links show."""
    return "".join(_LINKED * len(run.text) if run.title else run.text for run in line)


def _within(line: Sequence[Run], start: int, end: int) -> list[Run]:
    """The runs of a line from one character to another; runs at the ends are cut."""
    found, position = [], 0
    for run in line:
        first, last = max(start - position, 0), min(end - position, len(run.text))
        position += len(run.text)
        if first < last:
            found.append(run.cut(first, last))
    while found and not found[0].text.strip(_AROUND):
        found.pop(0)
    while found and not found[-1].text.strip(_AROUND):
        found.pop()
    return found


def _value(name: str, part: Sequence[Run], cited: str | None) -> InfoboxValue | None:
    text = "".join(run.text for run in part)
    shape = _shape(part)
    apart = [match.span() for match in _PARENTHESES.finditer(shape)]
    whole = _tidy(text)
    outside = _joined(text, _gaps(apart, len(text))) if apart else whole
    qualifier = "; ".join(filter(None, (_tidy(text[start + 1 : end - 1]) for start, end in apart)))
    if not outside and not qualifier:
        return None
    links, named = _links(part, apart)
    return InfoboxValue(
        field=name,
        text=outside or qualifier,
        whole=whole or qualifier,
        qualifier=qualifier or None if outside else None,
        links=links,
        work=cited or named,
        start=_visible(part[0]).start,
        end=max((_visible(part[-1]).end, *(run.end for run in part[:-1]))),  # a prefix has its template's end
    )


def _visible(run: Run) -> Run:
    """A run without the spaces and marks around its words."""
    first = len(run.text) - len(run.text.lstrip(_AROUND))
    return run.cut(first, max(len(run.text.rstrip(_AROUND)), first))


def _gaps(apart: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    edges = [0, *(edge for span in apart for edge in span), length]
    return zip(edges[::2], edges[1::2], strict=True)


def _joined(text: str, spans: Iterator[tuple[int, int]]) -> str:
    return _tidy(" ".join(text[start:end] for start, end in spans))


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(_AROUND).replace(" ,", ",")


def _links(part: Sequence[Run], apart: Sequence[tuple[int, int]]) -> tuple[tuple[Link, ...], str | None]:
    """The links outside parentheses, and the title of a work, in italics, inside them."""
    outside, work, position = [], None, 0
    for run in part:
        is_apart = any(start <= position < end for start, end in apart)
        if run.title and not is_apart:
            outside.append(Link(_tidy(run.text), run.title))
        elif run.title and run.is_italic and work is None:
            work = run.title
        position += len(run.text)
    return tuple(outside), work
