"""The parts of wikitext that MediaWiki does not read as wikitext: comments, nowiki, code, formulas.

Everything here takes time linear in the text's length: the end of an unclosed tag is searched for once.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FILLER = "\ufddf"
"""Replaces each hidden character. It is a Unicode noncharacter, so no exchanged text contains it."""

# Markup that nowiki protects becomes noncharacters: later steps see text, and the end restores them
_MARKUP = "[]{}|=<>'*#:;!"
_NONCHARACTERS = "".join(map(chr, range(0xFDD0, 0xFDD0 + len(_MARKUP))))
_NONCHARACTER = re.compile(f"[{_NONCHARACTERS}{FILLER}]")
_PROTECT = str.maketrans(_MARKUP + "\n", _NONCHARACTERS + " ")
_RESTORE = str.maketrans(_NONCHARACTERS, _MARKUP)

_CODE_TAGS = (
    "syntaxhighlight",
    "source",
    "math",
    "chem",
    "ce",
    "score",
    "timeline",
    "graph",
    "templatedata",
    "templatestyles",
    "mapframe",
    "maplink",
    "includeonly",
)
_LITERAL_TAGS = ("nowiki", "pre")
_APART_TAGS = ("ref", "references", "gallery", "imagemap", "style", "script", "inputbox", "youtube")


class Hidden(NamedTuple):
    """A hidden part of a text: all of it, and the content between its tags."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    tag: str


class _Tags:
    def __init__(self, names: Iterable[str]) -> None:
        names = tuple(names)
        # possessive and without '<', so that the end of an unclosed tag is not searched for repeatedly
        self.opening = re.compile(rf"<!--|<({'|'.join(names)})(?=[\s/>])[^<>]*+>", re.IGNORECASE)
        self.closing = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in names}

    def spans(self, text: str) -> Iterator[Hidden]:
        position = 0
        never_closed: set[str] = set()
        while match := self.opening.search(text, position):
            hidden = self._span(text, match, never_closed)
            position = hidden.end if hidden else match.end()
            if hidden:
                yield hidden

    def _span(self, text: str, match: re.Match[str], never_closed: set[str]) -> Hidden | None:
        start, inner = match.span()
        if match[1] is None:
            end = text.find("-->", inner)
            # an unclosed comment hides the rest of the page
            return (
                Hidden(start, len(text), inner, len(text), "")
                if end < 0
                else Hidden(start, end + 3, inner, end, "")
            )
        tag = match[1].lower()
        if text[inner - 2] == "/":
            return Hidden(start, inner, inner, inner, tag)
        closing = None if tag in never_closed else self.closing[tag].search(text, inner)
        if closing is None:
            # MediaWiki shows an unclosed tag as text
            never_closed.add(tag)
            return None
        return Hidden(start, closing.end(), inner, closing.start(), tag)


_NOT_WIKITEXT = _Tags((*_LITERAL_TAGS, *_CODE_TAGS))
_NOT_PROSE = _Tags((*_LITERAL_TAGS, *_CODE_TAGS, *_APART_TAGS))
_REFERENCE = _Tags((*_LITERAL_TAGS, *_CODE_TAGS, "ref"))
# The extension Tabber shows a tab at a time: its content is the page's, the words on the tabs are not
_TABBER = re.compile(
    r"(<tabber(?=[\s>])[^<>]*+>)((?:[^<]++|<(?!/tabber\s*+>))*+)(</tabber\s*+>|\Z)", re.IGNORECASE
)
_TAB = re.compile(r"(?:\A\s*+(?:\|-\|)?|\|-\|)\s*+(?:[^=|{}\[\]<>\n]{0,200}+=)?")
_NOT_LINE_BREAK = re.compile(r"[^\n]")
# {{!}} is a pipe in the argument of a template. In a link, it stands before the words that are shown.
_LINK = re.compile(r"\[\[[^\[\]]++\]\]")
_PIPE = "{{!}}"


def without_hidden(text: str) -> str:
    """The text without comments, nowiki, code and formulas, for reading links, categories and headings.

    References and galleries stay, because links in them count. A `FILLER` replaces each tag, since no title
    can hold one. Comments leave nothing.
    """
    spans = _NOT_WIKITEXT.spans(text)
    return replaced(text, ((one.start, one.end, FILLER if one.tag else "") for one in spans))


def replaced(text: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """The text with parts of it replaced: each has a start, an end and another text. They come in order."""
    pieces: list[str] = []
    position = 0
    for start, end, other in parts:
        pieces += text[position:start], other
        position = end
    return "".join(pieces) + text[position:] if pieces else text


def at_length(text: str) -> str:
    """The text at unchanged length, with comments, nowiki, code and formulas replaced by `FILLER`.

    References and galleries stay. Offsets in the result are offsets in the text.
    """
    spans = _NOT_WIKITEXT.spans(text)
    return replaced(text, ((one.start, one.end, FILLER * (one.end - one.start)) for one in spans))


def apart(text: str) -> Iterator[Hidden]:
    """The parts of a text that are no prose, in order: references, galleries and others, by their `tag`."""
    return _NOT_PROSE.spans(text)


def references(text: str) -> Iterator[Hidden]:
    """The references of a text, in order; a reference that only repeats a name is empty."""
    return (hidden for hidden in _REFERENCE.spans(text) if hidden.tag == "ref")


def masked(text: str) -> str:
    """The text at unchanged length, with everything but prose and structure replaced by `FILLER`.

    Comments, code, references, galleries and the words on tabs become filler. Markup in nowiki becomes
    characters without a meaning in wikitext, which `unmasked` restores. A pipe that a template writes in a
    link becomes one. Offsets in the result are offsets in the text.
    """
    text = replaced(text, ((one.start, one.end, _mask(text, one)) for one in _NOT_PROSE.spans(text)))
    if "<tabber" in text.lower():
        text = _TABBER.sub(_without_tabs, text)
    return _LINK.sub(_with_pipes, text) if _PIPE in text else text


def _with_pipes(link: re.Match[str]) -> str:
    return link[0].replace(_PIPE, "|".ljust(len(_PIPE), FILLER))


def _without_tabs(tabber: re.Match[str]) -> str:
    opening, content, closing = tabber.groups()
    return f"{FILLER * len(opening)}{_TAB.sub(_filler, content)}{FILLER * len(closing)}"


def _filler(match: re.Match[str]) -> str:
    """Filler for all but line breaks, which end paragraphs and lists."""
    return _NOT_LINE_BREAK.sub(FILLER, match[0])


def _mask(text: str, hidden: Hidden) -> str:
    if hidden.tag not in _LITERAL_TAGS:
        return FILLER * (hidden.end - hidden.start)
    before, after = hidden.inner_start - hidden.start, hidden.end - hidden.inner_end
    shown = text[hidden.inner_start : hidden.inner_end].translate(_PROTECT)
    return f"{FILLER * before}{shown}{FILLER * after}"


def protected(text: str, markup: str) -> str:
    """The text with a markup character made meaningless, as in nowiki; `unmasked` restores it."""
    return text.replace(markup, _NONCHARACTERS[_MARKUP.index(markup)])


def unmasked(text: str) -> str:
    """The text that a reader sees of a masked text: without fillers, and with nowiki's characters again."""
    if text.isascii() or not _NONCHARACTER.search(text):
        return text
    return text.replace(FILLER, "").translate(_RESTORE)
