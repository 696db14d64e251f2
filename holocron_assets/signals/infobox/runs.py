"""The text that a reader sees of an infobox value, in runs with their link and their place.

It is read in one pass over brackets and marks. Templates that the vocabulary does not know show nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from holocron_assets.lake.titles import (
    CATEGORY_NAMESPACE,
    FILE_NAMESPACE,
    InvalidTitle,
    Site,
    decode_character_references,
)
from holocron_assets.signals.hidden import unmasked
from holocron_assets.signals.quotes import with_apostrophes
from holocron_assets.signals.vocabulary import (
    normalised_name,
    numbered,
    shown_date,
    words_of,
)

_DEEPEST = 20
_BRACKETS = re.compile(r"\{\{|\}\}|\[\[|\]\]")
_PARTS = re.compile(r"\{\{|\[\[|[|=]")
_LINK_OR_BAR = re.compile(r"\[\[|\|")
_MARKS = re.compile(
    r"\{\{|\[\[|\}\}|\]\]|'{2,5}"
    r"|<(?P<tag>/?[a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>"
    r"|\[(?:[a-z]{2,10}:)?//[^\s\[\]<>]++(?P<shown>[^\[\]\n]*+)\]"
    r"|\n[ \t]*+(?P<list>[*#:;]*+)",
    re.IGNORECASE,
)
_PLAIN_OR_NOT = re.compile(r"(?P<plain>[^&\ufdd0-\ufddf]++)|&[#\w]*+;?|[\ufdd0-\ufddf]++")
_LINE_START = re.compile(r"\s*+[*#:;]*+")
_BREAKS = frozenset({"br", "li", "p", "div", "tr", "dd", "dt", "hr"})
_ITALIC = frozenset({2, 5})


class Run(NamedTuple):
    """A piece of clean text.

    Attributes:
        text: the text that a reader sees.
        title: the canonical title that it links to, with its fragment.
        is_italic: whether it is written in italics.
        start: where its markup starts in the wikitext.
        end: the character after it.
    """

    text: str
    title: str | None
    is_italic: bool
    start: int
    end: int

    def cut(self, first: int, last: int) -> "Run":
        """Some of its characters; a link, or text whose markup differs from it, keeps its whole place."""
        if self.title or len(self.text) != self.end - self.start:
            return Run(self.text[first:last], self.title, self.is_italic, self.start, self.end)
        start = self.start
        return Run(self.text[first:last], None, self.is_italic, start + first, start + last)


class Parameter(NamedTuple):
    """A template's parameter: its name (a positional one has none), and where its value is."""

    name: str
    start: int
    end: int


def matched_brackets(text: str, start: int, end: int) -> Mapping[int, int]:
    """The position after the closing bracket of each `{{` and `[[` between two characters, if it is closed.

    A bracket that is open when its template closes is never closed.
    """
    closed: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    curly = 0
    for match in _BRACKETS.finditer(text, start, end):
        bracket = match[0]
        if bracket in ("{{", "[["):
            opened.append((bracket, match.start()))
            curly += bracket == "{{"
        elif bracket == "]]":
            if opened and opened[-1][0] == "[[":
                closed[opened.pop()[1]] = match.end()
        elif curly:
            while opened[-1][0] != "{{":
                opened.pop()
            closed[opened.pop()[1]] = match.end()
            curly -= 1
    return closed


def parameters(text: str, start: int, end: int, closed: Mapping[int, int]) -> Iterator[Parameter]:
    """The parameters of a template, from the text inside its braces."""
    bounds, equals = [], dict[int, int]()
    position = start
    while match := _PARTS.search(text, position, end):
        position = match.end()
        if match[0] == "|":
            bounds.append(match.start())
        elif match[0] == "=":
            if bounds:
                equals.setdefault(bounds[-1], match.start())
        else:
            position = min(closed.get(match.start(), position), end)
    for bound, after in zip(bounds, [*bounds[1:], end], strict=False):
        named = equals.get(bound)
        if named is None:
            yield Parameter("", bound + 1, after)
        else:
            yield Parameter(unmasked(text[bound + 1 : named]).strip(), named + 1, after)


def _by_name(given: Iterable[Parameter]) -> dict[str, Parameter]:
    """The parameters by name, or by place among the unnamed ones; the last of a name counts."""
    places = count(1)
    return {one.name or str(next(places)): one for one in given}


def read_lines(text: str, start: int, end: int, site: Site) -> list[list[Run]]:
    """The lines of a value: list items, and lines between line breaks.

    Args:
        text: the page's masked wikitext.
        start: where the value starts.
        end: the character after it.
        site: the wiki that the page is on.
    """
    if "'''" in (value := text[start:end]):
        text = text[:start] + with_apostrophes(value) + text[end:]
    reader = _Reader(text, site, matched_brackets(text, start, end))
    marks = _LINE_START.match(text, start, end)
    reader.read(marks.end() if marks else start, end, 0)
    return reader.lines


