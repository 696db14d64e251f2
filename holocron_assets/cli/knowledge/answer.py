"""`holocron answer`: answer a question with quotes, or refuse."""

import os

import click
from rich.console import Console
from rich.text import Text

from holocron_assets.cli.console import printable, terminal, to_json
from holocron_assets.cli.shared import clear_errors, json_option, opened_lake, words_argument

_NEAREST = 3


@click.command()
@words_argument("question")
@click.option("--no-model", is_flag=True, help="Ask no model to read passages: use only what is known.")
@json_option
@clear_errors
def answer(question: str, *, no_model: bool, as_json: bool) -> None:
    """Answer a question about something that it names, with the words of a page that say so.

    What is known of entities comes first, then a model reads passages. What no page says word for word is not
    answered: the command then says so, and exits with 1.
    """
    from holocron_assets.derive.server.process.connection import model_server
    from holocron_assets.retrieval.answers.answer import answer as answered
    from holocron_assets.retrieval.answers.reading import Reader, reading_models
    from holocron_assets.retrieval.search import searcher_of

    if not question.strip():
        raise click.UsageError("QUESTION is empty: say what to answer")
    lake = opened_lake()
    environment = {**os.environ, "HOLOCRON_LLM": "off"} if no_model else os.environ
    searcher = searcher_of(lake)
    with model_server(environment) as server:
        reader = Reader(lake, server, reading_models()) if server else None
        found = answered(lake, searcher, question, reader)
    if as_json:
        click.echo(to_json(found.to_json()))
    else:
        _print(terminal(), found.to_json())
    if found.refusal:
        raise SystemExit(1)


def _print(console: Console, found: dict[str, object]) -> None:
    statements, nearest = found["statements"], found["nearest"]
    for said in statements:  # type: ignore[attr-defined]
        console.print(Text(printable(said["answer"]), style="bold"), soft_wrap=True)
        console.print(Text(f"   “{printable(said['quote'])}”"), soft_wrap=True)
        place = (
            f"{said['title']}, revision {said['revision_id']}, characters {said['start']} to {said['end']}"
        )
        console.print(Text(f"   {printable(place)} of its {said['of']}", style="dim"), soft_wrap=True)
    if not found["refusal"]:
        return
    console.print(f"No answer: {found['refusal']}.", markup=False, soft_wrap=True)
    for hit in nearest[:_NEAREST]:  # type: ignore[index]
        line = f"   nearest: {hit['title']}: {(hit['passage'] or '')[:100]}"
        console.print(Text(printable(line), style="dim"), soft_wrap=True)
