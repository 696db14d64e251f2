"""`holocron status`: how things stand, once or again and again."""

import json
import signal
from contextlib import nullcontext
from datetime import timedelta
from time import sleep

import click
from rich.live import Live

from holocron_assets.cli.console import terminal, to_json
from holocron_assets.cli.operation.status_console import print_status, watched
from holocron_assets.cli.shared import (
    all_sources_of_any_kind,
    clear_errors,
    domain_option,
    json_option,
    of_domain,
    opened_lake,
)
from holocron_assets.crawl.sources.files import read_any_sources
from holocron_assets.interrupts import ending_by_signal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.operations.state.staleness import FailedRuns
from holocron_assets.operations.state.status import Status
from holocron_assets.orchestration.internals.failed_runs import may_have_failed_runs
from holocron_assets.planning.batch_derivations import stale_batches
from holocron_assets.settings import politeness_folder, sources_folder

_A_DAY = timedelta(days=1)
_SECONDS = 5.0
_BY_CTRL_C = 128 + signal.SIGINT


@click.command()
@json_option
@domain_option
@click.option("--watch", is_flag=True, help="Refresh until Ctrl+C; --json: a line for each snapshot.")
@click.option(
    "--every",
    "seconds",
    type=click.FloatRange(min=0.1),
    default=_SECONDS,
    show_default=True,
    help="Seconds between two snapshots of --watch.",
)
@clear_errors
def status(*, as_json: bool, domain: str | None, watch: bool, seconds: float) -> None:
    """Show how things stand: what waits where and for how long, how fast it goes, and what fails, and why.

    That is: pages, types, interrogations, entities and questions to people that are pending, in flight, done,
    waiting, dead and skipped; what the last hour brought; failures of the last day by cause; models; what is
    held back, and which wikis are left alone. With --domain, work is only that of its interrogations.
    """
    of_domain(domain)
    if watch:
        _watch(seconds, domain, as_json=as_json)
        return
    found = _snapshot(domain)
    if as_json:
        click.echo(to_json(found.as_json()))
        return
    print_status(terminal(), found)
    if not found.stages:
        click.echo(f"The lake is empty. {_what_fills_it()}")


def _what_fills_it() -> str:
    if any(source.enabled for source in read_any_sources(sources_folder())[0].values()):
        return "`holocron run` fills it."
    return (
        "No source is enabled: `holocron sources enable NAME` enables one, and then `holocron run` fills it."
    )


def _snapshot(domain: str | None) -> Status:
    lake, sources = opened_lake(), all_sources_of_any_kind()
    found = take_snapshot(
        lake,
        sources,
        politeness_folder(),
        stale_batches=stale_batches(lake, sources),
        failed_runs=_failed_runs(),
    )
    return found.of_domain(domain) if domain else found


def _failed_runs() -> FailedRuns:
    """The runs that failed in the last day, as Dagster recorded them."""
    since = utc_now() - _A_DAY
    if not may_have_failed_runs(since):
        return FailedRuns()
    # Dagster takes two seconds to import and to open its instance.
    from holocron_assets.orchestration.resources.status_snapshot import failed_runs
    from holocron_assets.orchestration.runtime.endpoints import instance_if_any

    return failed_runs(instance_if_any, since)


def _watch(seconds: float, domain: str | None, *, as_json: bool) -> None:
    """Show snapshots until a signal ends it. Ctrl+C is how that is meant to end, and no failure."""
    console = terminal()
    in_place = console.is_terminal and not as_json
    live = Live(console=console, auto_refresh=False) if in_place else None
    try:
        with ending_by_signal(), live or nullcontext():
            before: Status | None = None
            while True:
                found = _snapshot(domain)
                if live:
                    live.update(watched(found, before), refresh=True)
                elif as_json:
                    click.echo(json.dumps(found.as_json(), ensure_ascii=False))
                else:
                    console.print(watched(found, before), end="\n\n")
                before = found
                sleep(seconds)
    except SystemExit as ended:
        if ended.code != _BY_CTRL_C:
            raise
