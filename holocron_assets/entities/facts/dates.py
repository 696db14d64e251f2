"""Dates as wikis write them, found in a text. They are kept as written, and as intervals that sort.

An interval is [since, until) in years of its calendar, an end None where it is open. Calendars that count
from an event are data (`eras.yaml`): their year 0 is on both sides of the event, as 0 BBY and 0 ABY are, so
that n ABY is [n, n + 1) and n BBY is [-(n + 1), -n). Dates of the real world are Gregorian; 1 BC is [0, 1).
"""

import re
from calendar import isleap
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

_ERAS_FILE = Path(__file__).with_name("eras.yaml")
GREGORIAN = "gregorian"
_LONGEST_READ = 2_000
_MOST_FOUND = 50

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + r")\.?"
_NUMBER = r"(?<![\d,:/])(?<!\d\.)(?:\d{1,3}(?:,\d{3})+|\d{1,9})"
_DASH = r"\s*+(?:\u2013|\u2014|-|to|or|and)\s*+"
_REAL = re.compile(
    rf"\b(?P<month>{_MONTH})\s+(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+))?(?:of\s+)?(?P<year>\d{{4}})\b"
    rf"|\b(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<month2>{_MONTH}),?\s+(?P<year2>\d{{4}})\b"
    r"|\b(?P<year3>\d{4})-(?P<month3>\d{2})(?:-(?P<day3>\d{2}))?\b"
    r"|(?<![\d.,:/])\b(?P<bc>\d{1,6})\s*(?:BCE|BC)\b"
    r"|(?<![\d.,:/])(?P<year4>[12]\d{3})(?![\d,.:/]*\d)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*+(?:\u2013|\u2014|-|to|until|through|and|or|/)\s*+", re.IGNORECASE)
_BEFORE = re.compile(
    r"(?P<by>\b(?:by|no later than|until|up to|through)\s+|^\s*[\u2013\u2014-]\s*)$"
    r"|(?P<until>\b(?:before|prior to|pre-?)\s*)$"
    r"|(?P<since>\b(?:since|from|as of|starting in|beginning in)\s+)$"
    r"|(?P<after>\b(?:after|post-?|following)\s*)$"
    r"|(?P<about>(?:\bc\.?|\bca\.?|\bcirca|\baround|\babout|\bapproximately|\bapprox\.?|~)\s*)$"
    r"|(?P<span>\b(?:between|early|mid-?|late)\s*)$",
    re.IGNORECASE,
)
_LONGEST_PREFIX = 24


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


def find_dates(text: str) -> list[DateSpan]:
    """The dates in a text, in order. No text raises an error.

    Args:
        text: clean text; only its first 2,000 characters are read.
    """
    text = text[:_LONGEST_READ]
    return [_with_prefix(text, _joined(atoms)) for atoms in _neighbours(text)][:_MOST_FOUND]


def is_date(text: str) -> bool:
    """Whether a text is one date and nothing else."""
    found = find_dates(text)
    return len(found) == 1 and found[0].written.strip(" ,.") == text.strip(" ,.")


def _neighbours(text: str) -> list[list[_Atom]]:
    """Dates; two that a dash or a word joins are one span."""
    atoms = sorted((*_of_eras(text), *_of_the_real_world(text)), key=lambda atom: atom.start)
    sessions: list[list[_Atom]] = []
    for atom in atoms:
        last = sessions[-1][-1] if sessions else None
        if last and last.calendar == atom.calendar and _BETWEEN.fullmatch(text, last.end, atom.start):
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


def _of_eras(text: str) -> Iterator[_Atom]:
    pattern, eras = _era_pattern()
    for match in pattern.finditer(text):
        calendar, sign = eras[match["era"].upper()]
        years = [_year_of_era(match[name], sign) for name in ("first", "second") if match[name]]
        since, until = min(years), max(years) + 1
        yield _Atom(calendar, since, until, match.start(), match.end())


def _year_of_era(number: str, sign: int) -> float:
    years = float(number.replace(",", ""))
    return years if sign > 0 else -years - 1


@cache
def _era_pattern() -> tuple[re.Pattern[str], dict[str, tuple[str, int]]]:
    declared = YAML(typ="safe", pure=True).load(_ERAS_FILE.read_text(encoding="utf-8"))
    eras = {
        name.upper(): (calendar, -1 if side == "before" else 1)
        for calendar, sides in declared.items()
        for side, names in sides.items()
        for name in names
    }
    names = "|".join(map(re.escape, eras))
    pattern = rf"(?:(?P<first>{_NUMBER}){_DASH})?(?P<second>{_NUMBER})\s*+(?P<era>{names})\b"
    return re.compile(pattern, re.IGNORECASE), eras


def _of_the_real_world(text: str) -> Iterator[_Atom]:
    for match in _REAL.finditer(text):
        span = _real_span(match)
        if span and not _is_of_an_era(text, match.end()):
            yield _Atom(GREGORIAN, *span, match.start(), match.end())


def _is_of_an_era(text: str, end: int) -> bool:
    """Whether a number is a year of another calendar: its era follows, at once or after a second number."""
    return _era_follows().match(text, end) is not None


@cache
def _era_follows() -> re.Pattern[str]:
    names = "|".join(map(re.escape, _era_pattern()[1]))
    return re.compile(rf"(?:{_DASH}\d[\d,]*)?\s*(?:{names})\b", re.IGNORECASE)


def _real_span(match: re.Match[str]) -> tuple[float, float] | None:
    if match["bc"]:
        return 1.0 - int(match["bc"]), 2.0 - int(match["bc"])
    year = next(int(match[name]) for name in ("year", "year2", "year3", "year4") if match[name])
    named = match["month"] or match["month2"]
    month = (
        1 + [name[:3] for name in _MONTHS].index(named[:3].lower()) if named else int(match["month3"] or 0)
    )
    day = int(match["day"] or match["day2"] or match["day3"] or 0)
    if not month:
        return float(year), year + 1.0
    return _month_span(year, month) if not day else _day_span(year, month, day)


def _month_span(year: int, month: int) -> tuple[float, float] | None:
    if not 1 <= month <= len(_MONTHS):
        return None
    return year + (month - 1) / len(_MONTHS), year + month / len(_MONTHS)


def _day_span(year: int, month: int, day: int) -> tuple[float, float] | None:
    """A day's place in its month's twelfth of the year, so that days and months sort together."""
    try:
        date(year, month, day)
    except ValueError:
        return None
    first = year + (month - 1) / len(_MONTHS)
    length = (31, 29 if isleap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    share = 1 / len(_MONTHS) / length
    return first + (day - 1) * share, first + day * share


def _with_prefix(text: str, atom: _Atom) -> DateSpan:
    """A date, open to one side because of the word before it."""
    since: float | None = atom.since
    until: float | None = atom.until
    before = text[max(atom.start - _LONGEST_PREFIX, 0) : atom.start]
    prefix = _BEFORE.search(before)
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
