"""`holocron page`: everything known about one page."""

import click

from holocron_assets.cli.console import print_page, terminal, to_json
from holocron_assets.cli.shared import (
    all_sources,
    clear_errors,
    fail,
    json_option,
    named_source,
    opened_lake,
    source_option,
    words_argument,
)
from holocron_assets.lake.views.named_pages import composed, find_page, nearest_pages
from holocron_assets.operations.why.page_report import page_report


@click.command()
@words_argument("title")
@source_option
@json_option
@clear_errors
def page(title: str, source_name: str | None, *, as_json: bool) -> None:
    """Tell everything known about one page: revisions, signals, type and why, entity, where it is stuck."""
    lake, sources = opened_lake(), all_sources()
    if source_name:
        named_source(source_name)
    found = find_page(lake, title, source_name)
    if not found:
        title = composed(title)
        place = f" of source {source_name!r}" if source_name else ""
        fail(
            f"no page{place} is called {title!r}: no seed names it and no fetched page links to it. "
            f"`holocron crawl --source NAME --title {title!r}` fetches it."
            f"{nearest_pages(lake, title, source_name)}"
        )
    page_reports = [page_report(lake, sources, source, name) for source, name in found]
    if as_json:
        click.echo(to_json(page_reports))
        return
    for report in page_reports:
        print_page(terminal(), report)