class _Reader:
    def __init__(self, text: str, site: Site, closed: Mapping[int, int]) -> None:
        self._text, self._site, self._closed = text, site, closed
        self._is_italic = False
        self.lines: list[list[Run]] = [[]]

    def read(self, start: int, end: int, depth: int) -> None:
        """Add the visible text of a part."""
        position = start
        while match := _MARKS.search(self._text, position, end):
            self._add_text(position, match.start())
            position = self._mark(match, end, depth)
        self._add_text(position, end)

    def _mark(self, match: re.Match[str], end: int, depth: int) -> int:
        """Add the visible text of a mark; return where to go on."""
        mark, after = match[0], match.end()
        closes = min(self._closed.get(match.start(), 0), end)
        if mark == "[[" and closes and depth < _DEEPEST:
            self._add_link(match.start(), closes, depth)
        elif mark == "{{" and closes:
            if depth < _DEEPEST:
                self._add_template(match.start(), closes, depth)
        elif mark.startswith("''"):
            self._is_italic ^= len(mark) in _ITALIC
        elif match["shown"] is not None:
            self._add_text(match.start("shown"), match.end("shown"))
        elif match["list"] is not None or (match["tag"] or "").strip("/").lower() in _BREAKS:
            self._break()
        return max(closes, after) if mark in ("[[", "{{") else after

    def _break(self) -> None:
        if self.lines[-1]:
            self.lines.append([])
        self._is_italic = False

    def _add_text(self, start: int, end: int) -> None:
        """Add text; characters whose markup differs from them become runs of their own."""
        for match in _PLAIN_OR_NOT.finditer(self._text, start, end):
            text = match[0] if match["plain"] else unmasked(decode_character_references(match[0]))
            if text and (self.lines[-1] or text.strip()):
                self.lines[-1].append(Run(text, None, self._is_italic, *match.span()))

    def _add_link(self, start: int, end: int, depth: int) -> None:
        bar = self._bar(start + 2, end - 2)
        target, shown = self._text[start + 2 : bar], self._text[bar + 1 : end - 2]
        if "[[" in target:
            target = self._flat(start + 2, bar, depth)
        title = self._title(target)
        if title == "":
            return
        is_italic = self._is_italic or shown.lstrip().startswith("''")
        label = self._flat(bar + 1, end - 2, depth) if bar < end - 2 else unmasked(target)
        text = (label.strip() or unmasked(target).strip()).removeprefix(":")
        if text:
            self.lines[-1].append(Run(text, title, is_italic, start, end))

    def _bar(self, start: int, end: int) -> int:
        """Where a link's target ends: at its first bar that no link inside it has, or at its end."""
        position = start
        while match := _LINK_OR_BAR.search(self._text, position, end):
            if match[0] == "|":
                return match.start()
            position = min(self._closed.get(match.start(), match.end()), end)
        return end

    def _title(self, target: str) -> str | None:
        """The title linked to; empty if the link shows no text; None if it leads to no page of the wiki."""
        try:
            found = self._site.parse_title(target.strip().removeprefix(":"))
        except InvalidTitle:
            return None
        if found.namespace in (FILE_NAMESPACE, CATEGORY_NAMESPACE) and not target.strip().startswith(":"):
            return ""
        return f"{found.title}#{found.fragment}" if found.fragment else found.title

    def _flat(self, start: int, end: int, depth: int) -> str:
        inner = _Reader(self._text, self._site, self._closed)
        inner.read(start, end, depth + 1)
        return " ".join("".join(run.text for run in line) for line in inner.lines)

    def _add_template(self, start: int, end: int, depth: int) -> None:
        words = words_of(self._site).templates
        inside = self._text[start + 2 : end - 2]
        name = normalised_name(inside.partition("|")[0])
        named = list(parameters(self._text, start + 2, end - 2, self._closed))
        given = _by_name(named)
        positional = numbered(given.items())
        if name in words.text_templates:
            self._add_shown(words.text_templates[name], start, end)
        elif name in words.comment_templates and positional:
            self._add_shown(f" ({self._flat(positional[0].start, positional[0].end, depth)})", start, end)
        elif name in words.date_templates:
            self._add_shown(
                shown_date(self._flat(one.start, one.end, depth) for one in positional), start, end
            )
        elif words.shows_measure(name):
            texts = {key: self._flat(one.start, one.end, depth) for key, one in given.items()}
            self._add_shown(words.measure(name, texts), start, end)
        elif words.is_function(name):
            bound = named[0].start - 1 if named else end - 2
            self.read(start + 2 + inside.index(":") + 1, bound, depth + 1)
        elif name in words.argument_templates:
            self._add_shown(words.prefixes.get(name, ""), start, end)
            shown = words.argument_templates[name]
            if shown == "*":
                self._add_arguments(positional, depth)
            elif shown in given:
                self.read(given[shown].start, given[shown].end, depth + 1)

    def _add_shown(self, text: str, start: int, end: int) -> None:
        """Add the text that a template shows as a whole."""
        if text:
            self.lines[-1].append(Run(text, None, self._is_italic, start, end))

    def _add_arguments(self, arguments: Sequence[Parameter], depth: int) -> None:
        """Add arguments of a template, each as a line."""
        for one in arguments:
            self._break()
            self.read(one.start, one.end, depth + 1)
