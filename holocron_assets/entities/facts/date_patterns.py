"""How dates are written in a language: its words, and the calendars of `eras.yaml`, as patterns."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.languages.language import Dates, Language, load_language

_ERAS_FILE = Path(__file__).with_name("eras.yaml")
_DASHES = "\u2010|\u2013|\u2014|-"
_BARE = r"(?<![\d.,:/])"


class DatePatterns(NamedTuple):
    """The patterns of one language.

    Attributes:
        real: finds a date of the real world; its groups are parts of dates.
        begins: finds a day or a month that begins a span right before the date that ends it.
        time: matches a text that is a day without a year, or a year of an unknown calendar: "283 AC".
        months: the number of a month, by its name in lower case.
        of_era: finds a year, or two, of a calendar of `eras.yaml`.
        eras: the calendar of an era's name in capitals, and -1 for years before its event, else 1.
        era_follows: matches the era of a number, at once or after a second number.
        between: matches what joins two dates to a span.
        prefix: finds a word before a date that says what the date limits.
        event: finds words before a date that name an event of that date, and say on which side of it.
        suffix: matches words after a date that leave one of its sides open.
        onwards: matches words that do so only after a date with a certain word before it: "von 1977 an".
    """

    real: re.Pattern[str]
    begins: re.Pattern[str]
    time: re.Pattern[str]
    months: Mapping[str, int]
    of_era: re.Pattern[str]
    eras: Mapping[str, tuple[str, int]]
    era_follows: re.Pattern[str]
    between: re.Pattern[str]
    prefix: re.Pattern[str]
    event: re.Pattern[str]
    suffix: re.Pattern[str]
    onwards: re.Pattern[str]


@cache
def date_patterns(code: str) -> DatePatterns:
    """The patterns of a language, compiled once a process.

    Args:
        code: as `language_code` gives it.
    """
    language = load_language(code)
    words, eras = language.dates, _eras(language)
    names = _any(map(re.escape, eras))
    about = rf"(?:(?:{_any(words.about)}|~)\s*+)?"
    joined = rf"\s*+(?:{_DASHES}|&|{_any(words.era_to)})\s*+{about}"
    number = _number(language)
    return DatePatterns(
        real=re.compile(_real(words, joined, number), re.IGNORECASE),
        begins=re.compile(_begins(words), re.IGNORECASE),
        time=re.compile(_time(words, about), re.IGNORECASE),
        months={name: number for number, names in enumerate(words.months, start=1) for name in names},
        of_era=re.compile(
            rf"(?:(?P<first>{number}){joined})?(?P<second>{number})\s*+(?P<era>{names})(?!\w)", re.IGNORECASE
        ),
        eras=eras,
        era_follows=re.compile(rf"(?:{joined}\d[\d,.]*)?\s*(?:{names})(?!\w)", re.IGNORECASE),
        between=re.compile(rf"\s*+(?:{_DASHES}|{_any(words.to)}|[/&])\s*+{about}", re.IGNORECASE),
        prefix=re.compile(_prefix(words, about), re.IGNORECASE),
        event=re.compile(_event(words, about), re.IGNORECASE),
        suffix=re.compile(_suffix(words), re.IGNORECASE),
        onwards=re.compile(_onwards(words), re.IGNORECASE),
    )


def _any(patterns: Iterable[str]) -> str:
    return "|".join(patterns) or "(?!)"


def _eras(language: Language) -> dict[str, tuple[str, int]]:
    """Names of eras; those of the language replace a calendar's English ones, since the letters may clash."""
    english = load_yaml(_ERAS_FILE.read_text(encoding="utf-8"))
    return {
        name.upper(): (calendar, -1 if side == "before" else 1)
        for calendar, sides in {**english, **language.dates.eras}.items()
        for side, names in sides.items()
        for name in names
    }


def _number(language: Language) -> str:
    """A number of years. In English, a space marks thousands only if nothing but zeros follow."""
    if language.values.decimal == ".":
        figures = r"[1-9]\d{0,2}(?:[\u00a0\u202f ]000)+|\d{1,3}(?:,\d{3})+|\d{1,9}"
        return rf"(?<![\d,:])(?<!\d[./])(?:{figures})(?:\.\d{{1,2}})?(?!\d)"
    return r"(?<![\d,.:])(?<!\d/)(?:\d{1,3}(?:[.\u00a0\u202f ]\d{3})+|\d{1,9})(?:,\d{1,2})?(?!\d)"


def _month(words: Dates) -> str:
    months = sorted((name for names in words.months for name in names), key=len, reverse=True)
    return rf"(?:{_any(map(re.escape, months))})\.?"


