"""The passages of a page: pieces of its clean text along headings and paragraphs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from holocron_assets.derive.evidence.chunks import page_chunks
from holocron_assets.derive.evidence.page_text import HEADING_LINE, page_text
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import Site

LONGEST = 1000
"""The most characters of a passage: some 200 tokens of English text, and below 512 in any language that a
tokenizer spells out. What is longer is cut after a line or a sentence."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a page's clean text.

    Attributes:
        headings: the headings that it stands under, the outermost first; none in the lead.
        text: what it holds, without a heading.
        start: where it starts in the page's clean text, in characters.
    """

    headings: tuple[str, ...]
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends, after its last character."""
        return self.start + len(self.text)


def passages(text: str) -> list[Passage]:
    """Cut a page's clean text into passages: none goes beyond its section, or beyond `LONGEST`.

    Together they hold all of the text except its headings and white space. Paragraphs, lists and tables stay
    whole where they fit.

    Args:
        text: clean text, as `page_text` gives it.
    """
    return [
        Passage(headings, chunk.text, start + chunk.start)
        for headings, section, start in _sections(text)
        for chunk in page_chunks(section, LONGEST)
    ]


def passage_rows(page: Row, site: Site, page_name: str) -> list[Row]:
    """Rows of table `page_chunks` for a page.

    The id of a passage says what it says and on which page, not where: a passage that a new revision leaves
    as it was keeps its id.

    Args:
        page: a row of table `pages` with status 'ok'.
        site: the wiki that the page is on.
        page_name: the page's name, as `page_signals` has it.
    """
    text = page_text(page.get("wikitext") or "", site, page_name)
    seen: Counter[str] = Counter()
    return [_row(page, passage, position, seen) for position, passage in enumerate(passages(text))]


def _row(page: Row, passage: Passage, position: int, seen: Counter[str]) -> Row:
    text_hash = content_hash("\n".join((*passage.headings, "", passage.text)))
    seen[text_hash] += 1  # the same words may stand twice under one heading
    return {
        **{name: page[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
        "passage_id": content_hash(f"{page['title_key']} {text_hash} {seen[text_hash]}"),
        "position": position,
        "headings": list(passage.headings),
        "text": passage.text,
        "text_hash": text_hash,
        "start_offset": passage.start,
        "end_offset": passage.end,
    }


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str, int]]:
    """The text between two headings, with the headings that it stands under and its offset."""
    open_headings: dict[int, str] = {}
    start = 0
    for heading in HEADING_LINE.finditer(text):
        yield tuple(open_headings.values()), text[start : heading.start()], start
        level = len(heading[0]) - len(heading[0].lstrip("="))
        open_headings = {known: title for known, title in open_headings.items() if known < level}
        open_headings[level] = heading[1]
        start = heading.end()
    yield tuple(open_headings.values()), text[start:], start
