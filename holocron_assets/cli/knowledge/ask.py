"""`holocron ask`: a person's question about one page. It goes before the model's other questions."""

from collections.abc import Sequence

import click

from holocron_assets.cli.console import print_records, terminal, to_json
from holocron_assets.cli.shared import (
    clear_errors,
    fail,
    json_option,
    opened_lake,
    waiting_reported,
    words_argument,
)
from holocron_assets.derive.gpu.question import Answered, UnknownInterrogationError, question_about


@click.command()
@click.argument("interrogation")
@words_argument("title")
@click.option("--source", "source_name", metavar="NAME", help="Needed where several sources have the page.")
@json_option
@clear_errors
def ask(interrogation: str, title: str, source_name: str | None, *, as_json: bool) -> None:
    """Ask INTERROGATION about the page TITLE now, and print the answer.

    The run that asks this model finishes the calls under way, waits for this answer, and goes on. The answer
    is kept, so no run asks for it again. Exits with 1 if there is no answer.
    """
    try:
        question = question_about(opened_lake(), interrogation, title, source_name)
    except UnknownInterrogationError as error:
        raise click.UsageError(str(error)) from error
    with waiting_reported(lambda: f"Asking {interrogation} about {question.title}"):
        answers = question.answers_now()
    _print(answers, as_json=as_json)
    if any(one.answer is None for one in answers):
        fail("; ".join(f"{one.item.subject}: {one.error}" for one in answers if one.answer is None))


def _print(answers: Sequence[Answered], *, as_json: bool) -> None:
    shown = [one.as_json() for one in answers if one.answer is not None]
    if as_json:
        click.echo(to_json(shown))
        return
    for one in shown:
        kept = "asked now" if one["is_new"] else "known already: no call was made"
        print_records(
            terminal(),
            f"{one['subject']}: {one['interrogation']} by {one['model']}, {kept}",
            [one["answer"]],
        )
