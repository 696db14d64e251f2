"""`holocron why`: explains why a page is where it is, and what can be done about it."""

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from holocron_assets.cli.console import shown, terminal, to_json
from holocron_assets.cli.shared import (
    all_sources,
    any_named_source,
    clear_errors,
    fail,
    json_option,
    opened_lake,
    source_option,
    words_argument,
)
from holocron_assets.crawl.sources.files import read_file_sources
from holocron_assets.lake.views.named_pages import find_page, nearest_pages
from holocron_assets.operations.why.answers import Answer
from holocron_assets.operations.why.explaining import explain
from holocron_assets.operations.why.files import why_files
from holocron_assets.operations.why.page_report import page_report
from holocron_assets.settings import politeness_folder, sources_folder


@click.command()
@words_argument("title")
@source_option
@json_option
@clear_errors
def why(title: str, source_name: str | None, *, as_json: bool) -> None:
    """Tell why page TITLE was not fetched yet, or was typed so, or is no entity, or was not asked about.

    TITLE may also be the name of a file: its title on the wiki, or its address.

    Each answer says who decided, on what evidence, and which command changes it. An error is followed by
    Python's traceback, if one was kept. If no such page is known, the command names the nearest titles and
    exits with 1.
    """
    lake, sources = opened_lake(), all_sources()
    title = unicodedata.normalize("NFC", title)  # as MediaWiki stores titles
    if source_name:
        any_named_source(source_name)
    known = {source.name: source for source in sources}
    pages = find_page(lake, title, source_name)
    found = [page for page in pages if page[0] in known]
    of_files = read_file_sources(sources_folder())
    explained = why_files(lake, title, source_name, of_files, politeness_folder())
    if pages and not found and not explained:
        names = ", ".join(sorted({source for source, _ in pages}))
        fail(
            f"{title!r} is a page of {names}, whose file in {sources_folder()} is gone or cannot be read: "
            f"mend it first. `holocron page` shows what is known of the page"
        )
    if not found and not explained:
        fail(
            f"no page is called {title!r}: no seed names it and no fetched page links to it."
            f"{nearest_pages(lake, title, source_name)}"
        )
    for source, name in found:
        report = page_report(lake, sources, source, name)
        explained.append((source, name, explain(lake, known[source], report)))
    if as_json:
        rows = [
            {"source": source, "title": name, "answers": [asdict(answer) for answer in answers]}
            for source, name, answers in explained
        ]
        click.echo(to_json(rows))
        return
    for source, name, answers in explained:
        _print(terminal(), source, name, answers)


def _print(console: Console, source: str, title: str, answers: Sequence[Answer]) -> None:
    console.print(f"[bold]{shown(title)}[/bold] of {source}", end="\n\n")
    for answer in answers:
        console.print(f"[bold]{escape(answer.about)}[/bold]: {shown(answer.says)}")
        for line in answer.because:
            console.print(Padding(f"[dim]-[/dim] {shown(line)}", (0, 0, 0, 2)))
        for line in answer.traceback.splitlines():
            console.print(Padding(f"[dim]{shown(line)}[/dim]", (0, 0, 0, 4)))
        for command in answer.commands:
            console.print(f"    [cyan]{shown(command)}[/cyan]", soft_wrap=True)  # to be copied whole
        console.line()
