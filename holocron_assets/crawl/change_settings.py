"""What a source file may say of changes: the `changes` block, and what its values may be."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr

from holocron_assets.crawl.politeness_settings import TimeZone

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Mapping[str, tuple[range, tuple[str, ...]]] = {
    "minute": (range(60), ()),
    "hour": (range(24), ()),
    "day of the month": (range(1, 32), ()),
    "month": (range(1, 13), _MONTHS),
    "day of the week": (range(8), _DAYS),
}
_ITEM = re.compile(r"(?:\*|([a-z0-9]+)-([a-z0-9]+))(?:/([1-9][0-9]?))?|([a-z0-9]+)")
_LAST_DAYS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


def _cron(text: str) -> str:
    """A cron schedule of five fields, as crontab(5) describes them, that comes up at some time."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError("must be a cron schedule of five fields, such as '0 3 * * 0' for Sundays at 3:00")
    numbers = {name: _numbers(field, name) for field, name in zip(fields, _FIELDS, strict=True)}
    first_day, is_any_weekday = min(numbers["day of the month"]), fields[-1] == "*"
    if is_any_weekday and all(first_day > _LAST_DAYS.get(month, 31) for month in numbers["month"]):
        raise ValueError("must come up at some time, but no such month has that day")
    return text


def _numbers(field: str, name: str) -> set[int]:
    """The numbers that a field of a cron schedule stands for."""
    allowed, names = _FIELDS[name]
    numbers: set[int] = set()
    for item in field.lower().split(","):
        match = _ITEM.fullmatch(item)
        first, last, step, one = match.groups() if match else ("", "", None, None)
        start = _number(one or first, names, allowed[0])
        end = _number(one or last, names, allowed[-1])
        if not match or start not in allowed or end not in allowed or start > end:
            raise ValueError(
                f"must be a cron schedule, and {item!r} is no {name}: {allowed[0]} to {allowed[-1]}, "
                "as in 1 or 1-5 or 1,3 or */2"
            )
        numbers.update(range(start, end + 1, int(step or 1)))
    return numbers


def _number(text: str | None, names: tuple[str, ...], otherwise: int) -> int:
    if text is None:
        return otherwise
    if text in names:
        return names.index(text) + (names is _MONTHS)
    return int(text) if text.isdigit() else -1


class Recheck(BaseModel):
    """When every page is compared with the wiki, whatever it told of changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cron: Annotated[StrictStr, AfterValidator(_cron)] = Field(
        description="a cron schedule in quotes, such as '0 3 * * 0' for Sundays at 3:00"
    )
    timezone: TimeZone = Field(default="UTC", description="time zone of the schedule")


class Changes(BaseModel):
    """How a wiki is kept current."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    every_minutes: Annotated[StrictInt, Field(ge=1, le=1440)] = Field(
        default=5, description="minutes between two looks at the wiki's list of recent changes"
    )
    recheck: Recheck | None = Field(
        default=None, description="a mapping of cron and timezone, when all pages are compared with the wiki"
    )
