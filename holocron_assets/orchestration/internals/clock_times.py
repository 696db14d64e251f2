"""When schedules come, as Dagster itself counts it, and what changes of the clock do to them.

Waits for: a public call that gives the next times of a cron string in a time zone.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

from dagster._utils.schedules import cron_string_repeats_every_hour, schedule_execution_time_iterator

from holocron_assets.crawl.sources.settings import CronTimes

_DAYS = 366
_NEAR = timedelta(hours=2)
"""A time that a day lacks comes within so long of the change, before it or after."""
_MOST_NAMED = 3


def next_times(times: CronTimes, now: datetime, count: int) -> list[datetime]:
    """The next times at which Dagster's daemon starts something, in its own time zone."""
    return list(islice(_coming(times, now), count))


def clock_changes(times: CronTimes, now: datetime) -> Iterator[str]:
    """What changes of the clock do to some times in the coming year, a sentence for each that matters.

    One that a day lacks comes when the clock has gone on; one that a day has twice comes once. What comes up
    in every hour comes all the same.
    """
    if cron_string_repeats_every_hour(times.cron):
        return
    zone = ZoneInfo(times.timezone)
    for change in _changes(zone, now):
        before, after = _wall(change - timedelta(minutes=1), zone) + timedelta(minutes=1), _wall(change, zone)
        named = list(_named(times.cron, min(before, after), max(before, after)))
        if named:
            yield _lacking(times, named, change) if before < after else _twice(times, named)


def _lacking(times: CronTimes, named: Sequence[datetime], change: datetime) -> str:
    """What is told of local times that a day lacks."""
    zone = ZoneInfo(times.timezone)
    near = list(takewhile(lambda at: at < change + _NEAR, _coming(times, change - _NEAR)))
    usual = set(_named(times.cron, _wall(change - _NEAR, zone), _wall(change + _NEAR, zone)))
    instead = [at for at in near if at.replace(tzinfo=None) not in usual] or [next(_coming(times, change))]
    day, once = f"{named[0]:%Y-%m-%d}", ", once" if len(named) > len(instead) == 1 else ""
    return (
        f"on {day} there is no {_told(named, 'or')} in {times.timezone}: "
        f"it comes at {_told(instead, 'and')}{once}"
    )


def _twice(times: CronTimes, named: Sequence[datetime]) -> str:
    """What is told of local times that a day has twice."""
    zone = ZoneInfo(times.timezone)
    first = named[0].replace(tzinfo=zone)
    counts = "second" if next(_coming(times, first)).fold else "first"
    return (
        f"on {first:%Y-%m-%d} it is {_told(named, 'and')} twice in {times.timezone}: the {counts} time counts"
    )


def _coming(times: CronTimes, start: datetime) -> Iterator[datetime]:
    zone = ZoneInfo(times.timezone)
    for at in schedule_execution_time_iterator(start.timestamp(), times.cron, times.timezone):
        # Dagster may give a local time that there is not; its instant is what its daemon goes by.
        yield at.astimezone(UTC).astimezone(zone)


def _named(cron: str, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The local times from one to before another that a cron names, whatever a clock does."""
    coming = schedule_execution_time_iterator(begin.replace(tzinfo=UTC).timestamp(), cron, "UTC")
    return takewhile(lambda at: at < end, (at.replace(tzinfo=None) for at in coming))


def _changes(zone: ZoneInfo, now: datetime) -> Iterator[datetime]:
    """When clocks of a zone change in the coming year, to the minute."""
    start = now.astimezone(UTC).replace(second=0, microsecond=0)
    for before, after in pairwise(start + timedelta(days=day) for day in range(_DAYS + 1)):
        if before.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset():
            old, new = before, after
            while new - old > timedelta(minutes=1):
                middle = old + timedelta(minutes=(new - old) // timedelta(minutes=2))
                if middle.astimezone(zone).utcoffset() == before.astimezone(zone).utcoffset():
                    old = middle
                else:
                    new = middle
            yield new


def _wall(at: datetime, zone: ZoneInfo) -> datetime:
    """What a clock shows."""
    return at.astimezone(zone).replace(tzinfo=None)


def _told(times: Sequence[datetime], word: str) -> str:
    if len(times) > _MOST_NAMED:
        return f"{times[0]:%H:%M} to {times[-1]:%H:%M}"
    return f" {word} ".join(f"{at:%H:%M}" for at in times)
