"""`holocron`: a person's hands on all of it."""

import os
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console

from holocron_assets.cli.console import print_page, print_rows, to_json
from holocron_assets.cli.knowledge import reports
from holocron_assets.cli.knowledge.artifacts import artifacts
from holocron_assets.cli.knowledge.ask import ask
from holocron_assets.cli.knowledge.decide import decide
from holocron_assets.cli.knowledge.decisions import decisions
from holocron_assets.cli.knowledge.export import export, hash_command
from holocron_assets.cli.knowledge.repeat import repeat
from holocron_assets.cli.knowledge.review import review
from holocron_assets.cli.knowledge.why import why
from holocron_assets.cli.operation.alerts import alerts
from holocron_assets.cli.operation.backup import backup, restore
from holocron_assets.cli.operation.graph import graph
from holocron_assets.cli.operation.status import status
from holocron_assets.cli.operation.verify import verify
from holocron_assets.cli.operation.web import web
from holocron_assets.cli.operation.webhooks import webhooks
from holocron_assets.cli.shared import (
    all_sources,
    clear_errors,
    counted,
    fail,
    json_option,
    named_source,
    opened_lake,
    source_option,
    tag_option,
)
from holocron_assets.cli.work.backfill import backfill
from holocron_assets.cli.work.control import controls, drain, pause, prioritize, requeue, resume
from holocron_assets.cli.work.dispatch import dispatch, stale
from holocron_assets.cli.work.group import group
from holocron_assets.cli.work.models import models
from holocron_assets.cli.work.schedules import schedules
from holocron_assets.cli.work.serving import daemon, ui, webserver
from holocron_assets.cli.work.worker import worker
from holocron_assets.crawl.frontier.batches import source_of
from holocron_assets.crawl.sources.files import (
    SourceError,
    read_sources,
    set_enabled,
    write_dump_source,
)
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import refuse_held
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.named_pages import find_page
from holocron_assets.operations.state.staleness import read_staleness
from holocron_assets.operations.views import all_views
from holocron_assets.settings import sources_folder
from holocron_assets.telemetry.errors import ObserveError
from holocron_assets.telemetry.setup import observe_process

_FEW_PAGES = 2  # an answer takes seconds on a CPU

