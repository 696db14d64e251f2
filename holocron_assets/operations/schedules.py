"""Work at set times, as data: `data/schedules.yaml` says when, and in which time zone."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, StrictStr, ValidationInfo, field_validator

from holocron_assets.crawl.sources.files import Problem, SourceError, read_as, source_names
from holocron_assets.crawl.sources.settings import CronTimes
from holocron_assets.crawl.sources.source import NAME_PATTERN, NAME_RULE
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.operations.groups import group_names

STATUS_TIMES = CronTimes(cron="7 * * * *")
"""When the status is recorded. It costs little, and is not configurable."""


class RefreshTimes(CronTimes):
    """When a source is refreshed from its seeds on, in addition to the sensors' work."""

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
    """Check that a schedule's name is one of those in the validation's context."""
    names: Sequence[str] | None = (info.context or {}).get(kind)
    if names is not None and name not in names:
        raise ValueError(f"no {kind} is called {name!r}; there are {', '.join(names) or 'none'}")
    if not NAME_PATTERN.fullmatch(name):
        raise ValueError(f"{name!r} {NAME_RULE}: rename the file of this {kind}")
    return name


class Schedules(FrozenModel):
    """The file `data/schedules.yaml`. Keys that are left out have their defaults."""

    upkeep: CronTimes = Field(
        default=CronTimes(cron="*/5 * * * *"),
        description="when old runs and the logs of old ticks are forgotten, if it is due",
    )
    compaction: CronTimes = Field(
        default=CronTimes(cron="*/5 * * * *"),
        description="when old files of the lake and old journals are packed, if it is due",
    )
    check_quality: CronTimes = Field(
        default=CronTimes(cron="17 * * * *"), description="when the lake's quality is checked"
    )
    refresh: tuple[RefreshTimes, ...] = Field(
        default=(), description="a list of cron, timezone and source, when sources are crawled again"
    )
    groups: tuple[GroupTimes, ...] = Field(
        default=(), description="a list of group, cron and timezone, when groups of work are run"
    )


def read_schedules(file: Path, *, sources: Path, groups: Path) -> Schedules:
    """Read the schedules; the defaults where there is no file.

    Args:
        file: the file of schedules.
        sources: the folder of the sources.
        groups: the folder of the groups of work.

    Raises:
        SourceError: the file, or the folder of sources, cannot be used; names file, line and key.
    """
    try:
        file.stat()
    except FileNotFoundError:
        return Schedules()
    except OSError as error:
        raise SourceError(file, Problem(0, "", f"cannot be read: {error.strerror}")) from error
    return read_as(file, Schedules, {"source": source_names(sources), "group": group_names(groups)})
