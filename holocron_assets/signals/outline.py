"""Where the outermost templates, tables and links of a text are: one pass over its brackets, no recursion."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from holocron_assets.signals.hidden import masked

KEPT_TEXTS = 512
"""Texts whose reading stays in memory: those of a batch."""
_LONGEST_KEPT = 24_000
"""Characters. Only page_text reads more of a page, and each page once."""

# Most links and many templates have no bracket inside: they open and close at once.
_TOKEN = re.compile(
    r"(\[\[[^\[\]{}]*+\]\])|(\{\{[^\[\]{}]*+\}\}(?!\}))"
    r"|\{\{|\}\}|\[\[|\]\]"
    r"|^[ \t:]*+\{\|"
    # '|}' closes a table, unless it is the last parameter's '|' and a template's '}}'
    r"|^[ \t]*+\|\}(?!\}(?!\}))",
    re.MULTILINE,
)
_BRACKET = re.compile(r"[\[\]{}]")
_TEMPLATE, _TABLE, _LINK = "template", "table", "link"
_CLOSED = (None, _LINK, _TEMPLATE)
"""By the number of the group of `_TOKEN` that matches a block that opens and closes at once."""
_OPENS = {"{{": _TEMPLATE, "[[": _LINK, "{|": _TABLE}
_CLOSES = {"}}": _TEMPLATE, "]]": _LINK, "|}": _TABLE}


class Block(NamedTuple):
    """A closed piece of markup: a 'template', 'table' or 'link'; `end` is after its last character."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The open and closed brackets of a text.

    Attributes:
        blocks: the outermost blocks in text order.
        unclosed: where the first unclosed template or table starts.
        deepest: the largest number of templates that are open at once.
    """

    blocks: tuple[Block, ...]
    unclosed: int | None
    deepest: int

    def before(self, length: int) -> "Outline":
        """The outline of the text's first characters."""
        unclosed = self.unclosed if self.unclosed is not None and self.unclosed < length else None
        return Outline(tuple(block for block in self.blocks if block.end <= length), unclosed, self.deepest)


class _Builder:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.open: list[tuple[str, int]] = []
        self.counts = {_TEMPLATE: 0, _TABLE: 0, _LINK: 0}
        self.deepest = 0

    def push(self, kind: str, start: int) -> None:
        self.open.append((kind, start))
        self.counts[kind] += 1
        self.deepest = max(self.deepest, self.counts[_TEMPLATE])

    def pop(self) -> tuple[str, int]:
        kind, start = self.open.pop()
        self.counts[kind] -= 1
        return kind, start

    def close(self, kind: str, end: int) -> None:
        """Close the innermost block of a kind; blocks still open inside it are never closed."""
        if not self.counts[kind] or (kind == _LINK and self.open[-1][0] != _LINK):
            return
        opened, start = self.pop()
        while opened != kind:
            opened, start = self.pop()
        while self.blocks and self.blocks[-1].start > start:
            self.blocks.pop()
        self.blocks.append(Block(kind, start, end))


def outline(text: str) -> Outline:
    """Find the outermost closed templates, tables and links.

    Args:
        text: masked wikitext.

    Returns:
        The outline, in time linear in the text's length.
    """
    builder = _Builder()
    add = builder.blocks.append
    for match in _TOKEN.finditer(text):
        if kind := _CLOSED[match.lastindex or 0]:
            if kind == _TEMPLATE:
                builder.deepest = max(builder.deepest, builder.counts[_TEMPLATE] + 1)
            add(Block(kind, *match.span()))
            continue
        # the brackets of a table may have spaces before them
        brackets = match.group()[-2:]
        if kind := _OPENS.get(brackets):
            builder.push(kind, match.end() - 2)
        else:
            builder.close(_CLOSES[brackets], match.end())
    unclosed = next((start for kind, start in builder.open if kind != _LINK), None)
    return Outline(tuple(builder.blocks), unclosed, builder.deepest)


def enclosed_templates(text: str, text_outline: Outline) -> Iterator[Block]:
    """The outermost templates inside the tables and templates of an outline, with their places in the text.

    Args:
        text: masked wikitext.
        text_outline: its outline.
    """
    for outer in text_outline.blocks:
        if outer.kind != _LINK:
            offset = outer.start + 2
            for block in outline(text[offset : outer.end - 2]).blocks:
                if block.kind == _TEMPLATE:
                    yield Block(_TEMPLATE, offset + block.start, offset + block.end)


def masked_outline(wikitext: str) -> tuple[str, Outline]:
    """Masked wikitext and its outline. Several steps read the same texts of a batch, one after another."""
    return (_kept_outline if len(wikitext) <= _LONGEST_KEPT else _masked_outline)(wikitext)


def _masked_outline(wikitext: str) -> tuple[str, Outline]:
    text = masked(wikitext)
    return text, outline(text)


_kept_outline = lru_cache(maxsize=KEPT_TEXTS)(_masked_outline)


def nesting(text: str) -> int:
    """The largest number of brackets of one sort open at once; unclosed ones count to the end."""
    deepest = square = curly = 0
    for match in _BRACKET.finditer(text):
        bracket = match.group()
        if bracket == "[":
            square += 1
        elif bracket == "{":
            curly += 1
        elif bracket == "]":
            square = max(square - 1, 0)
        else:
            curly = max(curly - 1, 0)
        deepest = max(deepest, square, curly)
    return deepest
