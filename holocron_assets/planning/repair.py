"""Repair: a process that meets a damaged file sets it aside and reads again. The missing file is then work.

Repair needs no start. Sensors, ops and `holocron run` each meet damage where they read.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from holocron_assets.crawl.changes.revision_check import start_pass
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.files.damage import DamagedPartitionError, FileFault, UnreadableFileError
from holocron_assets.lake.files.quarantine import set_aside
from holocron_assets.lake.files.verifying import damage_of
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import PAGE_CHANGES, REVISION_CHECKS
from holocron_assets.telemetry.context import about
from holocron_assets.telemetry.spans import span

MOST_AT_ONCE = 20
"""Most damaged files that one pass sets aside."""

_Found = TypeVar("_Found")


class _Log(Protocol):
    def error(self, message: str) -> None: ...


class _Context(Protocol):
    @property
    def log(self) -> _Log: ...


_Tick = TypeVar("_Tick", bound=Callable[..., Any])


def repair(error: DamagedPartitionError) -> str:
    """Set a damaged file aside, so that the caller can read again.

    Changes that a wiki reported, and an unfinished check of all pages, are stored nowhere else. In their
    place, all pages of the source are compared with the wiki.

    Returns:
        A message about what was done.

    Raises:
        DamagedPartitionError: its content could not be made again, and it stays where it is.
    """
    lake = open_lake(error.file.parents[4])
    table, source = error.file.parts[-3:-1]
    is_damaged = error.file.exists() and damage_of(error.file) is not None
    if table == PAGE_CHANGES.name and is_damaged:
        # Before the file is moved: if the process dies in between, the damage is met again.
        start_pass(lake, source, "gap", utc_now())
    aside = set_aside(lake, error)
    if aside is None:
        return f"{error.file} was damaged ({error.why}), and is whole or gone by now"
    if table == REVISION_CHECKS.name:
        start_pass(lake, source, "gap", utc_now())
    return str(aside)


def repairing(read: Callable[[], _Found], report: Callable[[str], object]) -> _Found:
    """Read the lake; each damaged file that is met is set aside, and the lake is read again.

    Args:
        read: reads the lake, and may be called again.
        report: called with a message about each file.

    Raises:
        DamagedPartitionError: a file cannot be set aside, or too many are damaged.
    """
    for _ in range(MOST_AT_ONCE):
        try:
            return read()
        except DamagedPartitionError as error:
            report(repair(error))
    return read()


def repaired_tick(tick: _Tick) -> _Tick:
    """Let a tick of a sensor or schedule set damaged files aside, log each, and go on."""

    @wraps(tick)
    def repaired(context: _Context, **resources: Any) -> Any:  # the daemon passes all of it by name
        def report(message: str) -> None:
            context.log.error(message)  # created only now: a tick's log makes a file

        with about(tick=tick.__name__), span(f"tick {tick.__name__}"):
            return repairing(lambda: tick(context, **resources), report)

    return cast("_Tick", repaired)


def repair_all(errors: Sequence[FileFault], report: Callable[[str], object]) -> list[str]:
    """Set several damaged files aside. Those that cannot be set aside are left and named.

    Args:
        errors: the error of reading each. A file that the system cannot read may be whole, and is left.
        report: called with a message about each file that was set aside.

    Returns:
        The errors of those that stay where they are.
    """
    left = []
    for error in errors:
        if isinstance(error, UnreadableFileError):
            left.append(str(error))
            continue
        try:
            report(repair(error))
        except DamagedPartitionError as unrepaired:
            left.append(str(unrepaired))
    return left
