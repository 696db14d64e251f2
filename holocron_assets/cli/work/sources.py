"""`holocron sources`: lists the sources, makes one of a wiki, and switches them on and off."""

import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import any_named_source, clear_errors, json_option, opened_lake
from holocron_assets.crawl.sources.files import (
    read_any_sources,
    refuse_taken,
    set_enabled,
    write_new_source,
)
from holocron_assets.settings import politeness_folder, sources_folder

if TYPE_CHECKING:
    from holocron_assets.crawl.sources.discovery import FoundWiki

_PLACEHOLDER = "put-your-own-address-here"
"""Part of the contact in the source files that Holocron ships."""


@click.group()
def sources() -> None:
    """List the sources, add a wiki, and switch them on and off."""


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
        print_rows(terminal(), "Sources", rows)
    for error in errors:
        click.echo(str(error), err=True)
    if errors:
        sys.exit(1)


@sources.command()
@click.argument("url")
@click.option("--contact", required=True, help="Your e-mail or web address; it is sent with every request.")
@click.option("--name", help="The source's name; by default the wiki's.")
@click.option("--private", is_flag=True, help="The wiki is on this machine or in a private network.")
@clear_errors
def add(url: str, contact: str, name: str | None, *, private: bool) -> None:
    """Make a source of the wiki at URL, any page of it: ask what it says of itself, and write the file.

    Says what a crawl, or reading an export, would take. The source is not enabled, and nothing more is
    fetched.
    """
    from holocron_assets.crawl.http.log import HttpLog
    from holocron_assets.crawl.sources.discovery import DISCOVERY, find_wiki, page_address, source_text

    folder, lake = sources_folder(), opened_lake()
    if name:
        refuse_taken(folder, name)
    hosts = [urlsplit(page_address(url)).hostname or ""] if private else []
    with HttpLog(lake, DISCOVERY) as log:
        wiki = find_wiki(
            url,
            contact=contact,
            politeness_folder=politeness_folder(),
            record=log.record,
            private_hosts=hosts,
        )
    text = source_text(wiki, name or wiki.name, contact=contact, private_hosts=hosts)
    click.echo(f"made {write_new_source(folder, name or wiki.name, text)}")
    _describe(wiki, name or wiki.name)


def _describe(wiki: "FoundWiki", name: str) -> None:
    info = wiki.info
    sizes = info.statistics
    rows = [
        ("wiki", f"{info.general.sitename} ({info.general.generator or 'MediaWiki'})"),
        ("language", info.general.lang or "it says none"),
        ("API", wiki.api_url),
        ("pages", f"{sizes.articles:,} articles; {sizes.pages:,} pages and {sizes.images:,} files in all"),
        ("namespaces", ", ".join(map(str, wiki.content_namespaces))),
        ("licence", wiki.licence),
        ("extensions", ", ".join(wiki.extensions) or "it lists none"),
        ("pace", f"{wiki.pace:g} requests a second, one at a time"),
    ]
    print_rows(terminal(), "Found", [{"what": what, "says": says} for what, says in rows])
    least, most = (number / 1e6 for number in wiki.lake_bytes)
    disk = f"{least:,.0f} to {most:,.0f} MB of lake"
    plans = [
        {"way": "a crawl", "requests": wiki.requests, "hours": round(wiki.crawl_hours, 1), "disk": disk},
        {
            "way": "an export",
            "requests": 1,
            "hours": round(wiki.import_hours, 1),
            "disk": f"{disk}, and the export",
        },
    ]
    print_rows(terminal(), "What all articles take", plans)
    click.echo(f"Look at the file. Then `holocron sources enable {name}` starts the crawl.")
    click.echo(
        "Some wikis offer an export on Special:Statistics or dumps.wikimedia.org: `holocron import` reads it."
    )


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
