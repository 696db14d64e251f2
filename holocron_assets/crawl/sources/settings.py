"""The blocks `politeness` and `changes` of a source file."""

import re
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_validator,
)

from holocron_assets.frozen_model import FrozenModel

_CONTACT = re.compile(r"[!-~]+@[!-~]+|https?://[!-~]+")
_CLOCK_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


def _contact(text: str) -> str:
    # It becomes part of an HTTP header, so only visible ASCII is allowed
    if not _CONTACT.fullmatch(text):
        raise ValueError("must be an e-mail address or a web address, in plain ASCII without spaces")
    return text


def _clock_time(text: str) -> str:
    if not _CLOCK_TIME.fullmatch(text):
        raise ValueError("must be a time of day such as 08:00, from 00:00 to 23:59")
    return text


def _time_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError) as error:  # invalid, a folder, or unknown
        raise ValueError("must be the name of a time zone, such as Europe/Berlin or UTC") from error
    return text


TimeZone = Annotated[StrictStr, AfterValidator(_time_zone)]
"""Name of a time zone."""


class QuietHours(FrozenModel):
    """The hours of each day in which no request goes to a wiki. They may go over midnight."""

    start: Annotated[StrictStr, AfterValidator(_clock_time)] = Field(
        description="time of day from which nothing is asked, such as 08:00"
    )
    end: Annotated[StrictStr, AfterValidator(_clock_time)] = Field(
        description="time of day from which it is asked again, such as 18:00"
    )

    @field_validator("end")
    @classmethod
    def _ends_at_another_time(cls, end: str, info: ValidationInfo) -> str:
        if end == info.data.get("start"):
            raise ValueError("must differ from start: to ask nothing at all, disable the source")
        return end


class Politeness(FrozenModel):
    """How many requests a wiki's servers get. The limits are per host, for all processes together."""

    contact: Annotated[StrictStr, AfterValidator(_contact)] | None = Field(
        default=None, description="how the wiki's operators reach you: an e-mail address or a web address"
    )
    requests_per_second: Annotated[StrictFloat, Field(gt=0, le=100, allow_inf_nan=False)] = Field(
        default=1.0, description="requests started in a second, at most"
    )
    burst: Annotated[StrictInt, Field(ge=1, le=100)] = Field(
        default=1, description="requests that may start at once after a rest; 1 spaces them evenly"
    )
    requests_in_flight: Annotated[StrictInt, Field(ge=1, le=32)] = Field(
        default=1, description="requests that wait for their answer at once, at most"
    )
    maxlag: Annotated[StrictInt, Field(ge=0, le=3600)] = Field(
        default=5, description="seconds of database lag from which the wiki shall refuse us"
    )
    timeout_seconds: Annotated[StrictFloat, Field(gt=0, le=900, allow_inf_nan=False)] = Field(
        default=60.0, description="seconds to wait for an answer"
    )
    slow_seconds: Annotated[StrictFloat, Field(gt=0, le=900, allow_inf_nan=False)] = Field(
        default=10.0, description="seconds a typical answer may take before the wiki is asked less"
    )
    requests_per_day: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None, description="requests in a day, at most; without it there is no such limit"
    )
    quiet_hours: QuietHours | None = Field(
        default=None, description="a mapping of start and end, between which nothing is asked"
    )
    timezone: TimeZone = Field(
        default="UTC", description="time zone of the quiet hours, and of the day whose requests are counted"
    )
    obey_robots: StrictBool = Field(
        default=True,
        description="whether robots.txt is obeyed; false only with the wiki's written permission",
    )


_FIELDS = 5
_WORD = re.compile("[a-z]+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WORDS = {*_MONTHS, "sun", "mon", "tue", "wed", "thu", "fri", "sat"}
_ANY_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)


def _cron(text: str) -> str:
    """A cron schedule of five fields that Dagster accepts, and that names a possible time."""
    if len(text.split()) != _FIELDS:
        raise ValueError("must be a cron schedule of five fields, such as '0 3 * * 0' for Sundays at 3:00")
    for word in _WORD.findall(text.lower()):
        # Dagster does not know every letter that means a last day.
        if word not in _WORDS:
            raise ValueError(f"must be a cron schedule, but {word!r} in {text!r} is no month or day")
    try:
        comes_up = next(CronSim(text, _ANY_MOMENT), None)
    except CronSimError as error:
        raise ValueError(f"must be a cron schedule, and {text!r} is none: {error}") from error
    if comes_up is None:
        raise ValueError(f"must be a cron schedule that comes up at some time, and {text!r} never does")
    return text


class CronTimes(FrozenModel):
    """When something is done by the clock."""

    cron: Annotated[StrictStr, AfterValidator(_cron)] = Field(
        description="a cron schedule in quotes, such as '0 3 * * 0' for Sundays at 3:00"
    )
    timezone: TimeZone = Field(default="UTC", description="time zone of the schedule")


class Recheck(CronTimes):
    """When every page is compared with the wiki, whether or not it reported changes."""


class Changes(FrozenModel):
    """How a wiki is kept current."""

    every_minutes: Annotated[StrictInt, Field(ge=1, le=1440)] = Field(
        default=5, description="minutes between two readings of the wiki's list of recent changes"
    )
    recheck: Recheck | None = Field(
        default=None, description="a mapping of cron and timezone, when all pages are compared with the wiki"
    )
