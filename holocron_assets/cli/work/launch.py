"""`holocron launch`: puts a job's run into Dagster's queue."""

from collections.abc import Mapping

import click

from holocron_assets.cli.shared import clear_errors, fail, opened_lake, source_option, tag_option
from holocron_assets.lake.place.paths import source_of


@click.command()
@click.argument("job")
@click.option("--wait", is_flag=True, help="Wait for the run, and exit with 1 if it fails.")
@source_option
@click.option("--title", "titles", multiple=True, metavar="TITLE", help="For add_pages; may be repeated.")
@click.option("--maximum-batches", type=click.IntRange(min=1), help="For refresh: batches to fetch.")
@click.option("--partition", metavar="KEY", help="Needed by jobs over a batch, a source or an entity type.")
@tag_option
@clear_errors
def launch(  # noqa: PLR0913 - one for each option
    job: str,
    source_name: str | None,
    titles: tuple[str, ...],
    maximum_batches: int | None,
    partition: str | None,
    *,
    tags: Mapping[str, str],
    wait: bool,
) -> None:
    """Launch a job through Dagster's run queue; a daemon (`make ui`) must be running."""
    from holocron_assets.orchestration.runs.launching import WrongTargetError, launch_job
    from holocron_assets.planning.holding import refuse_launch

    refuse_launch(opened_lake(), job, source_name or (partition and (source_of(partition) or partition)))
    settings = {"source": source_name, "titles": list(titles) or None, "maximum_batches": maximum_batches}
    config = {name: value for name, value in settings.items() if value is not None}
    try:
        error = launch_job(job, config=config, partition=partition, wait=wait, report=click.echo, tags=tags)
    except WrongTargetError as problem:
        raise click.UsageError(str(problem)) from problem
    if error:
        fail(error)
