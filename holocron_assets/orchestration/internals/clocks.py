"""Dagster and clocks: the next times of schedules, and sensors after the machine's clock was set back.

Waits for: a public call that gives the next times of a cron string in a time zone; a public call that reads
and sets when a sensor last ticked, or a daemon that ignores later times.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg
from dagster._core.scheduler.instigation import SensorInstigatorData
from dagster._utils.schedules import cron_string_repeats_every_hour, schedule_execution_time_iterator

from holocron_assets.crawl.sources.settings import CronTimes

_LAST_TICKS = (
    "last_tick_timestamp",
    "last_tick_start_timestamp",
    "last_tick_success_timestamp",
    "last_sensor_start_timestamp",
)
_DAYS = 366
_NEAR = timedelta(hours=2)
"""A local time that a day lacks is replaced by one at most this long before or after the change."""
_MOST_NAMED = 3


def next_times(times: CronTimes, now: datetime, count: int) -> list[datetime]:
    """The next times at which Dagster's daemon starts something, in its own time zone."""
    return list(islice(_coming(times, now), count))


def clock_changes(times: CronTimes, now: datetime) -> Iterator[str]:
    """The effect of changes of the clock on some times in the coming year: a sentence for each that matters.

    A time that a day lacks comes after the change; a time that a day has twice comes once. Times that come
    in every hour are not affected.
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
    """The sentence about local times that a day lacks."""
    zone = ZoneInfo(times.timezone)
    near = list(takewhile(lambda at: at < change + _NEAR, _coming(times, change - _NEAR)))
    usual = set(_named(times.cron, _wall(change - _NEAR, zone), _wall(change + _NEAR, zone)))
    instead = [at for at in near if at.replace(tzinfo=None) not in usual] or [next(_coming(times, change))]
    day, once = f"{named[0]:%Y-%m-%d}", ", once" if len(named) > len(instead) == 1 else ""
    return (
        f"on {day} there is no {_in_words(named, 'or')} in {times.timezone}: "
        f"it comes at {_in_words(instead, 'and')}{once}"
    )


def _twice(times: CronTimes, named: Sequence[datetime]) -> str:
    """The sentence about local times that a day has twice."""
    zone = ZoneInfo(times.timezone)
    first = named[0].replace(tzinfo=zone)
    counts = "second" if next(_coming(times, first)).fold else "first"
    day, both = f"{first:%Y-%m-%d}", _in_words(named, "and")
    return f"on {day} it is {both} twice in {times.timezone}: the {counts} time counts"


def _coming(times: CronTimes, start: datetime) -> Iterator[datetime]:
    zone = ZoneInfo(times.timezone)
    for at in schedule_execution_time_iterator(start.timestamp(), times.cron, times.timezone):
        # Dagster may give a local time that does not exist; its daemon uses the instant.
        yield at.astimezone(UTC).astimezone(zone)


def _named(cron: str, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The local times that a cron names, from `begin` to before `end`, without daylight saving."""
    coming = schedule_execution_time_iterator(begin.replace(tzinfo=UTC).timestamp(), cron, "UTC")
    return takewhile(lambda at: at < end, (at.replace(tzinfo=None) for at in coming))


def _changes(zone: ZoneInfo, now: datetime) -> Iterator[datetime]:
    """The moments, to the minute, when clocks of a zone change in the coming year."""
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
    """The local time in a zone."""
    return at.astimezone(zone).replace(tzinfo=None)


def _in_words(times: Sequence[datetime], word: str) -> str:
    if len(times) > _MOST_NAMED:
        return f"{times[0]:%H:%M} to {times[-1]:%H:%M}"
    return f" {word} ".join(f"{at:%H:%M}" for at in times)


def bring_ticks_back(instance: dg.DagsterInstance, *, now: datetime) -> list[str]:
    """Let sensors tick again if their last tick is in the future: they would wait for that time.

    Schedules are left alone: they tick at fixed hours, and none ticks twice at the same hour.

    Args:
        instance: knows the sensors.
        now: the moment.

    Returns:
        Names of the sensors.
    """
    repaired = []
    for state in instance.all_instigator_state():
        data = state.instigator_data
        if not isinstance(data, SensorInstigatorData):
            continue
        late: dict[str, Any] = {
            name: now.timestamp() for name in _LAST_TICKS if (getattr(data, name) or 0) > now.timestamp()
        }
        if late:
            instance.update_instigator_state(state.with_data(data._replace(**late)))
            repaired.append(state.name)
    return repaired
