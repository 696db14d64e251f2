"""The timeline of an entity: what is stated of it with a date, and what its pages tell of it, in order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from holocron_assets.entities.facts.dates import GREGORIAN, find_dates
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.languages.language import ENGLISH
from holocron_assets.review.statements import Statement

_UNDATED = float("inf")


class Event(NamedTuple):
    """Something with a date.

    Attributes:
        calendar: its calendar; None if the words of the date do not say.
        since: where it begins in years of the calendar; infinite if that is unknown.
        when: the date, as written.
        what: what happened.
        evidence: the words that say it.
        told_by: title of the page that has them.
        is_disputed: whether another date stands against it.
    """

    calendar: str | None
    since: float
    when: str
    what: str
    evidence: str
    told_by: str
    is_disputed: bool = False


class Era(NamedTuple):
    """The events of one calendar, the earliest first.

    Attributes:
        calendar: the calendar; None if the words of their dates do not say.
        events: the events.
    """

    calendar: str | None
    events: Sequence[Event]


def timeline(statements: Iterable[Statement], answers: Iterable[Row], language: str = ENGLISH) -> list[Era]:
    """The events of an entity by calendar, each once; the calendar of the real world comes last.

    Args:
        statements: facts and relations that count; those without a date are left out.
        answers: the entity's rows of `derived_entity_timeline`.
        language: code of the language of their dates, as `language_code` gives it.
    """
    found = [*_stated(statements), *(_answered(row, language) for row in answers)]
    once = {
        (event.calendar, event.when.casefold(), event.what.casefold()): event for event in reversed(found)
    }
    ordered = sorted(once.values(), key=lambda event: (_place(event.calendar), event.since, event.what))
    return [
        Era(calendar, list(events)) for calendar, events in groupby(ordered, lambda event: event.calendar)
    ]


def _place(calendar: str | None) -> tuple[bool, bool, str]:
    return calendar is None, calendar == GREGORIAN, calendar or ""


def _stated(statements: Iterable[Statement]) -> Iterator[Event]:
    for one in statements:
        row = one.row
        ends = [row.get(name) for name in ("date_from", "date_to", "starts_from", "ends_to")]
        since = next((year for year in ends if year is not None), None)
        if since is None:
            continue
        words = one.predicate.replace("_", " ")
        if "fact_key" in row:
            when, what = " ".join([one.value, *one.details]), words
        else:
            period = [row["start_time"], row["end_time"]]
            when = " to ".join(text or "?" for text in period)
            what = f"{one.entity_name} {words} {one.value}"
        yield Event(row["calendar"], since, when, what, row["evidence"], row["title"], one.is_disputed)


def _answered(row: Row, language: str) -> Event:
    """An event that a model read from a page; its calendar follows from the words of its date."""
    date = next(iter(find_dates(row["date"], language)), None)
    since = next((year for year in date[2:4] if year is not None), None) if date else row["year"]
    place = _UNDATED if since is None else float(since)
    calendar = date.calendar if date else None
    return Event(calendar, place, row["date"], row["event"], row["evidence"], row["told_by"])
