"""`holocron sources`: lists the sources, and switches them on and off."""

import sys

import click
from rich.console import Console

from holocron_assets.cli.console import print_rows, to_json
from holocron_assets.cli.shared import any_named_source, clear_errors, json_option
from holocron_assets.crawl.sources.files import read_any_sources, set_enabled
from holocron_assets.settings import sources_folder

_PLACEHOLDER = "put-your-own-address-here"
"""Part of the contact in the source files that Holocron ships."""


@click.group()
def sources() -> None:
    """List the sources, and switch them on and off."""


@sources.command("list")
@json_option
@clear_errors
def list_sources(*, as_json: bool) -> None:
    """List the sources; exit with 1 if a file cannot be read."""
    found, errors = read_any_sources(sources_folder())
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
    source = any_named_source(name)
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
