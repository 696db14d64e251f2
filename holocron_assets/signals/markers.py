"""What marks a page: as a disambiguation, a list or a timeline, or as one of two about the same thing."""

import re
from collections.abc import Collection, Iterable

from holocron_assets.lake.titles import Site
from holocron_assets.signals.vocabulary import VOCABULARY, PageWords, TimelineWords, normalised_name

_TEMPLATE_NAME = re.compile(r"\{\{\s*+([^|{}\[\]<>\n]++)")
_SUFFIX = re.compile(r".+\(([^()]+)\)")
_LINK = re.compile(r"\[\[[ _]*+(([A-Za-z-]{2,})[ _]*+:[^\[\]{}<>|\n]++)(?:\|[^\[\]]*+)?\]\]")


def _templates(names: Iterable[str]) -> re.Pattern[str]:
    """The pattern of some templates in wikitext; its group holds the arguments."""
    either = "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in sorted(names))
    return re.compile(rf"\{{\{{\s*+(?:{either})\s*+(\|[^{{}}]*+)?\}}\}}", re.IGNORECASE)


_MERGERS = _templates(VOCABULARY.merger_templates)
_IN_OTHER_LANGUAGES = _templates(VOCABULARY.interlanguage_templates)


def template_names(text: str) -> set[str]:
    """Normalised names of all templates that a text uses, nested ones too."""
    return set(map(normalised_name, set(_TEMPLATE_NAME.findall(text))))


def is_disambiguation(
    name: str, templates: Collection[str], categories: Iterable[str], words: PageWords
) -> bool:
    """Whether a page lists pages with the same name: its title, a template or a category says so.

    Args:
        name: title without namespace prefix and continuity suffix.
        templates: normalised names of the page's templates.
        categories: names without prefix.
        words: those of the language.
    """
    suffix = _SUFFIX.fullmatch(name)
    return (
        (suffix is not None and normalised_name(suffix[1]) in words.disambiguation_suffixes)
        or not words.disambiguation_templates.isdisjoint(templates)
        or any(map(words.disambiguation_categories.fullmatch, categories))
    )


def is_list(name: str, categories: Iterable[str], words: PageWords) -> bool:
    """Whether a page is a list: its title or a category says so (arguments as for `is_disambiguation`)."""
    return words.list_titles.fullmatch(name) is not None or any(
        map(words.list_categories.fullmatch, categories)
    )


def timeline_markers(
    name: str,
    infobox_template: str | None,
    templates: Collection[str],
    categories: Iterable[str],
    words: TimelineWords,
) -> list[str]:
    """The markers of a page about a year, an era or a timeline, as `kind:text`, titles first.

    Args:
        name: title without namespace prefix and continuity suffix.
        infobox_template: name of the infobox's template.
        templates: normalised names of the page's templates.
        categories: names without prefix.
        words: the markers' words.
    """
    markers = [f"title:{kind}" for kind, pattern in words.titles.items() if pattern.fullmatch(name)]
    if infobox_template and normalised_name(infobox_template) in words.infoboxes:
        markers.append(f"infobox:{infobox_template}")
    markers.extend(f"template:{template}" for template in sorted(words.templates.intersection(templates)))
    markers.extend(f"category:{category}" for category in categories if words.categories.fullmatch(category))
    return markers


def merger_notices(visible: str) -> list[str]:
    """The arguments of each template that proposes to merge the page with others, as '|Varn (moon)'.

    Args:
        visible: the page's wikitext without what MediaWiki does not read as such.
    """
    return _MERGERS.findall(visible)


def interlanguage_links(visible: str, site: Site) -> list[str]:
    """Links that may lead to the page in another language.

    Args:
        visible: the page's wikitext without what MediaWiki does not read as such.
        site: the wiki that the page is on. The names of its namespaces are no languages.

    Returns:
        'de:Varn' of a link, and the arguments of a template, as '|de=Varn|es=Varno'.
    """
    links = [link for link, prefix in _LINK.findall(visible) if site.namespace_number(prefix) is None]
    return links + list(filter(None, _IN_OTHER_LANGUAGES.findall(visible)))
