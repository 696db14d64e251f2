"""`holocron backfill`: makes chosen partitions of an asset again by a Dagster backfill, within limits."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from holocron_assets.cli.shared import clear_errors, counted, opened_lake, refuse_empty, tag_option
from holocron_assets.decisions.controls import HeldBackError

if TYPE_CHECKING:
    from holocron_assets.orchestration.runs.backfilling import Backfill

_SHOWN = 10
_REFUSED = 2


@click.command()
@click.argument("asset")
@click.option("--partitions", metavar="KEY,KEY", callback=refuse_empty, help="These partitions.")
@click.option(
    "--source",
    "source_name",
    metavar="NAME",
    callback=refuse_empty,
    help="Only partitions of this source.",
)
@click.option("--from", "first", metavar="KEY", callback=refuse_empty, help="The first partition.")
@click.option("--to", "last", metavar="KEY", callback=refuse_empty, help="The last partition.")
@click.option("--failed", is_flag=True, help="Of these, only those whose last run failed.")
@click.option(
    "--stale", is_flag=True, help="Of these, only those that are missing or would come out different today."
)
@tag_option
@click.option(
    "--most-runs",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    envvar="HOLOCRON_BACKFILL_RUNS",
    show_envvar=True,
    help="The most runs that it may ask for at once.",
)
@click.option(
    "--most-queued",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    envvar="HOLOCRON_BACKFILL_QUEUED",
    show_envvar=True,
    help="The most runs that may wait in the queue already.",
)
@click.option("--dry-run", is_flag=True, help="Only show the plan; start nothing.")
@clear_errors
def backfill(  # noqa: PLR0913 - one for each option
    *,
    asset: str,
    partitions: str | None,
    source_name: str | None,
    first: str | None,
    last: str | None,
    tags: Mapping[str, str],
    most_runs: int,
    most_queued: int,
    failed: bool,
    stale: bool,
    dry_run: bool,
) -> None:
    """Make partitions of ASSET again, in runs that Dagster's daemon starts (`make ui`).

    Partitions that are queued or running already are left out. It is refused, with exit code 2, if it asks
    for too many runs at once, too many wait already, nothing is left to do, or a person holds the work back.
    """
    # Dagster takes seconds to load, and other commands do not need it.
    from holocron_assets.orchestration.internals.instance import open_instance
    from holocron_assets.orchestration.runs.backfill_choice import chosen_partitions
    from holocron_assets.orchestration.runs.backfilling import (
        BackfillRefusedError,
        Guards,
        launch_backfill,
        plan_backfill,
        refuse_unguarded,
    )

    lake = opened_lake()
    with open_instance() as instance, lake.lock("backfill"):
        try:
            chosen = chosen_partitions(
                lake,
                instance,
                asset,
                named=partitions and [name.strip() for name in partitions.split(",")],
                source=source_name,
                between=(first, last),
                failed=failed,
                stale=stale,
            )
            planned = plan_backfill(instance, asset, chosen)
            _print_plan(planned)
            refuse_unguarded(lake, planned, Guards(most_runs, most_queued))
        except (BackfillRefusedError, HeldBackError) as refusal:
            click.echo(f"Refused: {refusal}", err=True)
            sys.exit(_REFUSED)
        if dry_run:
            click.echo("Nothing was started: this was a dry run.")
            return
        click.echo(f"started backfill {launch_backfill(planned, tags)}")


def _print_plan(planned: "Backfill") -> None:
    """Say what would be made, and what is left out."""
    named = ", ".join(planned.partitions[:_SHOWN])
    more = f" and {len(planned.partitions) - _SHOWN} more" if len(planned.partitions) > _SHOWN else ""
    made = counted(len(planned.partitions), "partition")
    click.echo(
        f"{planned.asset}: {made} in {counted(planned.runs, 'run')}{': ' if named else ''}{named}{more}"
    )
    for name, by in list(planned.left_out.items())[:_SHOWN]:
        click.echo(f"left out {name}: {by} makes it already")
    if len(planned.left_out) > _SHOWN:
        click.echo(f"left out {len(planned.left_out) - _SHOWN} more that are under way")
    if planned.queued:
        click.echo(f"{counted(planned.queued, 'run')} wait already")
