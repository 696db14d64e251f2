"""`holocron run`, `crawl`, `recheck` and `import`: this process does the work itself, until it is done."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from holocron_assets.cli.console import terminal
from holocron_assets.cli.shared import (
    any_named_source,
    clear_errors,
    named_source,
    opened_lake,
    source_option,
    tag_option,
)
from holocron_assets.crawl.sources.files import AnySource, SourceError, read_any_sources, write_dump_source
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import refuse_held
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import sources_folder

_LISTS = frozenset({".jsonl", ".ndjson", ".csv"})
_FEW_PAGES = 2  # an answer takes seconds on a CPU


@click.command()
@source_option
@click.option(
    "--llm",
    type=click.Choice(["off", "auto", "embedded"]),
    help="Which models are asked; see HOLOCRON_LLM, the default.",
)
@click.option(
    "--llm-pages",
    type=click.IntRange(min=0),
    default=_FEW_PAGES,
    show_default=True,
    help="Ask interrogations about this many pages, in addition to those that the rules leave open.",
)
@tag_option
@clear_errors
def run(source_name: str | None, llm: str | None, llm_pages: int, tags: Mapping[str, str]) -> None:
    """Do all work that is due: fetch pages, make types and entities, and ask models what they wait for.

    Works on every enabled source, or only on the named one, in this process and without a daemon. A second
    run does only new work. Exits with 1 if a run failed and no later one did its work, if a check failed, if
    a wiki or model could not be asked, or if a file of a source or interrogation is broken. Pages that were
    given up are no failure: `holocron status` lists them.

    When nothing else is pending, models are asked about the pages that the rules leave open, except for those
    whose types are learned meanwhile, and more about the few pages that most others link to. The rest is
    asked while `holocron ui` runs.
    """
    from holocron_assets.cli.work.local_run import run_everything

    if llm:
        os.environ["HOLOCRON_LLM"] = llm
    chosen, broken = ([any_named_source(source_name)], []) if source_name else _enabled_sources()
    lake = opened_lake()
    refuse_held(lake, source=source_name)
    done = run_everything(terminal(), lake, chosen, few=llm_pages, tags=tags)
    for error in broken:
        click.echo(str(error), err=True)
    if broken or not done:
        sys.exit(1)


@click.command()
@click.option("--source", "source_name", metavar="NAME", required=True, help="The source.")
@click.option("--title", "titles", multiple=True, metavar="TITLE", help="Only this page; may be repeated.")
@click.option(
    "--from",
    "list_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Only the pages of a list that were never asked for: JSON lines or CSV with `title` or `url`.",
)
@tag_option
@clear_errors
def crawl(source_name: str, titles: tuple[str, ...], list_file: Path | None, tags: Mapping[str, str]) -> None:
    """Fetch what is pending of one source, pages or files; or given pages, fetched before or not."""
    from holocron_assets.cli.work.local_run import crawl_list, crawl_titles, run_everything

    if titles and list_file:
        raise click.UsageError("name pages with --title or in a list with --from, not both")
    lake = opened_lake()
    refuse_held(lake, source=source_name)
    if list_file:
        done = crawl_list(terminal(), lake, named_source(source_name), list_file, tags=tags)
    elif titles:
        done = crawl_titles(terminal(), lake, named_source(source_name), titles, tags=tags)
    else:
        done = run_everything(terminal(), lake, [any_named_source(source_name)], tags=tags)
    if not done:
        sys.exit(1)


@click.command()
@click.option("--source", "source_name", metavar="NAME", required=True, help="The source, a wiki.")
@clear_errors
def recheck(source_name: str) -> None:
    """Compare every page of a source with its wiki, 50 a request, and fetch what differs."""
    from holocron_assets.cli.work.local_run import recheck_source

    lake = opened_lake()
    refuse_held(lake, source=source_name)
    if not recheck_source(terminal(), lake, named_source(source_name)):
        sys.exit(1)


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--source",
    "source_name",
    metavar="NAME",
    required=True,
    help="The source; that of an export is created if it is new.",
)
@clear_errors
def import_command(file: Path, source_name: str) -> None:
    """Read a MediaWiki XML export, to promoted entities; or add the pages or files of a list to a source.

    An export may be packed: .gz, .bz2, .zst, or a zip or tar file of exports of one wiki. A list (.jsonl or
    .csv) has a `title` or `url` in each line. Each is added once; `holocron crawl --source NAME`, `holocron
    run` or the sensors fetch it.
    """
    lake = opened_lake()
    refuse_held(lake, source=source_name)
    if not (_import_list if file.suffix.lower() in _LISTS else _import_export)(lake, file, source_name):
        sys.exit(1)


def _import_list(lake: Lake, file: Path, source_name: str) -> bool:
    from holocron_assets.cli.knowledge.files import add_listed_files
    from holocron_assets.cli.work.local_run import add_list

    source = any_named_source(source_name)
    if isinstance(source, Source):
        return add_list(terminal(), lake, source, file)
    add_listed_files(lake, source, file)
    return True


def _import_export(lake: Lake, file: Path, source_name: str) -> bool:
    from holocron_assets.cli.work.local_run import run_everything

    folder = sources_folder()
    if not (folder / f"{source_name}.yaml").exists():
        click.echo(f"made {write_dump_source(folder, source_name, file)}")
    source = named_source(source_name)
    if Path(source.origin) != file.resolve():
        raise click.ClickException(
            f"source {source_name!r} reads {source.origin}. Give this file a source of its own, or change "
            f"`address` in {folder / f'{source_name}.yaml'}."
        )
    return run_everything(terminal(), lake, [source])


def _enabled_sources() -> tuple[list[AnySource], list[SourceError]]:
    """The enabled sources, and the problems of source files that cannot be read."""
    found, errors = read_any_sources(sources_folder())
    return [source for source in found.values() if source.enabled], errors
