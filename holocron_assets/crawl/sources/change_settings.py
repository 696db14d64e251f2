"""The `changes` block of a source file, and the values that it allows."""

import re
from datetime import UTC, datetime
from typing import Annotated

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr

from holocron_assets.crawl.sources.politeness_settings import TimeZone

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


class CronTimes(BaseModel):
    """When something is done by the clock."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cron: Annotated[StrictStr, AfterValidator(_cron)] = Field(
        description="a cron schedule in quotes, such as '0 3 * * 0' for Sundays at 3:00"
    )
    timezone: TimeZone = Field(default="UTC", description="time zone of the schedule")


class Recheck(CronTimes):
    """When every page is compared with the wiki, whether or not it reported changes."""


class Changes(BaseModel):
    """How a wiki is kept current."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    every_minutes: Annotated[StrictInt, Field(ge=1, le=1440)] = Field(
        default=5, description="minutes between two readings of the wiki's list of recent changes"
    )
    recheck: Recheck | None = Field(
        default=None, description="a mapping of cron and timezone, when all pages are compared with the wiki"
    )
