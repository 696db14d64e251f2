"""The file of schedules: the content that counts since the code was loaded, and the sensor for its errors."""

from typing import NamedTuple

import dagster as dg

from holocron_assets.crawl.sources.files import SourceError
from holocron_assets.operations.schedules import Schedules, read_schedules
from holocron_assets.settings import groups_folder, schedules_file, sources_folder

_CHANGED = "the file of schedules was changed; the change counts once the code location is reloaded"
_INSTEAD = (
    "Upkeep, compaction and quality checks come at their usual times, crawls and groups do not come. "
    "Repair the file, then reload the code location."
)
_BEFORE = (
    "What was loaded before it was changed goes on. After a reload, upkeep, compaction and quality checks "
    "would come at their usual times, and crawls and groups not at all: repair the file first."
)


class Loaded(NamedTuple):
    """The content that counts since the code was loaded.

    Attributes:
        schedules: of the file; the defaults where it could not be used.
        trouble: what was wrong with it, if anything.
    """

    schedules: Schedules
    trouble: str | None = None


def load_schedules() -> Loaded:
    """The schedules; even if the file cannot be used, the rest of the code is loaded."""
    try:
        schedules = read_schedules(schedules_file(), sources=sources_folder(), groups=groups_folder())
    except SourceError as error:
        return Loaded(Schedules(), str(error))
    return Loaded(schedules)


def schedules_sensor(loaded: Loaded) -> dg.SensorDefinition:
    """The sensor whose ticks fail while the file of schedules cannot be used.

    Args:
        loaded: the content that counts since the code was loaded.
    """

    @dg.sensor(
        name="read_schedules",
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Fails while the file of schedules cannot be used, and says when a change of it counts.",
    )
    def read_schedules(_context: dg.SensorEvaluationContext) -> dg.SkipReason:
        now = load_schedules()
        if now.trouble:
            raise dg.Failure(f"{now.trouble}\n{_INSTEAD if loaded.trouble else _BEFORE}")
        if now != loaded:
            return dg.SkipReason(_CHANGED)
        return dg.SkipReason("schedules are as their file says")

    return read_schedules
