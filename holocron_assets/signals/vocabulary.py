"""The words that extraction knows: those of any wiki (`vocabulary.yaml`), and those of the page's language.

The code has no words of a wiki or a language.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import takewhile
from typing import TypeVar

from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.titles import DEFAULT_SITE, Site
from holocron_assets.languages.language import (
    ENGLISH,
    Language,
    TemplatesOfText,
    known_languages,
    language_code,
    load_language,
)

_FILE = resources.files(__package__) / "vocabulary.yaml"
VOCABULARY_TEXT = _FILE.read_text(encoding="utf-8")
_NOTHING = re.compile("(?!)")
_YEAR = re.compile("[0-9]{4}")
_NUMBER = re.compile("[0-9]{1,2}")
_BEFORE_YEAR = 2
"""Arguments before a year, at most: day and month."""
_MONTHS = 12
_PLACE = re.compile("[1-9][0-9]{0,3}")
_AMOUNT = "[-+\u2212]?[0-9][0-9.,/+ \u00a0\u2009\u202f\u2013-]*+"
_MEASURE = re.compile(
    rf"{_AMOUNT}(?:\|(?:to|and|or|by|x|[-\u2013\u2014\u00d7\u00b1]|\+/-)\|{_AMOUNT})*+"
    rf"(?P<unit>(?:\|[^|0-9][^|]*+(?:\|{_AMOUNT}\|[^|0-9][^|]*+)*+)?+)(?![^|])"
)
"""Numbers with one unit and words between them, then pairs of a number and a unit."""
_ONE_AMOUNT = re.compile(_AMOUNT)
_UNITS_OF_HEIGHT = ("m", "cm", "ft", "in")
_CHANGES_NUMBER_OR_UNIT = ("e", "up", "upl")
"""Arguments that multiply a number by a power of ten, or divide its unit."""
_POWERS = {"2": "\u00b2", "3": "\u00b3"}

Argument = TypeVar("Argument")
"""An argument of a template, in the form that a reader of templates gives it."""


@dataclass(frozen=True)
class ContinuityWords:
    """Markers of a page's continuity. Values of mappings are 'canon', 'legends' or 'real'."""

    title_suffixes: Mapping[str, str]
    marker_templates: frozenset[str]
    marker_arguments: Mapping[re.Pattern[str], str]
    counterpart_arguments: Mapping[str, str]
    categories: Mapping[re.Pattern[str], str]


@dataclass(frozen=True)
class TextTemplates:
    """Templates that show a text on a wiki. `vocabulary.yaml` explains each list, but for `unit_templates`.

    Those are of a language. They show a number and its unit, and may have a power of the unit after it, where
    `measure_templates` have a unit to convert to.
    """

    text_templates: Mapping[str, str]
    argument_templates: Mapping[str, str]
    comment_templates: frozenset[str]
    date_templates: frozenset[str]
    measure_templates: frozenset[str]
    unit_templates: frozenset[str]
    shown_functions: frozenset[str]
    prefixes: Mapping[str, str]

    def is_function(self, name: str) -> bool:
        """Whether a template's normalised name is a parser function that shows what follows its colon."""
        function, colon, _ = name.partition(":")
        return bool(colon) and function.strip() in self.shown_functions

    def shows_text(self, name: str) -> bool:
        """Whether a template with this normalised name shows a text; that of a remark does not count."""
        known = name in self.text_templates or name in self.argument_templates or name in self.date_templates
        return known or self.shows_measure(name) or self.is_function(name)

    def shows_measure(self, name: str) -> bool:
        """Whether a template with this normalised name shows a number and its unit."""
        return name in self.measure_templates or name in self.unit_templates

    def measure(self, name: str, given: Mapping[str, str]) -> str:
        """The number and unit that a template of a measure shows; empty if they cannot be read.

        Args:
            name: its normalised name.
            given: its arguments by name, or by place among the unnamed ones.
        """
        shown = _shown_with_power if name in self.unit_templates else _shown_measure
        return shown(numbered(given.items()), given)


def _with_own(general: TextTemplates, own: TemplatesOfText) -> TextTemplates:
    """Templates that show a text on any wiki, with those of a language."""
    return replace(
        general,
        argument_templates={**general.argument_templates, **own.arguments},
        date_templates=general.date_templates | own.dates,
        unit_templates=own.measures,
    )


