"""The prose of a text: its paragraphs and headings, without infoboxes, tables, lists, hatnotes and images."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holocron_assets.lake.titles import Site
from holocron_assets.signals.clean import is_beside_text, shows_bold_name
from holocron_assets.signals.hidden import FILLER, replaced
from holocron_assets.signals.outline import Block, Outline

_LINK_TARGET = re.compile(r"\[\[[ \t]*+([^\[\]{}|:\n]*+:[^\[\]{}|\n]*+)(\]\])?")
_NOT_PROSE = re.compile(
    r"[*#:;|!]|\{\{|\{\||----|__[^\W\d_]{2,}(?:_[^\W\d_]+)*__[ \t]*$"
    r"|</?(?:div|table|tr|td|th|center|ul|ol|li|gallery|noinclude|blockquote)\b",
    re.IGNORECASE,
)
# The counts limit the search in lines of a million spaces
HEADING = re.compile(r"^(={1,6})[ \t]*+([^\n]{1,600}?)[ \t]{0,100}+\1[ \t]{0,100}+$", re.MULTILINE)
_AROUND = f" \t\r{FILLER}"
# Tags of a layout that a name in bold follows. Words right behind an opening one are in a box: a notice, say.
_LAYOUT = re.compile(
    rf"(?:(?:</?noinclude\b[^<>]*+|</(?:div|center)\s*+)>[{_AROUND}]*+"
    rf"|<(?:div|center)\b[^<>]*+>[{_AROUND}]*+(?=<))++(?=''')",
    re.IGNORECASE,
)
_HAS_LETTER = re.compile(r"[^\W\d_]")
_ITALIC_ONLY = re.compile(r"''(?!')(?:(?!'').)*+''\.?$", re.DOTALL)
_BOLD = re.compile(r"'''|<(?:b|strong)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of prose: its offsets in the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A section's heading: its level, wikitext and offset."""

    level: int
    text: str
    start: int


def read_blocks(text: str, text_outline: Outline, site: Site) -> Iterator[Paragraph | Heading]:
    """The paragraphs and headings of a text, in order.

    Args:
        text: masked wikitext.
        text_outline: its outline.
        site: knows which links are files, categories and other languages.
    """
    paragraph: Paragraph | None = None
    position = 0
    names = {block.end: block for block in text_outline.blocks if _is_name(text, block)}
    for line in blanked(text, text_outline, site).split("\n"):
        first = len(line) - len(line.lstrip(_AROUND))
        layout = _LAYOUT.match(line, first)
        first = layout.end() if layout else first
        shown = line[first:].rstrip(_AROUND)
        heading = HEADING.match(shown) if shown.startswith("=") else None
        is_prose = not heading and _is_prose(shown)
        if paragraph and (layout or not is_prose):
            yield paragraph
            paragraph = None
        if is_prose:
            start = _with_name(text, position, position + first, names)
            paragraph = Paragraph(paragraph.start if paragraph else start, position + len(line))
        if heading:
            yield Heading(len(heading[1]), heading[2], position)
        position += len(line) + 1
    if paragraph:
        yield paragraph


def _is_name(text: str, block: Block) -> bool:
    return block.kind == "template" and shows_bold_name(text[block.start : block.end])


def _with_name(text: str, line_start: int, start: int, names: Mapping[int, Block]) -> int:
    """Where a line's prose starts: at a template that names the subject, unless the prose names it itself."""
    name = names.get(line_start + len(text[line_start:start].rstrip(_AROUND)))
    if name is None or name.start < line_start or text.startswith("'''", start):
        return start
    return name.start


def blanked(text: str, text_outline: Outline, site: Site) -> str:
    """The text at unchanged length, with templates, tables and links beside the text replaced by filler."""
    blocks = (block for block in text_outline.blocks if _is_apart(text, block, site))
    return replaced(text, ((block.start, block.end, FILLER * (block.end - block.start)) for block in blocks))


def _is_apart(text: str, block: Block, site: Site) -> bool:
    if block.kind != "link":
        return True
    target = _LINK_TARGET.match(text, block.start, block.end)
    return target is not None and is_beside_text(target[1], site, has_label=target[2] is None)


def _is_prose(shown: str) -> bool:
    if not shown or _NOT_PROSE.match(shown) or not _HAS_LETTER.search(shown):
        return False
    # a line that is all in italics and has nothing in bold is a hatnote
    return not (shown.startswith("''") and _ITALIC_ONLY.match(shown) and not _BOLD.search(shown))
