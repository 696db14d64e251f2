"""Limits by the calendar: quiet hours, and requests a day. It reads no clock."""

from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from holocron_assets.crawl.sources.settings import Politeness, QuietHours

_LONGEST_DAY = timedelta(hours=26).total_seconds()  # no zone's clock jumps by more than two hours

_STEP = 300.0
"""Seconds between the moments at which a span of time is looked at: quiet hours are longer."""


@dataclass(frozen=True)
class Day:
    """The requests of a host's current day.

    Attributes:
        ends_at: when it ends, in seconds since 1970.
        requests: requests sent in it.
    """

    ends_at: float = 0.0
    requests: int = 0


def after_request(day: Day, timezone: str, now: float) -> Day:
    """The day after one more request was sent; the next day if this one is over."""
    if _is_over(day, now):
        return Day(_midnight_after(now, timezone), 1)
    return replace(day, requests=day.requests + 1)


def requests_in(day: Day, now: float) -> int:
    """Requests sent in the current day."""
    return 0 if _is_over(day, now) else day.requests


def seconds_to_next_day(day: Day, limit: int | None, now: float) -> float:
    """How long until the day's limit allows another request; 0 if it does now."""
    if limit is None or requests_in(day, now) < limit:
        return 0.0
    return day.ends_at - now


def quiet_seconds(hours: QuietHours | None, timezone: str, now: float) -> float:
    """How long the quiet hours go on; 0 if there are none now.

    They follow local time: where clocks are set back in autumn, an hour that comes twice is quiet twice.
    """
    if hours is None:
        return 0.0
    start, end = time.fromisoformat(hours.start), time.fromisoformat(hours.end)
    local = datetime.fromtimestamp(now, ZoneInfo(timezone))
    at = local.time()
    is_quiet = start <= at < end if start < end else at >= start or at < end
    if not is_quiet:
        return 0.0
    if at < end:
        ends = datetime.combine(local.date(), end, tzinfo=local.tzinfo).replace(fold=local.fold)
    else:
        ends = datetime.combine(local.date() + timedelta(days=1), end, tzinfo=local.tzinfo)
    return ends.timestamp() - now


def may_have_rested(politeness: Politeness, since: float, now: float) -> bool:
    """Whether quiet hours, or a day whose limit may have been reached, ended or were in a span of time.

    Args:
        politeness: the host's settings.
        since: when the span begins, in seconds since 1970.
        now: when it ends.
    """
    zone = politeness.timezone
    is_new_day = politeness.requests_per_day is not None and _midnight_after(since, zone) <= now
    moments = [since + _STEP * step for step in range(int((now - since) / _STEP) + 1)]
    return is_new_day or any(quiet_seconds(politeness.quiet_hours, zone, moment) for moment in moments)


def moved_back(day: Day, seconds: float) -> Day:
    """The day by a clock that was set back by `seconds`."""
    return replace(day, ends_at=max(day.ends_at - seconds, 0.0))


def _is_over(day: Day, now: float) -> bool:
    return not 0 < day.ends_at - now <= _LONGEST_DAY


def _midnight_after(now: float, timezone: str) -> float:
    zone = ZoneInfo(timezone)
    tomorrow = datetime.fromtimestamp(now, zone).date() + timedelta(days=1)
    return datetime.combine(tomorrow, time(), tzinfo=zone).timestamp()
