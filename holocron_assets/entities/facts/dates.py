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
_CENTURY = 100
_LONGEST_PREFIX = 100
_LIMIT_NOTHING = ("about", "span", "opening")
_LONGEST_BEGINNING = 40
_GROUPS = ("", "2", "3", "4", "5", "6", "7", "8")
_TWO_YEARS = re.compile(r"\d+\S\d+")
_DIGIT = re.compile(r"\d")
_NOT_DIGITS = re.compile(r"\D")
_FRACTION = re.compile(r"[.,]\d{1,2}$")
_NEVER = re.compile(r"(?!)")


class DateSpan(NamedTuple):
    """A date, or a span of time.

    Attributes:
        written: as the text has it.
        calendar: 'gregorian', or one of `eras.yaml`.
        since: where it begins; None if that is open.
        until: where it is over; None if that is open.
        start: its first character in the text.
        end: the character after its last.
        is_span: whether the text says where it begins and where it ends.
    """

    written: str
    calendar: str
    since: float | None
    until: float | None
    start: int
    end: int
    is_span: bool


class _Atom(NamedTuple):
    calendar: str
    since: float
    until: float
    start: int
    end: int
    is_span: bool = False
    has_two_dates: bool = False


class _YearMonthDay(NamedTuple):
    """Parts of a date; a month or day of 0 is not said."""

    year: int
    month: int
    day: int


def find_dates(text: str, language: str = ENGLISH, *, in_prose: bool = False) -> list[DateSpan]:
    """The dates in a text, in order. No text raises an error.

    Args:
        text: clean text; only its first 2,000 characters are read.
        language: code of its language, as `language_code` gives it.
        in_prose: whether it is a sentence. Then words before a date are of a clause, and name no event that
            limits it.
    """
    if not _DIGIT.search(text, 0, _LONGEST_READ):  # most texts have no date, and each date has a number
        return []
    text, patterns = text[:_LONGEST_READ], date_patterns(language)
    found = [_joined(text, atoms) for atoms in _neighbours(text, patterns)][:_MOST_FOUND]
    free = [0, *(atom.end for atom in found)]
    patterns = patterns._replace(event=_NEVER) if in_prose else patterns
    return [_with_words_around(text, *each, patterns) for each in zip(free, found, strict=False)]


def is_date(text: str, language: str = ENGLISH) -> bool:
    """Whether a text is one date and nothing else (arguments as for `find_dates`)."""
    found = find_dates(text, language)
    return len(found) == 1 and found[0].written.strip(" ,.") == text.strip(" ,.")


def is_time(text: str, language: str = ENGLISH) -> bool:
    """Whether a text is a time and nothing else: a date, or what `DatePatterns.time` matches."""
    return bool(date_patterns(language).time.fullmatch(text)) or is_date(text, language)


def _neighbours(text: str, patterns: DatePatterns) -> list[list[_Atom]]:
    """Dates; two that a dash or a word joins are one span. What begins within another date is none."""
    found = (*_of_eras(text, patterns), *_of_the_real_world(text, patterns))
    atoms = sorted(found, key=lambda atom: atom.start)
    sessions: list[list[_Atom]] = []
    for atom in atoms:
        last = sessions[-1][-1] if sessions else None
        if last and atom.start < last.end:  # 3 May 2000.20 BBY
            continue
        if last and last.calendar == atom.calendar and patterns.between.fullmatch(text, last.end, atom.start):
            sessions[-1].append(atom)
        else:
            sessions.append([atom])
    return sessions


def _joined(text: str, atoms: list[_Atom]) -> _Atom:
    return atoms[0]._replace(
        since=min(atom.since for atom in atoms),
        until=max(atom.until for atom in atoms),
        end=atoms[-1].end,
        is_span=len(atoms) > 1 or atoms[0].is_span,
        has_two_dates=len(atoms) > 1 and not _TWO_YEARS.fullmatch(text, atoms[0].start, atoms[-1].end),
    )


def _of_eras(text: str, patterns: DatePatterns) -> Iterator[_Atom]:
    for match in patterns.of_era.finditer(text):
        calendar, sign = patterns.eras[match["era"].upper()]
        years = [_year_of_era(match[name], sign) for name in ("first", "second") if match[name]]
        since, until = min(years), max(years) + 1
        yield _Atom(calendar, since, until, match.start(), match.end(), len(years) > 1)


def _year_of_era(number: str, sign: int) -> float:
    years = _years(number)
    return years if sign > 0 else -years - 1


def _years(number: str) -> float:
    """Whole years: what happened in 22.5 BBY happened in the year 22 BBY."""
    return float(_NOT_DIGITS.sub("", _FRACTION.sub("", number)))