def shown_date(arguments: Iterable[str]) -> str:
    """The date that a template shows: 1977-05-25, 1977-05, 1977 or 25 mai 1977; empty without a year.

    Args:
        arguments: the template's unnamed arguments: a year of four digits, with month and day after it, or
            with day and month before it; or the whole date as one. A month before the year may be a word.
    """
    given = [argument.strip() for argument in arguments if argument.strip()]
    year = next((place for place, argument in enumerate(given) if _YEAR.fullmatch(argument)), None)
    if year is None:
        return given[0] if len(given) == 1 and _YEAR.search(given[0]) else ""
    before, after = given[:year][-_BEFORE_YEAR:], list(takewhile(_NUMBER.fullmatch, given[year + 1 :]))
    if before and all(map(_NUMBER.fullmatch, before)):
        after = before[::-1]
    elif before and not after and before[-1].isalpha():
        return " ".join([*(one for one in before[:-1] if one[0].isdigit()), before[-1], given[year]])
    if after and int(after[0]) > _MONTHS:  # the day was written before the month
        after = after[1::-1] if len(after) > 1 and int(after[1]) <= _MONTHS else []
    return "-".join([given[year], *(number.zfill(2) for number in after[:2])])


def _shown_measure(arguments: Sequence[str], named: Mapping[str, str]) -> str:
    """The number and unit that a template shows: 12 km, 6 ft 2 in, 10 to 20 km; empty without a number.

    Args:
        arguments: the template's unnamed arguments: numbers, words between two of them, and after each number
            its unit. What follows is how the template converts it.
        named: the others; `u` or `ul` names a unit, and a name of a unit of length has its number.
    """
    if any(named.get(key, "").strip() for key in _CHANGES_NUMBER_OR_UNIT):
        return ""
    if not arguments:
        lengths = ((named.get(unit, "").strip(), unit) for unit in named if unit in _UNITS_OF_HEIGHT)
        return " ".join(f"{length} {unit}" for length, unit in lengths if _ONE_AMOUNT.fullmatch(length))
    match = _MEASURE.match("|".join(argument.strip().removesuffix("(-)") for argument in arguments))
    if not match:
        return ""
    unit = "" if match["unit"] else named.get("u") or named.get("ul") or ""
    return f"{match[0].replace('|', ' ')} {unit.strip()}".rstrip()


def _shown_with_power(arguments: Sequence[str], named: Mapping[str, str]) -> str:
    """The same of a template that writes a power as {{unité|12|km|2}}; empty where further units follow."""
    measure, power = arguments[:2], [argument.strip() for argument in arguments[2:] if argument.strip()]
    if not power:
        return _shown_measure(measure, named)
    shown = _shown_measure(measure, named) if len(power) == 1 and power[0] in _POWERS else ""
    return shown and shown + _POWERS[power[0]]


def numbered(arguments: Iterable[tuple[str, Argument]]) -> list[Argument]:
    """The arguments of a template whose names are numbers, in their order; the last of a number counts.

    Args:
        arguments: each with its name. An unnamed one has its place among the unnamed ones, from 1.
    """
    found = {name: argument for name, argument in arguments if _PLACE.fullmatch(name)}
    return [found[name] for name in sorted(found, key=int)]


@dataclass(frozen=True)
class Vocabulary:
    """Every word list of `vocabulary.yaml`, compiled."""

    continuity: ContinuityWords
    templates: TextTemplates
    infobox_names: tuple[str, ...]
    language_codes: frozenset[str]
    merger_templates: frozenset[str]
    interlanguage_templates: frozenset[str]


@dataclass(frozen=True)
class TimelineWords:
    """Markers of a year or timeline page."""

    titles: Mapping[str, re.Pattern[str]]
    infoboxes: frozenset[str]
    templates: frozenset[str]
    categories: re.Pattern[str]


@dataclass(frozen=True)
class Stops:
    """Full stops of a language that end no sentence.

    Attributes:
        abbreviations: words in lower case; theirs does not.
        ordinals: whether that of a number of up to three digits does not.
    """

    abbreviations: frozenset[str]
    ordinals: bool = False


