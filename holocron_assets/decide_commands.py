"""`holocron decide`: a person says what a page is about."""

import getpass
import unicodedata

import click

from holocron_assets.classify.decisions import decide_type
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.commands import clear_errors, fail, named_source, opened_lake
from holocron_assets.lake.paths import Lake
from holocron_assets.reports import find_page


@click.command()
@click.argument("title")
@click.option("--type", "type_name", type=click.Choice(list(load_taxonomy().types)), help="What it is about.")
@click.option("--withdraw", is_flag=True, help="Leave the page to rules and models again.")
@click.option("--reason", required=True, help="Why; it is kept.")
@click.option("--source", "source_name", metavar="NAME", help="Needed where several sources have the page.")
@click.option("--author", default=getpass.getuser, help="Who decides; you, without.")
@clear_errors
def decide(  # noqa: PLR0913 - one for each option
    title: str, type_name: str | None, reason: str, source_name: str | None, author: str, *, withdraw: bool
) -> None:
    """Decide of which type the page TITLE is. It counts over rules and models until it is withdrawn.

    Sensors, or the next `holocron run`, redo what follows from it.
    """
    if bool(type_name) == withdraw:
        raise click.UsageError("say what the page is with --type, or take your word back with --withdraw")
    lake = opened_lake()
    source, canonical = _one_page(lake, title, source_name)
    decide_type(lake, source=source, title=canonical, type_name=type_name, author=author, reason=reason)
    told = f"is decided to be of type {type_name}" if type_name else "is left to rules and models again"
    click.echo(f"{canonical!r} of {source} {told}. Sensors, or `holocron run`, redo what follows from it.")


def _one_page(lake: Lake, title: str, source_name: str | None) -> tuple[str, str]:
    """Source and canonical title of the page that a person means."""
    if source_name:
        named_source(source_name)
    found = find_page(lake, unicodedata.normalize("NFC", title), source_name)
    if not found:
        fail(
            f"no page is called {title!r}: nothing can be decided about it. `holocron page` helps to find it."
        )
    if len(found) > 1:
        fail(f"{title!r} may be {_listed(found)}: name one by its exact title and --source.")
    return found[0]


def _listed(found: list[tuple[str, str]]) -> str:
    return " or ".join(f"{title!r} of {source}" for source, title in found)
