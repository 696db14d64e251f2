"""Dates as wikis write them, found in a text. They are kept as written, and as intervals that sort.

An interval is [since, until) in years of its calendar, an end None where it is open. Calendars that count
from an event are data (`eras.yaml`): their year 0 is on both sides of the event, as 0 BBY and 0 ABY are, so
that n ABY is [n, n + 1) and n BBY is [-(n + 1), -n). Dates of the real world are Gregorian; 1 BC is [0, 1).
"""

import re
from calendar import isleap
from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from holocron_assets.entities.facts.date_patterns import DatePatterns, date_patterns
from holocron_assets.languages.language import ENGLISH

GREGORIAN = "gregorian"
_LONGEST_READ = 2_000
_MOST_FOUND = 50
_MONTHS = 12
_LONGEST_PREFIX = 24
_GROUPS = ("", "2", "3", "4", "5")
_NOT_DIGITS = re.compile(r"\D")


class DateSpan(NamedTuple):
    """A date, or a span of time.

    Attributes:
        written: as the text has it.
        calendar: 'gregorian', or one of `eras.yaml`.
        since: where it begins; None if that is open.
        until: where it is over; None if that is open.
        start: its first character in the text.
        end: the character after its last.
    """

    written: str
    calendar: str
    since: float | None
    until: float | None
    start: int
    end: int


class _Atom(NamedTuple):
    calendar: str
    since: float
    until: float
    start: int
    end: int


def find_dates(text: str, language: str = ENGLISH) -> list[DateSpan]:
    """The dates in a text, in order. No text raises an error.

    Args:
        text: clean text; only its first 2,000 characters are read.
        language: code of its language, as `language_code` gives it.
    """
    text, patterns = text[:_LONGEST_READ], date_patterns(language)
    spans = (_with_prefix(text, _joined(atoms), patterns) for atoms in _neighbours(text, patterns))
    return list(spans)[:_MOST_FOUND]


def is_date(text: str, language: str = ENGLISH) -> bool:
    """Whether a text is one date and nothing else (arguments as for `find_dates`)."""
    found = find_dates(text, language)
    return len(found) == 1 and found[0].written.strip(" ,.") == text.strip(" ,.")


def _neighbours(text: str, patterns: DatePatterns) -> list[list[_Atom]]:
    """Dates; two that a dash or a word joins are one span."""
    found = (*_of_eras(text, patterns), *_of_the_real_world(text, patterns))
    atoms = sorted(found, key=lambda atom: atom.start)
    sessions: list[list[_Atom]] = []
    for atom in atoms:
        last = sessions[-1][-1] if sessions else None
        if last and last.calendar == atom.calendar and patterns.between.fullmatch(text, last.end, atom.start):
            sessions[-1].append(atom)
        else:
            sessions.append([atom])
    return sessions


def _joined(atoms: list[_Atom]) -> _Atom:
    return atoms[0]._replace(
        since=min(atom.since for atom in atoms),
        until=max(atom.until for atom in atoms),
        end=atoms[-1].end,
    )


def _of_eras(text: str, patterns: DatePatterns) -> Iterator[_Atom]:
    for match in patterns.of_era.finditer(text):
        calendar, sign = patterns.eras[match["era"].upper()]
        years = [_year_of_era(match[name], sign) for name in ("first", "second") if match[name]]
        since, until = min(years), max(years) + 1
        yield _Atom(calendar, since, until, match.start(), match.end())


def _year_of_era(number: str, sign: int) -> float:
    years = float(_NOT_DIGITS.sub("", number))
    return years if sign > 0 else -years - 1


def _of_the_real_world(text: str, patterns: DatePatterns) -> Iterator[_Atom]:
    for match in patterns.real.finditer(text):
        span = _real_span(match, patterns)
        # a number may be a year of another calendar
        if span and not patterns.era_follows.match(text, match.end()):
            yield _Atom(GREGORIAN, *span, match.start(), match.end())


def _real_span(match: re.Match[str], patterns: DatePatterns) -> tuple[float, float] | None:
    parts = match.groupdict()
    if parts["bc"]:
        return 1.0 - int(parts["bc"]), 2.0 - int(parts["bc"])
    year, month, day = (_part(parts, name) for name in ("year", "month", "day"))
    number = int(month) if month.isdigit() else patterns.months.get(month.lower().rstrip("."), 0)
    if not number:
        return float(year), float(year) + 1.0
    return _day_span(int(year), number, int(day)) if int(day) else _month_span(int(year), number)


def _part(parts: Mapping[str, str | None], name: str) -> str:
    """A part of a date, by whichever form of a date has it; '0' if the date does not have it."""
    return next((text for group in _GROUPS if (text := parts.get(f"{name}{group}"))), "0")


def _month_span(year: int, month: int) -> tuple[float, float] | None:
    if not 1 <= month <= _MONTHS:
        return None
    return year + (month - 1) / _MONTHS, year + month / _MONTHS


def _day_span(year: int, month: int, day: int) -> tuple[float, float] | None:
    """A day's place in its month's twelfth of the year, so that days and months sort together."""
    try:
        date(year, month, day)
    except ValueError:
        return None
    first = year + (month - 1) / _MONTHS
    length = (31, 29 if isleap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    share = 1 / _MONTHS / length
    return first + (day - 1) * share, first + day * share


def _with_prefix(text: str, atom: _Atom, patterns: DatePatterns) -> DateSpan:
    """A date, open to one side because of the word before it."""
    since: float | None = atom.since
    until: float | None = atom.until
    before = text[max(atom.start - _LONGEST_PREFIX, 0) : atom.start]
    prefix = patterns.prefix.search(before)
    start = atom.start
    if prefix:
        start -= len(before) - prefix.start()
        match prefix.lastgroup:
            case "by":
                since = None
            case "until":
                since, until = None, atom.since
            case "since" if atom.until - atom.since <= 1:
                until = None
            case "after":
                since, until = atom.until, None
    return DateSpan(text[start : atom.end], atom.calendar, since, until, start, atom.end)
