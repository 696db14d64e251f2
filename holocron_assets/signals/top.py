"""The top of a page, with infobox, lead and markers. No more of the page is read than needed."""

from dataclasses import dataclass, replace

from holocron_assets.lake.titles import Site
from holocron_assets.signals.clean import Cleaner
from holocron_assets.signals.infobox.template import Infobox, find_infobox
from holocron_assets.signals.lead import SHORTEST_EXCERPT, Lead, find_lead
from holocron_assets.signals.outline import Outline, masked_outline
from holocron_assets.signals.paragraphs import Heading, read_blocks
from holocron_assets.signals.vocabulary import words_of

# For nearly every page the first number of characters is enough; none is read further than the second
_FIRST_LENGTH = 24_000
_SECOND_LENGTH = 400_000
# MediaWiki expands no deeper ($wgMaxTemplateDepth)
_DEEPEST_TEMPLATES = 100


@dataclass(frozen=True, slots=True)
class Top:
    """The parts that are read from the top of a page.

    Attributes:
        infobox: its infobox.
        lead: its lead.
        templates: markup of the outermost templates before the first heading.
        problems: what could not be parsed, and why.
    """

    infobox: Infobox | None = None
    lead: Lead | None = None
    templates: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_top(wikitext: str, site: Site, page_name: str) -> Top:
    """Read a page's top.

    Args:
        wikitext: the page's text.
        site: the wiki that the page is on.
        page_name: title without namespace prefix and continuity suffix.
    """
    if len(wikitext) > _FIRST_LENGTH:
        top = _read_top(wikitext[:_FIRST_LENGTH], site, page_name, is_cut=True)
        if top and top.lead and len(top.lead.excerpt) >= SHORTEST_EXCERPT:
            return top
    text = wikitext[:_SECOND_LENGTH]
    top = _read_top(text, site, page_name, is_cut=False) or Top()
    if len(text) < len(wikitext) and not top.lead:
        problem = f"no lead in the first {len(text):,} of {len(wikitext):,} characters"
        return replace(top, problems=(*top.problems, problem))
    return top


def _read_top(wikitext: str, site: Site, page_name: str, *, is_cut: bool) -> Top | None:
    """The top of a page from the start of its text; None if the text is cut too short."""
    text, text_outline = masked_outline(wikitext)
    if is_cut:
        # the rest of the page may close a template that is open here, or continue the last paragraph
        text = text[: text_outline.unclosed].rpartition("\n\n")[0]
        text_outline = text_outline.before(len(text))
    blocks = list(read_blocks(text, text_outline, site))
    first_heading = next((block.start for block in blocks if isinstance(block, Heading)), None)
    if is_cut and first_heading is None:
        return None
    head = text[:first_heading]
    head_outline = text_outline.before(len(head))
    words = words_of(site)
    cleaner = Cleaner(site, words.templates, page_name)
    return Top(
        infobox=find_infobox(head, head_outline, cleaner, words),
        lead=find_lead(text, blocks, cleaner, words),
        templates=_templates(head, head_outline),
        problems=(*_depth_problems(text_outline), *dict.fromkeys(cleaner.problems)),
    )


def _depth_problems(text_outline: Outline) -> tuple[str, ...]:
    if text_outline.deepest <= _DEEPEST_TEMPLATES:
        return ()
    return (f"templates nest {text_outline.deepest:,} deep, {_DEEPEST_TEMPLATES} is MediaWiki's limit",)


def _templates(head: str, head_outline: Outline) -> tuple[str, ...]:
    return tuple(head[block.start : block.end] for block in head_outline.blocks if block.kind == "template")
