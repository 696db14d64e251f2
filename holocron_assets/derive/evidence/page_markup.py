"""The shape of a page's markup: where its lines are, of what kind, and where the cells of a table are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from holocron_assets.signals.hidden import FILLER
from holocron_assets.signals.infobox.template import template_name
from holocron_assets.signals.outline import Block, Outline
from holocron_assets.signals.paragraphs import HEADING
from holocron_assets.signals.vocabulary import TextTemplates, normalised_name

# The rest of markup that is never closed; no line of prose starts like this
_BROKEN_MARKUP = ("|", "!", "{{", "{|", "}}")
_LIST_MARKERS = ("*", "#", ":", ";")
_AROUND = f" \t\r{FILLER}"
_DATA_MARK = re.compile(r"\|\|")
_HEADER_MARK = re.compile(r"\|\||!!")
# Attributes before a cell's text, which end at a bar
_ATTRIBUTES = re.compile(r"[^|]*+\|")


class Line(NamedTuple):
    """A line of markup: its offsets, and what it is ('prose', 'item', 'heading', 'table' or 'nothing')."""

    kind: str
    start: int
    end: int


class Span(NamedTuple):
    """Offsets of a piece of markup."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Markup:
    """Masked wikitext without the templates that show no text, and its shape.

    The shape is the text with all closed templates, tables and links replaced by filler. The ends of lines
    and cells are searched in the shape, because nothing inside brackets ends a line or cell.

    Attributes:
        text: the markup.
        shape: its shape, as long as the text.
        tables: where each table starts and ends.
    """

    text: str
    shape: str
    tables: dict[int, int]

    @classmethod
    def of(cls, masked_text: str, blocks: Outline, words: TextTemplates) -> "Markup":
        """Find the shape of masked wikitext with an outline, and templates that show a text."""
        text: list[str] = []
        shape: list[str] = []
        tables: dict[int, int] = {}
        position = length = 0
        for block in blocks.blocks:
            between = masked_text[position : block.start]
            shown = masked_text[block.start : block.end]
            if not _shows_text(block, shown, words):
                shown = ""
            text += [between, shown]
            shape += [between, FILLER * len(shown)]
            if block.kind == "table":
                tables[length + len(between)] = length + len(between) + len(shown)
            length += len(between) + len(shown)
            position = block.end
        rest = masked_text[position:]
        return cls("".join([*text, rest]), "".join([*shape, rest]), tables)

    def without_tables(self) -> "Markup":
        """The markup with its tables cut out."""
        ends = [0, *self.tables.values()]
        starts = [*self.tables, len(self.text)]
        around = list(zip(ends, starts, strict=True))
        text, shape = ("".join(side[end:start] for end, start in around) for side in (self.text, self.shape))
        return Markup(text, shape, {})

    def lines(self) -> Iterator[Line]:
        """The lines, in order; lines inside one pair of brackets are one line."""
        position = 0
        for line in self.shape.split("\n"):
            end = position + len(line)
            start = position + len(line) - len(line.lstrip(" \t:"))
            if start in self.tables:
                yield Line("table", start, self.tables[start])
            else:
                yield Line(_kind(line), position, end)
            position = end + 1

    def rows(self) -> Iterator[list[Span]]:
        """Cells of each row, where the markup is the inside of a table."""
        row: list[Span] = []
        # the first line holds the table's attributes
        position = self.shape.find("\n") + 1 or len(self.shape)
        while position < len(self.shape):
            end = self.shape.find("\n", position)
            end = len(self.shape) if end < 0 else end
            line = self.shape[position:end].lstrip(" \t")
            start = end - len(line)
            if line.startswith("|+"):
                yield [self._cell(start + 2, end)]
            elif line.startswith("|-"):
                yield row
                row = []
            elif line.startswith(("|", "!")):
                row += self._cells(start, end)
            elif row:
                row[-1] = Span(row[-1].start, end)
            position = end + 1
        yield row

    def _cells(self, start: int, end: int) -> Iterator[Span]:
        """The cells of a line that starts with their mark."""
        mark = _HEADER_MARK if self.shape[start] == "!" else _DATA_MARK
        position = start + 1
        for match in mark.finditer(self.shape, position, end):
            yield self._cell(position, match.start())
            position = match.end()
        yield self._cell(position, end)

    def _cell(self, start: int, end: int) -> Span:
        attributes = _ATTRIBUTES.match(self.shape, start, end)
        return Span(attributes.end() if attributes else start, end)


def _shows_text(block: Block, markup: str, words: TextTemplates) -> bool:
    """Whether a block shows a text: all do except templates that the vocabulary does not know."""
    if block.kind != "template":
        return True
    name = normalised_name(template_name(markup) or "")
    return words.shows_text(name) or name.endswith("pagename")


def _kind(line: str) -> str:
    shown = line.strip(" \t\r")
    if shown.startswith("=") and HEADING.match(shown.strip(_AROUND)):
        return "heading"
    if shown.startswith(_LIST_MARKERS):
        return "item"
    if not shown or shown.startswith(_BROKEN_MARKUP):
        return "nothing"
    return "prose"
