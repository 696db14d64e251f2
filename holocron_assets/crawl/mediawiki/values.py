"""Numbers and times of a wiki's API. Those that no column or no sum can hold are refused."""

from datetime import UTC, datetime
from typing import Annotated, TypeGuard

from pydantic import AfterValidator, AwareDatetime, Field

_FIRST_YEAR, _LAST_YEAR = 1000, 9000
"""Far from the limits of dates, since zones and spans of time are added to them."""


def is_number(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number that a column can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _of_a_wiki(moment: datetime) -> datetime:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"the year {moment.year} is no time of a wiki")
    return moment


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Time = Annotated[AwareDatetime, AfterValidator(_of_a_wiki)]
TimeInUtc = Annotated[datetime, AfterValidator(_of_a_wiki), AfterValidator(_aware)]
"""A time; it is in UTC if it names no zone."""
