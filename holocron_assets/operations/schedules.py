"""What is done by the clock, as data: `data/schedules.yaml` says when, in which time zone."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from zoneinfo import ZoneInfo

from cronsim import CronSim
from pydantic import BaseModel, ConfigDict, Field

from holocron_assets.crawl.change_settings import CronTimes
from holocron_assets.crawl.source_files import read_as

_A_YEAR = timedelta(days=366)
_FINER_THAN = timedelta(hours=12)
"""What comes more often loses nothing by a clock that is set: the next time is near."""


class RefreshTimes(CronTimes):
    """When a source is brought up to date from its seeds on, whatever sensors do."""

    source: str | None = Field(default=None, description="the source; without it, every enabled one")


class Schedules(BaseModel):
    """What `data/schedules.yaml` may say. What is left out is as it is by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    upkeep: CronTimes = Field(
        default=CronTimes(cron="*/5 * * * *"),
        description="when views are published, known links compacted and old runs forgotten, if it is due",
    )
    compaction: CronTimes = Field(
        default=CronTimes(cron="*/5 * * * *"),
        description="when old files of the lake and old journals are packed, if it is due",
    )
    check_quality: CronTimes = Field(
        default=CronTimes(cron="17 * * * *"), description="when the lake's quality is checked"
    )
    refresh: tuple[RefreshTimes, ...] = Field(
        default=(), description="a list of cron, timezone and source, when sources are crawled anew"
    )


def read_schedules(file: Path) -> Schedules:
    """Read the schedules; the usual ones where there is no file.

    Raises:
        SourceError: the file cannot be used; names file, line and key.
    """
    return read_as(file, Schedules) if file.exists() else Schedules()


def next_times(times: CronTimes, now: datetime, count: int) -> list[datetime]:
    """The next times at which something comes up, in its own time zone."""
    coming = CronSim(times.cron, now.astimezone(ZoneInfo(times.timezone)))
    fold = int(_is_fixed(times))  # of two the second counts; what comes more often comes both times
    return [moment.replace(fold=fold or moment.fold) for _, moment in zip(range(count), coming, strict=False)]


def clock_changes(times: CronTimes, now: datetime) -> Iterator[str]:
    """What daylight saving does to some times in the coming year, a sentence for each change that matters.

    The local time counts. One that a day lacks comes when the clock has gone on; one that a day has twice
    comes the second time. What comes up every few hours or more often comes all the same.
    """
    zone = ZoneInfo(times.timezone)
    coming = takewhile(lambda at: at < now + _A_YEAR, CronSim(times.cron, now.astimezone(zone)))
    for before, at in pairwise(coming):
        if at.astimezone(UTC) - before.astimezone(UTC) < _FINER_THAN:
            return
        if at.replace(fold=0).utcoffset() != at.replace(fold=1).utcoffset():
            yield f"on {at:%Y-%m-%d} it is {at:%H:%M} twice in {times.timezone}: the second time counts"
        elif before.utcoffset() != at.utcoffset() and before.time() != at.time() and _is_fixed(times):
            yield f"on {at:%Y-%m-%d} there is no {before:%H:%M} in {times.timezone}: it comes at {at:%H:%M}"


def _is_fixed(times: CronTimes) -> bool:
    """Whether it comes up at one time of day."""
    minute, hour, *_ = times.cron.split()
    return minute.isdecimal() and hour.isdecimal()
