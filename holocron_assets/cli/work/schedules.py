"""`holocron schedules`: lists the schedules, their next times, and how daylight saving changes them."""

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import click

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import clear_errors, json_option
from holocron_assets.crawl.sources.files import read_sources
from holocron_assets.crawl.sources.settings import CronTimes
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.groups import read_group
from holocron_assets.operations.schedules import STATUS_TIMES, read_schedules
from holocron_assets.settings import groups_folder, schedules_file, sources_folder

_SHOWN = 2


@click.command()
@json_option
@clear_errors
def schedules(*, as_json: bool) -> None:
    """List what is done by the clock: its cron, time zone and next times. Exits with 1 if a file is wrong.

    They are set in data/schedules.yaml, and in a source's file for its recheck; report_status cannot be set.
    A change counts once the code location is reloaded; what is queued by then is as it was.
    """
    from holocron_assets.orchestration.internals.clocks import next_times

    now = utc_now()
    sources, errors = read_sources(sources_folder())
    found = [
        (what, times, next_times(times, now, _SHOWN)) for what, times in _every_schedule(sources.values())
    ]
    _show(found, now, as_json=as_json)
    for error in errors:
        click.echo(str(error), err=True)
    if errors:
        sys.exit(1)


def _show(found: list[tuple[str, CronTimes, list[datetime]]], now: datetime, *, as_json: bool) -> None:
    from holocron_assets.orchestration.internals.clocks import clock_changes

    if as_json:
        rows: list[dict[str, Any]] = [
            {
                "schedule": what,
                "cron": times.cron,
                "timezone": times.timezone,
                "next": coming,
                "clock_changes": list(clock_changes(times, now)),
            }
            for what, times, coming in found
        ]
        click.echo(to_json(rows))
        return
    print_rows(
        terminal(),
        "Schedules",
        [
            {
                "schedule": what,
                "cron": times.cron,
                "time zone": times.timezone,
                "next": ", ".join(f"{at:%a %Y-%m-%d %H:%M}" for at in coming),
            }
            for what, times, coming in found
        ],
    )
    for what, times, _ in found:
        for change in clock_changes(times, now):
            click.echo(f"{what}: {change}")


def _every_schedule(sources: Iterable[Source]) -> Iterator[tuple[str, CronTimes]]:
    found = read_schedules(schedules_file(), sources=sources_folder(), groups=groups_folder())
    yield from (
        ("upkeep", found.upkeep),
        ("compaction", found.compaction),
        ("check_quality", found.check_quality),
        ("report_status", STATUS_TIMES),
    )
    for times in found.refresh:
        yield f"refresh of {times.source or 'all'}", times
    for run in found.groups:
        read_group(groups_folder(), run.group)  # one that could not be run is named now, not at night
        yield f"group {run.group}", run
    for source in sources:
        if source.changes.recheck:
            yield f"recheck of {source.name}", source.changes.recheck
