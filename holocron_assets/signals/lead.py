"""The lead of a page: the first prose about its subject, as clean text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.signals.clean import Cleaner
from holocron_assets.signals.paragraphs import Heading, Paragraph
from holocron_assets.signals.sentences import cut_at_sentence, first_sentence
from holocron_assets.signals.vocabulary import PageWords, normalised_name

LONGEST_SENTENCE = 1_000
SHORTEST_EXCERPT = 1_000
LONGEST_EXCERPT = 8_000
EXCERPT_LIMIT = 12_000
# Templates and links make markup longer than its text; more than this is never read
_LONGEST_PARAGRAPH = 60_000

_BOLD = re.compile("'''(.+?)'''", re.DOTALL)
_WORD = re.compile(r"\w{3,}|\d+")


@dataclass(frozen=True, slots=True)
class Lead:
    """A page's lead.

    Attributes:
        sentence: its first sentence, at most `LONGEST_SENTENCE` characters.
        excerpt: its paragraphs, with empty lines in between, at most `EXCERPT_LIMIT` characters.
        offset: the character of the wikitext where it starts.
        method: 'bold_title' or 'first_paragraph'.
    """

    sentence: str
    excerpt: str
    offset: int
    method: str

    @property
    def hash(self) -> str:
        """The 128-bit xxhash of the excerpt."""
        return content_hash(self.excerpt)


def find_lead(
    text: str, blocks: Sequence[Paragraph | Heading], cleaner: Cleaner, words: PageWords
) -> Lead | None:
    """The lead of a page; None if the page has no prose.

    It starts with the paragraph before the first heading that has the title in bold, else with the first
    paragraph. It is the lead section. If that is shorter than `SHORTEST_EXCERPT`, prose of the next sections
    is added, except for closing sections such as references. It is cut at the end of a sentence.

    Args:
        text: masked wikitext.
        blocks: its paragraphs and headings.
        cleaner: the page's cleaner.
        words: the closing sections of the language, and its full stops that end no sentence.
    """
    first_heading = next(
        (place for place, block in enumerate(blocks) if isinstance(block, Heading)), len(blocks)
    )
    lead_section = [block for block in blocks[:first_heading] if isinstance(block, Paragraph)]
    bold = _bold_title(text, lead_section, cleaner)
    # notices in prose may come before the paragraph that introduces the subject
    skipped = bold or 0
    pieces: list[str] = []
    offset = 0
    for paragraph, is_lead_section in _in_reach(
        blocks, skipped, first_heading, cleaner, words.closing_sections
    ):
        have = sum(map(len, pieces))
        if have >= (LONGEST_EXCERPT if is_lead_section else SHORTEST_EXCERPT):
            break
        if clean := cleaner.prose(_markup(text, paragraph)):
            offset = offset if pieces else paragraph.start
            pieces.append(clean)
    if not pieces:
        return None
    lengths = (SHORTEST_EXCERPT, LONGEST_EXCERPT, EXCERPT_LIMIT)
    excerpt = cut_at_sentence("\n\n".join(pieces), *lengths, words.stops)
    return Lead(
        sentence=first_sentence(excerpt, LONGEST_SENTENCE, words.stops),
        excerpt=excerpt,
        offset=offset,
        method="first_paragraph" if bold is None else "bold_title",
    )


def _markup(text: str, paragraph: Paragraph) -> str:
    return text[paragraph.start : min(paragraph.end, paragraph.start + _LONGEST_PARAGRAPH)]


def _in_reach(
    blocks: Sequence[Paragraph | Heading],
    skipped: int,
    first_heading: int,
    cleaner: Cleaner,
    closing_sections: frozenset[str],
) -> Iterable[tuple[Paragraph, bool]]:
    """Paragraphs that the lead may take; each with a flag whether it is in the lead section."""
    for place, block in enumerate(blocks[skipped:], start=skipped):
        if isinstance(block, Paragraph):
            yield block, place < first_heading
        elif normalised_name(cleaner.prose(block.text)) in closing_sections:
            return


def _bold_title(text: str, lead_section: Sequence[Paragraph], cleaner: Cleaner) -> int | None:
    """Number of the paragraph in the lead section that introduces the subject in bold."""
    name_words = set(_WORD.findall(cleaner.page_name.casefold()))
    first_has_bold = False
    for place, paragraph in enumerate(lead_section):
        markup = cleaner.prepared(_markup(text, paragraph))
        for match in _BOLD.finditer(markup):
            if name_words.intersection(_WORD.findall(match.group().casefold())):
                return place
            first_has_bold = first_has_bold or place == 0
    return 0 if first_has_bold else None
