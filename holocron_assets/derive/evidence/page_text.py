"""A whole page as the text that a reader sees: prose, headings, list items and table rows, line by line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from holocron_assets.derive.evidence.page_markup import Line, Markup, Span
from holocron_assets.lake.titles import Site
from holocron_assets.signals.clean import Cleaner
from holocron_assets.signals.extract import LONGEST_WIKITEXT
from holocron_assets.signals.hidden import FILLER
from holocron_assets.signals.outline import Outline, masked_outline, outline
from holocron_assets.signals.paragraphs import HEADING
from holocron_assets.signals.vocabulary import words_of

HEADING_LINE = re.compile(r"^={1,6} (.+) ={1,6}$", re.MULTILINE)
"""A heading in clean text; its group is the heading's own text."""

_INTERWIKI_LINK = re.compile(r"\[\[[ \t]*+([^\[\]{}|:\n]++):[^\[\]|\n]*+\]\]")
_LEFTOVER = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}")
_TABLE_TEMPLATE = re.compile(r"^(\{\{[^{}\n]*\}\})(?=[ \t]*\n[ \t]*(?:!|\|[-+]))", re.MULTILINE)
_DEEPEST_TABLES = 3
_BELOW_HEADINGS = 7


def page_text(wikitext: str, site: Site, page_name: str) -> str:
    """A page's clean text. An empty line separates paragraphs, lists and tables.

    Headings are `== written so ==`, list items start with `- `, and ` | ` separates a table row's cells.
    References, files, categories, galleries and comments are left out. So are links to other languages, empty
    sections, and templates that the vocabulary does not know as text. The infobox is a part of its own. The
    time grows in proportion to the text's length.

    Args:
        wikitext: the page's text; what is longer than MediaWiki allows is not read.
        site: the wiki of the page.
        page_name: the value of `{{PAGENAME}}`.
    """
    reader = _Reader(site, Cleaner(site, words_of(site).templates, page_name))
    text, blocks = masked_outline(wikitext[:LONGEST_WIKITEXT])
    opened = _tables_opened(text, blocks)
    outlined = blocks if opened == text else outline(opened)
    groups = reader.groups(Markup.of(opened, outlined, reader.cleaner.words))
    return "\n\n".join(_without_empty_sections(["\n".join(lines) for lines in groups]))


def _tables_opened(text: str, blocks: Outline) -> str:
    """Masked wikitext in which a template that opens a table, as `{{Prettytable}}`, is a table's `{|`.

    It stands alone on a line outside all brackets, and the next line begins a row.
    """
    found = list(_TABLE_TEMPLATE.finditer(text))
    outside = {block.start for block in blocks.blocks} if found else set()
    for template in found:
        if template.start() in outside:
            opened = "{|" + FILLER * (len(template[1]) - 2)
            text = text[: template.start()] + opened + text[template.end(1) :]
    return text


def _without_empty_sections(groups: Sequence[str]) -> list[str]:
    """The groups without headings that no text follows before one of the same level or above."""
    kept: list[str] = []
    following = 0
    for group in reversed(groups):
        level = group.find(" ") if HEADING_LINE.fullmatch(group) else _BELOW_HEADINGS
        if level == _BELOW_HEADINGS or level < following:
            kept.append(group)
            following = level
    return kept[::-1]


@dataclass(frozen=True, slots=True)
class _Reader:
    site: Site
    cleaner: Cleaner

    def groups(self, markup: Markup, depth: int = 0) -> Iterator[list[str]]:
        """Lines of clean text that belong together; no group and no line is empty."""
        for kind, run in groupby(markup.lines(), key=attrgetter("kind")):
            lines = list(run)
            if kind == "table":
                for line in lines:
                    yield from self._table(markup.text[line.start : line.end], depth)
            elif kind == "heading":
                yield from ([shown] for line in lines if (shown := self._heading(markup, line)))
            elif kind == "item":
                items = [self._clean(markup, line) for line in lines]
                yield from [marked] if (marked := [f"- {item}" for item in items if item]) else []
            elif kind == "prose":
                paragraph = self._clean(markup, Span(lines[0].start, lines[-1].end))
                yield from [[paragraph]] if paragraph else []

    def _clean(self, markup: Markup, span: Line | Span) -> str:
        text = markup.text[span.start : span.end]
        link = _INTERWIKI_LINK.fullmatch(text.strip(f" \t\r{FILLER}"))
        # a link without words of its own leads to the same page on another wiki, and is not in the text
        if link and link[1].strip().lower() in self.site.interwiki_prefixes:
            return ""
        return _LEFTOVER.sub("", self.cleaner.prose(text)).strip()

    def _heading(self, markup: Markup, line: Line) -> str:
        match = HEADING.match(markup.text[line.start : line.end].strip(f" \t\r{FILLER}"))
        title = self._clean(Markup(match[2], match[2], {}), Span(0, len(match[2]))) if match else ""
        return f"{match[1]} {title} {match[1]}" if match and title else ""

    def _table(self, text: str, depth: int) -> Iterator[list[str]]:
        """The rows of a table, and then of the tables inside it."""
        inner = Markup.of(text[2:-2], outline(text[2:-2]), self.cleaner.words)
        own = inner.without_tables()
        rows = [[self._clean(own, cell) for cell in row] for row in own.rows()]
        if lines := [" | ".join(filter(None, cells)) for cells in rows if any(cells)]:
            yield lines
        if depth < _DEEPEST_TABLES:
            for start, end in inner.tables.items():
                yield from self._table(inner.text[start:end], depth + 1)