def _of_the_real_world(text: str, patterns: DatePatterns) -> Iterator[_Atom]:
    free = 0
    for match in patterns.real.finditer(text):
        atom = _before_christ(match) if match["bc"] else _real_atom(match, free, patterns)
        # a number may be a year of another calendar
        if atom and not patterns.era_follows.match(text, atom.end):
            yield atom
            free = atom.end


def _before_christ(match: re.Match[str]) -> _Atom:
    years = [1.0 - _years(match[name]) for name in ("first_bc", "bc") if match[name]]
    return _Atom(GREGORIAN, min(years), max(years) + 1, *match.span(), len(years) > 1)


def _real_atom(match: re.Match[str], free: int, patterns: DatePatterns) -> _Atom | None:
    """A date, or the span that it ends. What stands before `free` is part of another date."""
    parts = match.groupdict()
    of = _YearMonthDay(int(_part(parts, "year")), _month(parts, patterns), int(_part(parts, "day")))
    span = _span(of)
    if span is None:
        return None
    atom = _Atom(GREGORIAN, *span, *match.span())
    if parts["first_ad"]:
        return _from_year(atom, float(parts["first_ad"]))
    if parts["last_year"]:
        return _to_short_year(atom, match)
    if not of.month or parts["year3"]:
        return atom
    begins = patterns.begins.search(match.string, max(free, atom.start - _LONGEST_BEGINNING), atom.start)
    said = begins.groupdict() if begins else {"day": parts["first_day"]}
    first = _first_of_span(_month(said, patterns), int(_part(said, "day")), of)
    if first is None or first >= atom.since:
        return atom
    return atom._replace(since=first, start=begins.start() if begins else atom.start, is_span=True)


def _first_of_span(month: int, day: int, last: _YearMonthDay) -> float | None:
    """When a span begins, by what is written before its last date: a month, a day, or both."""
    if not month and not (day and last.day):
        return None
    month = month or last.month
    # December to January
    year = last.year - 1 if month > last.month else last.year
    span = _span(_YearMonthDay(year, month, day))
    return span[0] if span else None


def _from_year(atom: _Atom, first: float) -> _Atom:
    """A span of years with an era. The second may be short (1066-87 AD), or be the earlier one."""
    short = first - first % 100 + atom.since
    if atom.since < _CENTURY <= first and short > first:
        return atom._replace(since=first, until=short + 1, is_span=True)
    return atom._replace(since=min(first, atom.since), until=max(first + 1, atom.until), is_span=True)


def _to_short_year(atom: _Atom, match: re.Match[str]) -> _Atom:
    """A span such as 1939-45; its first year alone if the second would not be later."""
    until = atom.since - atom.since % 100 + int(match["last_year"]) + 1
    if until <= atom.until:
        return atom._replace(end=match.end("year4"))
    return atom._replace(until=until, is_span=True)


def _month(parts: Mapping[str, str | None], patterns: DatePatterns) -> int:
    name = _part(parts, "month")
    return int(name) if name.isdigit() else patterns.months.get(name.lower().rstrip("."), 0)


def _span(of: _YearMonthDay) -> tuple[float, float] | None:
    if not of.month:
        return float(of.year), float(of.year) + 1.0
    return _day_span(*of) if of.day else _month_span(of.year, of.month)


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


def _with_words_around(text: str, free: int, atom: _Atom, patterns: DatePatterns) -> DateSpan:
    """A date, open to one side because of the words before it or after it. Another date ends at `free`."""
    since: float | None = atom.since
    until: float | None = atom.until
    prefix = _prefix(text, max(free, atom.start - _LONGEST_PREFIX), atom.start, patterns)
    suffix = patterns.suffix.match(text, atom.end)
    onwards = patterns.onwards.match(text, atom.end)
    end = suffix.end() if suffix else atom.end
    start = prefix.start() if prefix else atom.start
    match prefix.lastgroup if prefix else None:
        case "by":
            since = None
        case "until":
            since, until = None, atom.since
        case "since" if not atom.is_span:
            until = None
        case "after" if not atom.has_two_dates:  # "after 9 ABY - 25 ABY" is about the first of the two
            since, until = atom.until, None
        case "begun" if not atom.has_two_dates:
            until = None
        case "opening" if onwards and not atom.is_span:
            until, end = None, onwards.end()
        case _ if suffix and suffix["later"]:
            until = None
        case _ if suffix:
            since = None
    return DateSpan(text[start:end], atom.calendar, since, until, start, end, atom.is_span)


def _prefix(text: str, free: int, start: int, patterns: DatePatterns) -> re.Match[str] | None:
    """The words right before a date; if these limit nothing, those that name an event of that date."""
    prefix = patterns.prefix.search(text, free, start)
    if prefix and prefix.lastgroup not in _LIMIT_NOTHING:
        return prefix
    return patterns.event.search(text, free, start) or prefix
