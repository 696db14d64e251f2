"""The continuity that a page belongs to, and the evidence for it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holocron_assets.signals.hidden import FILLER
from holocron_assets.signals.infobox.template import template_name
from holocron_assets.signals.vocabulary import ContinuityWords, normalised_name

_UNKNOWN, _BOTH = "unknown", "both"
_SUBPAGE = re.compile(r"(.+)/([^/]+)$")
_SUFFIX = re.compile(r"(.+?) *\(([^()]+)\)$")
# If markers of one kind disagree, the first of these among them counts; canon with legends is both
_REAL = "real"


@dataclass(frozen=True, slots=True)
class Continuity:
    """A page's continuity.

    Attributes:
        value: 'canon', 'legends', 'both', 'real' or 'unknown'.
        evidence: the markers of any continuity, strongest first, as `kind:text=continuity`.
    """

    value: str
    evidence: tuple[str, ...]


def split_continuity(name: str, words: ContinuityWords) -> tuple[str, str | None]:
    """A name without its continuity suffix, and the suffix as written (`/Legends`, `(Legends)`) or None."""
    for pattern in (_SUBPAGE, _SUFFIX):
        match = pattern.fullmatch(name)
        if match and normalised_name(match[2]) in words.title_suffixes:
            return match[1], name[len(match[1]) :].strip()
    return name, None


def find_continuity(
    name: str, templates: Iterable[str], categories: Iterable[str], words: ContinuityWords
) -> Continuity:
    """The continuity of a page.

    There are three kinds of markers, strongest first: the title's suffix, arguments of marker templates at
    the top of the page, categories. The strongest kind with a marker decides. Within one kind, 'real' wins (a
    page on a real novel is about a real thing, whatever the continuity of its story), and canon together with
    legends is 'both'. Markers that lose stay in the evidence.

    Args:
        name: title without namespace prefix.
        templates: markup of the templates at the top of the page.
        categories: names without prefix.
        words: the markers' vocabulary.
    """
    kinds = (
        list(_title_markers(name, words)),
        [marker for template in templates for marker in _template_markers(template, words)],
        [marker for category in categories for marker in _category_markers(category, words)],
    )
    value = next((_decide(continuity for _, continuity in kind) for kind in kinds if kind), _UNKNOWN)
    evidence = dict.fromkeys(f"{text}={continuity}" for kind in kinds for text, continuity in kind)
    return Continuity(value, tuple(evidence))


def _decide(continuities: Iterable[str]) -> str:
    found = set(continuities)
    if _REAL in found:
        return _REAL
    return found.pop() if len(found) == 1 else _BOTH


def _title_markers(name: str, words: ContinuityWords) -> Iterable[tuple[str, str]]:
    _, suffix = split_continuity(name, words)
    if suffix:
        yield f"title:{suffix}", words.title_suffixes[normalised_name(suffix.strip("/()"))]


def _template_markers(markup: str, words: ContinuityWords) -> Iterable[tuple[str, str]]:
    name = template_name(markup)
    if name is None or normalised_name(name) not in words.marker_templates:
        return
    for argument in markup.removesuffix("}}").replace(FILLER, "").split("|")[1:]:
        key, equals, value = argument.partition("=")
        text = normalised_name(key)
        if equals and text in words.counterpart_arguments and value.strip():
            yield f"template:{name}|{text}=", words.counterpart_arguments[text]
        elif not equals:
            for pattern, continuity in words.marker_arguments.items():
                if pattern.fullmatch(text):
                    yield f"template:{name}|{text}", continuity


def _category_markers(category: str, words: ContinuityWords) -> Iterable[tuple[str, str]]:
    for pattern, continuity in words.categories.items():
        if pattern.fullmatch(category):
            yield f"category:{category}", continuity
