"""What is done by the clock, as data: `data/schedules.yaml` says when, in which time zone."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from zoneinfo import ZoneInfo

from cronsim import CronSim
from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationInfo, field_validator

from holocron_assets.crawl.change_settings import CronTimes
from holocron_assets.crawl.source_files import read_as, source_names
from holocron_assets.operations.groups import group_names

_A_YEAR = timedelta(days=366)
_FINER_THAN = timedelta(hours=12)
"""What comes more often loses nothing by a clock that is set: the next time is near."""


class RefreshTimes(CronTimes):
    """When a source is brought up to date from its seeds on, whatever sensors do."""

    source: StrictStr | None = Field(default=None, description="the source; without it, every enabled one")

    @field_validator("source")
    @classmethod
    def _is_a_source(cls, name: str | None, info: ValidationInfo) -> str | None:
        return name and _known("source", name, info)


class GroupTimes(CronTimes):
    """When a group of work is run."""

    group: StrictStr = Field(description="the group, as its file in data/groups/ is called, without .yaml")

    @field_validator("group")
    @classmethod
    def _is_a_group(cls, name: str, info: ValidationInfo) -> str:
        return _known("group", name, info)


def _known(kind: str, name: str, info: ValidationInfo) -> str:
    """A name, if the context of the validation holds it among those that there are."""
    names: Sequence[str] | None = (info.context or {}).get(kind)
    if names is not None and name not in names:
        raise ValueError(f"no {kind} is called {name!r}; there are {', '.join(names) or 'none'}")
    return name


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
    groups: tuple[GroupTimes, ...] = Field(
        default=(), description="a list of group, cron and timezone, when groups of work are run"
    )


def read_schedules(file: Path, *, sources: Path, groups: Path) -> Schedules:
    """Read the schedules; the usual ones where there is no file.

    Args:
        file: says when.
        sources: the folder of the sources that there are.
        groups: the folder of the groups of work.

    Raises:
        SourceError: the file, or the folder of sources, cannot be used; names file, line and key.
    """
    if not file.exists():
        return Schedules()
    return read_as(file, Schedules, {"source": source_names(sources), "group": group_names(groups)})


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