def _real(words: Dates, joined: str, number: str) -> str:
    month, ordinal, to = _month(words), f"(?:{_any(words.ordinals)})?", _to(words)
    of, day_of = rf"(?:(?:{_any(words.of)})\s+)?", rf"(?:(?:{_any(words.day_of)})\s+)?"
    after_christ = _any(words.after_christ)
    days = rf"(?:(?P<first_day>\d{{1,2}}){ordinal}{to})?(?P<day>\d{{1,2}}){ordinal}"
    # "October, 2018", but not "in March, 2000 men died"
    comma = rf",\s*(?=\d{{4}}\b(?!,\d|\s+(?!(?:{_any(words.to)})\b)\w))"
    alternatives = [
        rf"\b(?P<month>{month})(?:\s+(?:{days}(?:,\s*|\s+))?{of}|{comma})(?P<year>\d{{4}})\b",
        rf"\b(?P<day2>\d{{1,2}}){ordinal}\s+{day_of}(?P<month2>{month}),?\s+{day_of}(?P<year2>\d{{4}})\b",
        rf"(?:(?P<first_bc>{number}){joined})?(?P<bc>{number})\s*(?:{_any(words.before_christ)})(?!\w)",
        rf"\b(?:{after_christ})\s*(?P<year7>\d{{1,4}})(?![\d,.:/]*\d)\b",
        rf"{_BARE}\b(?:(?P<first_ad>\d{{1,4}}){joined})?(?P<year8>\d{{1,4}})\s*(?:{after_christ})(?!\w)",
        # 1939-45; after a hyphen, 01 to 12 are months
        r"(?<![\w.,:/-])(?P<year4>[12]\d{3})(?:\u2013|\u2014|-(?!0|1[0-2]))(?P<last_year>\d\d)(?![\d,.:/-]*\d)\b",
        r"\b(?P<year3>\d{4})-(?P<month3>\d{2})(?:-(?P<day3>\d{2}))?\b",
        # "1000 years" is a length of time
        rf"{_BARE}(?P<year6>[12]\d{{3}})(?![\d,.:/]*\d|\s+(?:{_any(words.units)})\b)\b",
    ]
    alternatives.append(_in_figures(words))
    return "|".join(alternatives)


def _in_figures(words: Dates) -> str:
    """A date such as 25.05.1977. A number above 12 is a day in any language.

    In a language that does not say that days come first, a version is no date, nor the first part of a span
    whose last part is not read: it would be half of what the text says.
    """
    if words.day_first:
        begins, day, ends = _BARE, r"\d{1,2}", ""
    else:
        begins = rf"{_BARE}(?<!\w)(?<!\bversion\s)(?<!\bv\s)(?<!\bv\.)(?<!\bv\.\s)"
        day = r"(?:1[3-9]|2\d|3[01])"
        ends = rf"(?!\s*(?:{_DASHES})\s*(?:0?\d|1[0-2])[./]\d)"
    return rf"{begins}(?P<day5>{day})[./](?P<month5>\d{{1,2}})[./](?P<year5>\d{{4}})(?![\d,.:/]*\d)\b{ends}"


def _begins(words: Dates) -> str:
    month, ordinal, to = _month(words), f"(?:{_any(words.ordinals)})?", _to(words)
    day_of = rf"(?:(?:{_any(words.day_of)})\s+)?"
    return (
        rf"\b(?P<month>{month})(?:\s+(?P<day>\d{{1,2}}){ordinal})?{to}$"
        rf"|{_BARE}(?P<day2>\d{{1,2}}){ordinal}\s+{day_of}(?P<month2>{month}){to}$"
        # spaces around the dash would be those of "Part 2 - 3 July 1863"
        rf"|{_BARE}(?P<day3>\d{{1,2}}){ordinal}(?:{_DASHES}|\s+(?:{_any(words.to)})\s+)$"
    )


def _time(words: Dates, about: str) -> str:
    month, ordinal = _month(words), f"(?:{_any(words.ordinals)})?"
    day_of = rf"(?:(?:{_any(words.day_of)})\s+)?"
    own = r"(?-i:\d[\d,.]*\s?[A-Z]{1,4}|[A-Z]{2,3}\s?\d[\d,.]*\d\d|\d[A-Z]\s?\d+)"
    return rf"{about}(?:{month}\s+\d{{1,2}}{ordinal}|\d{{1,2}}{ordinal}\s+{day_of}{month}|{own}|\d+)"


def _to(words: Dates) -> str:
    return rf"(?:\s*(?:{_DASHES})\s*|\s+(?:{_any(words.to)})\s+)"


def _prefix(words: Dates, about: str) -> str:
    return (
        rf"(?P<by>\b(?:{_any(words.by)})\s+{about}|^\s*[\u2013\u2014-]\s*)$"
        rf"|(?P<until>\b(?:{_any(words.before)})\s*{about})$"
        rf"|(?P<since>\b(?:{_any(words.since)})\s+{about})$"
        rf"|(?P<after>\b(?:{_any(words.after)})\s*{about})$"
        rf"|(?P<about>(?:\b(?:{_any(words.about)})|~)\s*)$"
        rf"|(?P<span>\b(?:{_any(words.between)})\s*{about})$"
        rf"|(?P<opening>\b(?:{_any(words.opening)})\s+{about})$"
    )


def _event(words: Dates, about: str) -> str:
    # A figure would be of another date, and a sign may begin something else. A hyphen is part of a name.
    name = rf"\s+(?:[^\d,;:.()\u2013\u2014-]|\b-\b){{1,80}}?{about}$"
    return rf"(?P<by>\b(?:{_any(words.before_event)}){name})|(?P<begun>\b(?:{_any(words.after_event)}){name})"


def _suffix(words: Dates) -> str:
    # "4 ABY or after the battle" is about the battle, "1977 - now a ruin" about a ruin
    end = r"(?!\s*+[\w~])"
    later = rf"\s+(?:{_any(words.or_later)}){end}|\s+(?:{_any(words.still)})(?!\w)"
    today = rf"\s*(?:{_DASHES})\s*(?:{_any(words.today)}){end}"
    return rf"(?P<later>{later}|{today})|(?P<earlier>\s+(?:{_any(words.or_earlier)}){end})"


def _onwards(words: Dates) -> str:
    return rf"\s+(?:{_any(words.onwards)})(?!\w)"
