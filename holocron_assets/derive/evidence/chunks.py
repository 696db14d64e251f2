"""Chunks of a long page's clean text. The same text always gives the same chunks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from holocron_assets.derive.evidence.page_text import HEADING_LINE
from holocron_assets.signals.sentences import cut_at_sentence

_PARAGRAPH_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page's clean text. Pieces do not overlap; together they hold all of it except white space.

    Attributes:
        number: its place, from 0.
        text: what it holds, never blank.
        start: where it starts in the page's clean text, in characters.
        section: the last heading before it, or the one that it starts with; empty before the first.
    """

    number: int
    text: str
    start: int
    section: str


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, list, table or heading: its offsets, and its title if it is a heading."""

    start: int
    end: int
    heading: str | None


def page_chunks(text: str, characters: int) -> tuple[Chunk, ...]:
    """Cut a page's clean text into chunks.

    A chunk holds as many whole paragraphs, lists and tables as fit. A heading goes with the text after it,
    and starts a new chunk if the one before is at least half full. A block that is too long by itself is
    cut after a line or sentence, or else between words.

    Args:
        text: clean text, as `page_text` gives it.
        characters: the most characters of a chunk; at least 1.
    """
    chunks: list[Chunk] = []
    section = ""
    for blocks in _filled(list(_blocks(text, characters)), characters):
        headings = [block.heading for block in blocks if block.heading is not None]
        start, end = blocks[0].start, blocks[-1].end
        opening = blocks[0].heading
        chunks.append(Chunk(len(chunks), text[start:end], start, section if opening is None else opening))
        section = headings[-1] if headings else section
    return tuple(chunks)


def _blocks(text: str, characters: int) -> Iterator[_Block]:
    """The blocks of a text, those that are too long cut into several."""
    pieces = text.split(_PARAGRAPH_GAP)
    ends = accumulate(len(piece) + len(_PARAGRAPH_GAP) for piece in pieces)
    for piece, after in zip(pieces, ends, strict=True):
        start = after - len(_PARAGRAPH_GAP) - len(piece)
        end = start + len(piece)
        heading = HEADING_LINE.fullmatch(piece)
        while end - start > characters:
            cut = start + _cut(text[start : start + characters + 1], characters)
            yield _Block(start, cut, None)
            start = cut
            while start < end and text[start].isspace():
                start += 1
        if start < end and not text[start:end].isspace():
            yield _Block(start, end, heading[1] if heading else None)


def _cut(text: str, characters: int) -> int:
    """Where to cut a text that is one character too long or more: after a line, a sentence or a word."""
    line = text.rfind("\n", characters // 2)
    if line > 0:
        return line
    return max(len(cut_at_sentence(text, characters // 2, characters, characters)), 1)


def _filled(blocks: list[_Block], characters: int) -> Iterator[list[_Block]]:
    """Blocks that make one chunk together."""
    filled: list[_Block] = []
    for block in blocks:
        while filled and _starts_chunk(block, filled, characters):
            kept = _without_last_headings(filled)
            yield kept
            filled = filled[len(kept) :]
        filled.append(block)
    if filled:
        yield filled


def _starts_chunk(block: _Block, filled: list[_Block], characters: int) -> bool:
    """Whether a block starts a new chunk, instead of joining the blocks before it."""
    start = filled[0].start
    is_half_full = filled[-1].end - start >= characters // 2
    return block.end - start > characters or (block.heading is not None and is_half_full)


def _without_last_headings(blocks: list[_Block]) -> list[_Block]:
    """The blocks without the headings that stand last; all of them where they are nothing but headings."""
    count = len(blocks)
    while count and blocks[count - 1].heading is not None:
        count -= 1
    return blocks[:count] if count else blocks