@dataclass(frozen=True)
class PageWords:
    """The words of a language, compiled. English markers of pages hold in every language.

    MediaWiki reads options of a picture as they are written: "mitte", and not "Mitte".
    """

    closing_sections: frozenset[str]
    stops: Stops
    timeline: TimelineWords
    infobox_names: re.Pattern[str]
    not_infobox_names: re.Pattern[str]
    disambiguation_suffixes: frozenset[str]
    disambiguation_templates: frozenset[str]
    disambiguation_categories: re.Pattern[str]
    list_titles: re.Pattern[str]
    list_categories: re.Pattern[str]
    redirects: frozenset[str]
    picture_options: re.Pattern[str]
    templates: TextTemplates


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
    data = load_yaml(text)
    continuity, templates = data["continuity"], data["templates"]
    return Vocabulary(
        continuity=ContinuityWords(
            title_suffixes=continuity["title_suffixes"],
            marker_templates=frozenset(continuity["marker_templates"]),
            marker_arguments=_patterns(continuity["marker_arguments"]),
            counterpart_arguments=continuity["counterpart_arguments"],
            categories=_patterns(continuity["categories"]),
        ),
        templates=TextTemplates(
            text_templates=templates["text_templates"],
            argument_templates=templates["argument_templates"],
            comment_templates=frozenset(templates["comment_templates"]),
            date_templates=frozenset(templates["date_templates"]),
            measure_templates=frozenset(templates["measure_templates"]),
            unit_templates=frozenset(),
            shown_functions=frozenset(templates["shown_functions"]),
            prefixes=templates["prefixes"],
        ),
        infobox_names=tuple(data["infobox_names"]),
        language_codes=frozenset(data["language_codes"].split()),
        merger_templates=frozenset(data["merger_templates"]),
        interlanguage_templates=frozenset(data["interlanguage_templates"]),
    )


VOCABULARY = parse_vocabulary(VOCABULARY_TEXT)


def words_of(site: Site) -> PageWords:
    """The words of a wiki's language."""
    return page_words(language_code(site.language))


def leads_to_a_language(target: str, site: Site, *, has_label: bool) -> bool:
    """Whether a link leads to the page in another language, and is shown beside the text.

    The prefixes of a wiki do not say which of them are languages. An export states no prefix. Then those of
    the languages that have a file count, and others in links as bots wrote them: `[[fi:Foo]]`.

    Args:
        target: what the link leads to, as it is written.
        site: the wiki that the link is on.
        has_label: whether words of its own follow the target.
    """
    prefix, colon, title = target.partition(":")
    code = prefix.strip(" _").lower()
    if not colon or code == language_code(site.language) or site.namespace_number(code) is not None:
        return False
    if code in known_languages():
        return True
    if code.partition("-")[0] not in VOCABULARY.language_codes:
        return False
    as_bots_write = not has_label and prefix.strip(" _") == code and title[:1].strip(" _") != ""
    return code in site.interwiki_prefixes or (as_bots_write and not _states_prefixes(site))


def _states_prefixes(site: Site) -> bool:
    """Whether a wiki says which prefixes lead to other wikis; one read from an export does not."""
    return site.interwiki_prefixes != DEFAULT_SITE.interwiki_prefixes


@cache
def page_words(code: str) -> PageWords:
    """The words of a language, compiled once a process.

    Args:
        code: as `language_code` gives it.
    """
    own = load_language(code)
    # wikis of all languages take templates, categories and titles from each other in English
    both = (own,) if code == ENGLISH else (own, load_language(ENGLISH))
    return PageWords(
        closing_sections=_all(one.prose.closing_sections for one in both),
        stops=Stops(frozenset(own.prose.abbreviations.split()), own.prose.ordinals_have_a_stop),
        timeline=_timeline(both),
        infobox_names=_any_of((*VOCABULARY.infobox_names, *own.infobox.names)),
        not_infobox_names=_any_of(name for one in both for name in one.infobox.not_names),
        disambiguation_suffixes=_all(one.disambiguation.title_suffixes for one in both),
        disambiguation_templates=_all(one.disambiguation.templates for one in both),
        disambiguation_categories=_any_of(name for one in both for name in one.disambiguation.categories),
        list_titles=_any_of(title for one in both for title in one.lists.titles),
        list_categories=_any_of(name for one in both for name in one.lists.categories),
        redirects=_all(one.redirects for one in both),
        picture_options=re.compile("|".join(own.picture_options) or "(?!)", re.DOTALL),
        templates=_with_own(VOCABULARY.templates, own.text_templates),
    )


def _all(lists: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*lists)


def _timeline(languages: Iterable[Language]) -> TimelineWords:
    words = [one.timeline for one in languages]
    titles: dict[str, list[str]] = {}
    for one in words:
        for marker, pattern in one.titles.items():
            titles.setdefault(marker, []).append(pattern)
    return TimelineWords(
        titles={marker: _any_of(patterns) for marker, patterns in titles.items()},
        infoboxes=_all(one.infoboxes for one in words),
        templates=_all(one.templates for one in words),
        categories=_any_of(name for one in words for name in one.categories),
    )
