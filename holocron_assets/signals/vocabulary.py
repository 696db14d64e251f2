"""The words that extraction knows, read from `vocabulary.yaml`: the code has no words of a wiki."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources

from ruamel.yaml import YAML

_FILE = resources.files(__package__) / "vocabulary.yaml"
VOCABULARY_TEXT = _FILE.read_text(encoding="utf-8")
_NOTHING = re.compile("(?!)")


@dataclass(frozen=True)
class ContinuityWords:
    """Markers of a page's continuity. Values of mappings are 'canon', 'legends' or 'real'."""

    title_suffixes: Mapping[str, str]
    marker_templates: frozenset[str]
    marker_arguments: Mapping[re.Pattern[str], str]
    counterpart_arguments: Mapping[str, str]
    categories: Mapping[re.Pattern[str], str]


@dataclass(frozen=True)
class LeadWords:
    """Words on which the lead's limits and clean text depend."""

    closing_sections: frozenset[str]
    abbreviations: frozenset[str]
    text_templates: Mapping[str, str]
    argument_templates: Mapping[str, str]


@dataclass(frozen=True)
class TimelineWords:
    """Markers of a year or timeline page."""

    titles: Mapping[str, re.Pattern[str]]
    infoboxes: frozenset[str]
    templates: frozenset[str]
    categories: re.Pattern[str]


@dataclass(frozen=True)
class Vocabulary:
    """Every word list of `vocabulary.yaml`, compiled."""

    continuity: ContinuityWords
    lead: LeadWords
    timeline: TimelineWords
    infobox_names: re.Pattern[str]
    not_infobox_names: re.Pattern[str]
    comment_templates: frozenset[str]
    disambiguation_suffixes: frozenset[str]
    disambiguation_templates: frozenset[str]
    disambiguation_categories: re.Pattern[str]
    list_titles: re.Pattern[str]
    list_categories: re.Pattern[str]


def normalised_name(name: str) -> str:
    """A template's, category's or section's name as the vocabulary spells it: lower case, single spaces."""
    return " ".join(name.replace("_", " ").split()).lower()


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(alternatives, re.IGNORECASE) if alternatives else _NOTHING


def _patterns(mapping: Mapping[str, str]) -> dict[re.Pattern[str], str]:
    return {_any_of([pattern]): value for pattern, value in mapping.items()}


def parse_vocabulary(text: str) -> Vocabulary:
    """Read a vocabulary.

    Args:
        text: YAML with the keys of `vocabulary.yaml`.

    Raises:
        KeyError: a section is missing.
        re.error: a pattern is no regular expression.
    """
    data = YAML(typ="safe").load(text)
    continuity, lead, timeline = data["continuity"], data["lead"], data["timeline"]
    disambiguation = data["disambiguation"]
    return Vocabulary(
        continuity=ContinuityWords(
            title_suffixes=continuity["title_suffixes"],
            marker_templates=frozenset(continuity["marker_templates"]),
            marker_arguments=_patterns(continuity["marker_arguments"]),
            counterpart_arguments=continuity["counterpart_arguments"],
            categories=_patterns(continuity["categories"]),
        ),
        lead=LeadWords(
            closing_sections=frozenset(lead["closing_sections"]),
            abbreviations=frozenset(lead["abbreviations"].split()),
            text_templates=lead["text_templates"],
            argument_templates=lead["argument_templates"],
        ),
        timeline=TimelineWords(
            titles={name: _any_of([pattern]) for name, pattern in timeline["titles"].items()},
            infoboxes=frozenset(timeline["infoboxes"]),
            templates=frozenset(timeline["templates"]),
            categories=_any_of(timeline["categories"]),
        ),
        infobox_names=_any_of(data["infobox"]["names"]),
        not_infobox_names=_any_of(data["infobox"]["not_names"]),
        comment_templates=frozenset(data["infobox"]["comment_templates"]),
        disambiguation_suffixes=frozenset(disambiguation["title_suffixes"]),
        disambiguation_templates=frozenset(disambiguation["templates"]),
        disambiguation_categories=_any_of(disambiguation["categories"]),
        list_titles=_any_of(data["lists"]["titles"]),
        list_categories=_any_of(data["lists"]["categories"]),
    )


VOCABULARY = parse_vocabulary(VOCABULARY_TEXT)
