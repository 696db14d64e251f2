"""Signals of a page: a row of table `page_signals` from a row of table `pages`, for any page."""

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.titles import InvalidTitle, PageTitle, Site
from holocron_assets.signals.clean import Cleaner
from holocron_assets.signals.continuity import find_continuity, split_continuity
from holocron_assets.signals.hidden import masked, without_hidden
from holocron_assets.signals.lead import Lead
from holocron_assets.signals.links import page_links
from holocron_assets.signals.markers import (
    interlanguage_links,
    is_disambiguation,
    is_list,
    merger_notices,
    template_names,
    timeline_markers,
)
from holocron_assets.signals.paragraphs import HEADING
from holocron_assets.signals.top import Top, read_top
from holocron_assets.signals.vocabulary import VOCABULARY, PageWords, words_of

SIGNALS_VERSION = code_version(__name__, "holocron_assets.languages.language")
"""The version of signals: it changes with the code, and with any word of the vocabulary or of a language."""

# MediaWiki's own limit ($wgMaxArticleSize is 2,048 KiB); nobody wrote a longer page by hand
LONGEST_WIKITEXT = 2_097_152
_MOST_SECTIONS = 1_000
_LONGEST_SECTION_TITLE = 300
_COPIED = ("source", "batch", "title", "title_key", "namespace", "page_id", "revision_id")


def signal_row(page: Row, site: Site) -> Row:
    """The row of table `page_signals` for a page. No content of a page makes it raise an error.

    Args:
        page: a row of table `pages` with status 'ok'.
        site: the wiki that the page is on.

    Returns:
        The signals; `extraction_error` names the page and says what could not be read and why.
    """
    started = time.perf_counter()
    try:
        signals = _signals(page, site)
    except Exception as error:  # noqa: BLE001 - no error in a parser may lose the page
        signals = _no_signals(page) | {
            "method": "bounded",
            "extraction_error": f"page {page['title']!r}: {type(error).__name__}: {error}",
        }
    return {
        **{key: page.get(key) for key in _COPIED},
        **signals,
        "extraction_ms": (time.perf_counter() - started) * 1_000,
        "signals_version": SIGNALS_VERSION,
    }


def unread_row(page: Row, error: str) -> Row:
    """The row of table `page_signals` for a page whose text cannot be read at all."""
    return {
        **{key: page.get(key) for key in _COPIED},
        **_no_signals(page),
        "extraction_error": error,
        "extraction_ms": 0.0,
        "signals_version": SIGNALS_VERSION,
    }


def _signals(page: Row, site: Site) -> dict[str, Any]:
    if page.get("content_model") not in (None, "wikitext"):
        return _no_signals(page)
    wikitext = page.get("wikitext") or ""
    read = wikitext[:LONGEST_WIKITEXT]
    full_name = _name(page, site)
    name, _ = split_continuity(full_name, VOCABULARY.continuity)
    visible = without_hidden(read)
    linked = page_links(page, site)
    categories = [category.name for category in linked.categories]
    top = Top() if linked.is_redirect else read_top(read, site, name)
    problems = top.problems
    if len(read) < len(wikitext):
        problems = (f"only the first {len(read):,} of {len(wikitext):,} characters were read", *problems)
    return {
        **_no_signals(page),
        **_form((full_name, name), top, visible, categories, words_of(site)),
        **_lead_columns(top.lead),
        "infobox_template": top.infobox.template if top.infobox else None,
        "infobox_fields": [{"name": key, "value": value} for key, value in top.infobox.fields]
        if top.infobox
        else [],
        "categories": categories,
        "sections": _sections(visible, Cleaner(site, words_of(site).templates, name)),
        "is_redirect": linked.is_redirect,
        "redirect_target": _with_fragment(linked.redirect) if linked.redirect else None,
        "merger_notices": merger_notices(visible),
        "interlanguage_links": interlanguage_links(visible, site),
        "method": "bounded" if problems else "mwparserfromhell",
        "extraction_error": f"page {page['title']!r}: {'; '.join(problems)}" if problems else None,
    }


def _with_fragment(target: PageTitle) -> str:
    """The title with its fragment, which distinguishes a redirect to a section from one to the page."""
    return f"{target.title}#{target.fragment}" if target.fragment else target.title


def _no_signals(page: Row) -> dict[str, Any]:
    return {
        "name": page["title"],
        "continuity": "unknown",
        "continuity_evidence": [],
        **_lead_columns(None),
        "infobox_template": None,
        "infobox_fields": [],
        "categories": list(page.get("categories") or ()),
        "sections": [],
        "is_redirect": bool(page.get("redirect_target")),
        "redirect_target": page.get("redirect_target"),
        "is_disambiguation": False,
        "is_list": False,
        "timeline_markers": [],
        "merger_notices": [],
        "interlanguage_links": [],
        "wikitext_length": len(page.get("wikitext") or ""),
        "method": "none",
        "extraction_error": None,
    }


def _name(page: Row, site: Site) -> str:
    try:
        return site.parse_title(page["title"]).name
    except InvalidTitle:
        return str(page["title"])


def _form(
    names: tuple[str, str], top: Top, visible: str, categories: Sequence[str], words: PageWords
) -> dict[str, Any]:
    full_name, name = names
    templates = template_names(visible)
    continuity = find_continuity(full_name, top.templates, categories, VOCABULARY.continuity)
    infobox_template = top.infobox.template if top.infobox else None
    return {
        "name": name,
        "continuity": continuity.value,
        "continuity_evidence": list(continuity.evidence),
        "is_disambiguation": is_disambiguation(name, templates, categories, words),
        "is_list": is_list(name, categories, words),
        "timeline_markers": timeline_markers(name, infobox_template, templates, categories, words.timeline),
    }


def _sections(visible: str, cleaner: Cleaner) -> list[dict[str, Any]]:
    return [
        {"level": len(heading[1]), "title": cleaner.prose(masked(heading[2]))[:_LONGEST_SECTION_TITLE]}
        for heading in islice(HEADING.finditer(visible), _MOST_SECTIONS)
    ]


def _lead_columns(lead: Lead | None) -> dict[str, Any]:
    return {
        "lead_sentence": lead.sentence if lead else None,
        "lead_excerpt": lead.excerpt if lead else None,
        "lead_offset": lead.offset if lead else None,
        "lead_length": len(lead.excerpt) if lead else 0,
        "lead_hash": lead.hash if lead else None,
        "lead_method": lead.method if lead else "none",
    }