_PLACEHOLDER = "put-your-own-address-here"
"""Part of the contact in source files that are shipped."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="holocron-assets")
def main() -> None:
    """Turn a wiki into a knowledge base that people can trust.

    HOLOCRON_DATA moves the data folder, HOLOCRON_SOURCES the folder of source files.
    """
    try:
        observe_process()
    except ObserveError as error:
        raise click.UsageError(str(error)) from error


main.add_command(alerts)
main.add_command(artifacts)
main.add_command(ask)
main.add_command(backfill)
main.add_command(backup)
for command in (controls, drain, pause, prioritize, requeue, resume):
    main.add_command(command)
main.add_command(models)
main.add_command(decide)
main.add_command(decisions)
main.add_command(dispatch)
main.add_command(export)
main.add_command(graph)
main.add_command(group)
main.add_command(hash_command)
main.add_command(schedules)
for command in (daemon, ui, webserver):
    main.add_command(command)
main.add_command(stale)
main.add_command(repeat)
main.add_command(restore)
main.add_command(review)
main.add_command(status)
main.add_command(verify)
main.add_command(web)
main.add_command(why)
main.add_command(webhooks)
main.add_command(worker)


@main.command()
@source_option
@click.option(
    "--llm",
    type=click.Choice(["off", "auto", "embedded"]),
    help="Which models are asked; see HOLOCRON_LLM, which it is by default.",
)
@click.option(
    "--llm-pages",
    type=click.IntRange(min=0),
    default=_FEW_PAGES,
    show_default=True,
    help="Pages that interrogations are asked about beside those that the rules leave open.",
)
@tag_option
@clear_errors
def run(source_name: str | None, llm: str | None, llm_pages: int, tags: Mapping[str, str]) -> None:
    """Do everything there is to do, until nothing is pending.

    Works on every enabled source, or on the one that is named, in this process and without a daemon. Exits
    with 1 if anything failed. A second run does only what is new.

    When nothing else is pending, models are asked about all pages that the rules leave open, and more about
    the few pages that most others link to. The rest is asked while `holocron ui` runs.
    """
    from holocron_assets.cli.work.run import run_everything

    if llm:
        os.environ["HOLOCRON_LLM"] = llm
    chosen, broken = ([named_source(source_name)], []) if source_name else _enabled_sources()
    refuse_held(opened_lake(), source=source_name)
    done = run_everything(Console(), opened_lake(), chosen, few=llm_pages, tags=tags)
    for error in broken:
        click.echo(str(error), err=True)
    if broken or not done:
        sys.exit(1)


@main.command()
@click.option("--source", "source_name", metavar="NAME", required=True, help="The source.")
@click.option("--title", "titles", multiple=True, metavar="TITLE", help="Only this page; may be repeated.")
@tag_option
@clear_errors
def crawl(source_name: str, titles: tuple[str, ...], tags: Mapping[str, str]) -> None:
    """Fetch what is pending of one source, or given pages whether fetched before or not."""
    from holocron_assets.cli.work.run import crawl_titles, run_everything

    source, lake = named_source(source_name), opened_lake()
    refuse_held(lake, source=source_name)
    if titles:
        done = crawl_titles(Console(), lake, source, titles, tags=tags)
    else:
        done = run_everything(Console(), lake, [source], tags=tags)
    if not done:
        sys.exit(1)


@main.command()
@click.option("--source", "source_name", metavar="NAME", required=True, help="The source, a wiki.")
@clear_errors
def recheck(source_name: str) -> None:
    """Compare every page of a source with its wiki, 50 a request, and fetch what differs."""
    from holocron_assets.cli.work.run import recheck_source

    refuse_held(opened_lake(), source=source_name)
    if not recheck_source(Console(), opened_lake(), named_source(source_name)):
        sys.exit(1)


@main.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--source", "source_name", metavar="NAME", required=True, help="The source; made if it is new.")
@clear_errors
def import_file(file: Path, source_name: str) -> None:
    """Read a MediaWiki XML export, to promoted entities."""
    from holocron_assets.cli.work.run import run_everything

    refuse_held(opened_lake(), source=source_name)
    folder = sources_folder()
    if not (folder / f"{source_name}.yaml").exists():
        click.echo(f"made {write_dump_source(folder, source_name, file)}")
    source = named_source(source_name)
    if Path(source.origin) != file.resolve():
        raise click.ClickException(
            f"source {source_name!r} reads {source.origin}. Give this file a source of its own, or change "
            f"`address` in {folder / f'{source_name}.yaml'}."
        )
    if not run_everything(Console(), opened_lake(), [source]):
        sys.exit(1)


@main.command()
@click.argument("title")
@source_option
@json_option
@clear_errors
def page(title: str, source_name: str | None, *, as_json: bool) -> None:
    """Tell everything known about one page: revisions, signals, type and why, entity, where it is stuck."""
    lake, sources = opened_lake(), all_sources()
    title = unicodedata.normalize("NFC", title)  # as MediaWiki stores titles
    if source_name:
        named_source(source_name)
    found = find_page(lake, title, source_name)
    if not found:
        place = f" of source {source_name!r}" if source_name else ""
        fail(
            f"no page{place} is called {title!r}: no seed names it and no fetched page links to it. "
            f"`holocron crawl --source NAME --title {title!r}` fetches it."
        )
    page_reports = [reports.page_report(lake, sources, source, name) for source, name in found]
    if as_json:
        click.echo(to_json(page_reports))
        return
    for report in page_reports:
        print_page(Console(), report)


@main.group()
def sources() -> None:
    """List the sources, and switch them on and off."""


@sources.command("list")
@json_option
@clear_errors
def list_sources(*, as_json: bool) -> None:
    """List the sources; exit with 1 if a file cannot be read."""
    found, errors = read_sources(sources_folder())
    rows = [
        {"source": source.name, "enabled": source.enabled, "kind": source.kind, "origin": source.origin}
        for source in found.values()
    ]
    if as_json:
        click.echo(to_json(rows))
    else:
        print_rows(Console(), "Sources", rows)
    for error in errors:
        click.echo(str(error), err=True)
    if errors:
        sys.exit(1)


@sources.command()
@click.argument("name")
@clear_errors
def enable(name: str) -> None:
    """Let sensors and runs crawl a source."""
    set_enabled(sources_folder(), name, enabled=True)
    source = named_source(name)
    click.echo(f"enabled {name}: sensors and runs will crawl {source.origin}")
    if _PLACEHOLDER in (source.politeness.contact or ""):
        file = sources_folder() / f"{name}.yaml"
        click.echo(f"Put your own address into politeness.contact of {file}: it is sent with every request.")


@sources.command()
@click.argument("name")
@clear_errors
def disable(name: str) -> None:
    """Keep sensors and runs from crawling a source. What was fetched stays."""
    set_enabled(sources_folder(), name, enabled=False)
    click.echo(f"disabled {name}")


@main.command()
@click.argument("sql")
@json_option
@clear_errors
def sql(sql: str, *, as_json: bool) -> None:
    """Ask the lake in SQL (DuckDB). `holocron sql "show tables"` names the views."""
    if not sql.strip():
        raise click.UsageError('the query is empty; "show tables" names the views')
    from holocron_assets.planning.batch_steps import stale_batches

    lake, sources = opened_lake(), all_sources()
    staleness = read_staleness(lake, stale_batches=stale_batches(lake, sources))
    with connect(lake, more_views=all_views(sources, lake, staleness)) as connection:
        rows = query(connection, sql)
    if as_json:
        click.echo(to_json(rows))
    else:
        print_rows(Console(), "", rows)
        click.echo(counted(len(rows), "row"))


@main.command()
@click.argument("job")
@click.option("--wait", is_flag=True, help="Wait for the run, and exit with 1 if it fails.")
@source_option
@click.option("--title", "titles", multiple=True, metavar="TITLE", help="For add_pages; may be repeated.")
@click.option("--maximum-batches", type=click.IntRange(min=1), help="For refresh.")
@click.option("--partition", metavar="KEY", help="For jobs over a batch, a source or an entity type.")
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
    from holocron_assets.orchestration.runs.launching import launch_job

    refuse_held(opened_lake(), source=source_name or (partition and (source_of(partition) or partition)))
    settings = {"source": source_name, "titles": list(titles) or None, "maximum_batches": maximum_batches}
    config = {name: value for name, value in settings.items() if value is not None}
    try:
        error = launch_job(job, config=config, partition=partition, wait=wait, tell=click.echo, tags=tags)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from problem
    if error:
        fail(error)


@main.command()
@clear_errors
def home() -> None:
    """Prepare Dagster's home and print it, for `export DAGSTER_HOME=$(holocron home)`."""
    from holocron_assets.orchestration.internals.instance import open_instance, prepare_home

    with open_instance():
        click.echo(prepare_home())


def _enabled_sources() -> tuple[list[Source], list[SourceError]]:
    """The enabled sources, and what is wrong with files that cannot be read: the others go on."""
    found, errors = read_sources(sources_folder())
    return [source for source in found.values() if source.enabled], errors
