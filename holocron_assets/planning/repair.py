"""Mending: who meets a damaged file sets it aside and looks again; what is missing then is work as ever.

Nothing has to be started for it. Sensors, ops and `holocron run` each meet damage where they read.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from holocron_assets.crawl.changes.revision_check import start_pass
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.quarantine import set_aside
from holocron_assets.lake.files.verifying import damage_of
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import PAGE_CHANGES, REVISION_CHECKS
from holocron_assets.telemetry.context import about
from holocron_assets.telemetry.spans import span

MOST_AT_ONCE = 20
"""Damaged files that one look sets aside before it gives up until the next."""

_Found = TypeVar("_Found")


class _Log(Protocol):
    def error(self, message: str) -> None: ...


class _Context(Protocol):
    @property
    def log(self) -> _Log: ...


_Tick = TypeVar("_Tick", bound=Callable[..., Any])


def repair(error: DamagedPartitionError) -> str:
    """Set a damaged file aside, so that whoever met it can look again.

    Changes that a wiki told of, and a check of all pages that went on, are told nowhere else: in their place
    all pages of the source are compared with the wiki.

    Returns:
        What was done, for people.

    Raises:
        DamagedPartitionError: what it holds could not be made again, and it stays where it is.
    """
    lake = open_lake(error.file.parents[4])
    table, source = error.file.parts[-3:-1]
    is_damaged = error.file.exists() and damage_of(error.file) is not None
    if table == PAGE_CHANGES.name and is_damaged:
        # Before: a process that dies in between leaves the damage to be met again.
        start_pass(lake, source, "gap", utc_now())
    aside = set_aside(lake, error)
    if aside is None:
        return f"{error.file} was damaged ({error.why}), and is whole or gone by now"
    if table == REVISION_CHECKS.name:
        start_pass(lake, source, "gap", utc_now())
    return str(aside)


def repairing(read: Callable[[], _Found], tell: Callable[[str], object]) -> _Found:
    """What a look at the lake gives; each damaged file that it meets is set aside, and it looks again.

    Args:
        read: looks, and may be called again.
        tell: told of each file.

    Raises:
        DamagedPartitionError: a file cannot be set aside, or too many are damaged.
    """
    for _ in range(MOST_AT_ONCE):
        try:
            return read()
        except DamagedPartitionError as error:
            tell(repair(error))
    return read()


def repaired_tick(tick: _Tick) -> _Tick:
    """Let a sensor's or schedule's tick set aside what it finds damaged, name it in its log, and go on."""

    @wraps(tick)
    def repaired(context: _Context, **resources: Any) -> Any:  # the daemon gives all of it by name
        def tell(message: str) -> None:
            context.log.error(message)  # not asked for before: whoever asks for a tick's log makes a file

        with about(tick=tick.__name__), span(f"tick {tick.__name__}"):
            return repairing(lambda: tick(context, **resources), tell)

    return cast("_Tick", repaired)


def repair_all(errors: Sequence[DamagedPartitionError], tell: Callable[[str], object]) -> list[str]:
    """Set several damaged files aside; what cannot be is left, and named.

    Args:
        errors: what reading each gave.
        tell: told of each file that was set aside.

    Returns:
        What is wrong with those that stay where they are.
    """
    left = []
    for error in errors:
        try:
            tell(repair(error))
        except DamagedPartitionError as unrepaired:
            left.append(str(unrepaired))
    return left
