"""`holocron search`: find passages by names, words and meaning."""

from typing import Any

import click
from rich.console import Console
from rich.text import Text

from holocron_assets.cli.console import printable, terminal, to_json
from holocron_assets.cli.shared import clear_errors, json_option, opened_lake, words_argument

_LONGEST = 300
"""Characters of a passage that are shown."""


@click.command()
@words_argument("text")
@click.option("--type", multiple=True, help="Only pages or entities of this type; may be repeated.")
@click.option("--source", multiple=True, help="Only pages of this source; may be repeated.")
@click.option("--continuity", multiple=True, help="Only pages of this continuity, such as 'canon'.")
@click.option("--state", multiple=True, help="Only entities in this state, such as 'promoted'.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Hits, at most.")
@json_option
@clear_errors
def search(text: str, *, limit: int, as_json: bool, **narrowing: tuple[str, ...]) -> None:
    """Find passages by names, by words and by meaning, the best first. Small errors in names are forgiven.

    TEXT: words, a name or a question. Quotation marks in it keep words together.
    """
    from holocron_assets.doors.narrowing import check_narrowing
    from holocron_assets.retrieval.asking import server_for_queries
    from holocron_assets.retrieval.search import searcher_of

    if not text.strip():
        raise click.UsageError("TEXT is empty: say what to search for")
    lake = opened_lake()
    check_narrowing(lake, narrowing)
    with server_for_queries():
        found = searcher_of(lake).search(text, limit, wanted=narrowing)
    if as_json:
        click.echo(to_json([hit.to_json() for hit in found.hits]))
        return
    console = terminal()
    if not found.hits:
        console.print("Nothing was found.")
    for number, hit in enumerate(found.hits, 1):
        _print(console, number, hit.to_json(), text, hit.name)
    if found.without_meaning:
        click.echo(f"Not searched by meaning: {found.without_meaning}.", err=True)


def _print(console: Console, number: int, hit: dict[str, Any], searched: str, name: str | None) -> None:
    from holocron_assets.retrieval.highlights import pieces

    line = Text(f"{number}. ", style="dim")
    line.append(printable(" - ".join([hit["title"], *(hit["headings"] or ())])), style="bold")
    line.append(f"  {hit['type']}, {hit['state']}, {hit['source']}", style="dim")
    passage = Text("   ")
    for piece, is_searched in pieces(hit["passage"] or "", searched, _LONGEST):
        passage.append(printable(piece), style="bold yellow" if is_searched else "")
    why = ", ".join(f"{rank}. by {kind}" for kind, rank in hit["ranks"].items())
    reason = Text(f"   {why}{f' ({printable(name)})' if name else ''}", style="dim")
    for part in (line, passage, reason):
        console.print(part, soft_wrap=True)
