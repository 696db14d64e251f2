"""`holocron ask`: a person's question about one page. It goes before the model's other questions."""

import asyncio
import unicodedata
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import click
from rich.console import Console

from holocron_assets.cli.console import print_records, to_json
from holocron_assets.cli.shared import clear_errors, fail, json_option, opened_lake, waiting_reported
from holocron_assets.decisions.controls import refuse_held
from holocron_assets.derive.dispatch.pools import read_dispatch_settings
from holocron_assets.derive.dispatch.standing_controls import refuse_disabled
from holocron_assets.derive.gpu.question import Answered, Question
from holocron_assets.derive.gpu.slots import place_of
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.unread import refuse_broken
from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.errors import HolocronError
from holocron_assets.lake.views.named_pages import find_page
from holocron_assets.settings import dispatch_file


@click.command()
@click.argument("interrogation")
@click.argument("title")
@click.option("--source", "source_name", metavar="NAME", help="Needed where several sources have the page.")
@json_option
@clear_errors
def ask(interrogation: str, title: str, source_name: str | None, *, as_json: bool) -> None:
    """Ask INTERROGATION about the page TITLE now, and print the answer.

    The batch that a model works on finishes the calls under way, waits for this answer, and goes on.
    The answer is kept: no batch asks for it again. Exits with 1 if there is no answer.
    """
    asked = _named(interrogation)
    lake = opened_lake()
    found = find_page(lake, unicodedata.normalize("NFC", title), source_name)
    if len(found) != 1:
        names = " or ".join(f"{name!r} of {source}" for source, name in found)
        fail(
            f"{title!r} may be {names}: name one by its exact title and --source."
            if found
            else _unknown(title)
        )
    refuse_held(lake, source=found[0][0], interrogation=asked.name)
    refuse_disabled(asked)
    model = asked.models[0]
    try:
        with (
            waiting_reported(lambda: f"Asking {model} about {found[0][1]}"),
            nullcontext("") if asked.is_of_code else model_server() as server,
        ):
            if server is None:
                fail("HOLOCRON_LLM is off, so no model can be asked; set it to auto or embedded")
            place = place_of(read_dispatch_settings(dispatch_file()).pool_of(model), model)
            answers = asyncio.run(Question(lake, asked, *found[0], place).answers(server))
    except (HolocronError, TimeoutError) as error:
        fail(str(error) or "it took too long; try again later")
    _print(answers, as_json=as_json)
    if any(one.answer is None for one in answers):
        fail("; ".join(f"{one.item.subject}: {one.error}" for one in answers if one.answer is None))


def _named(name: str) -> Interrogation:
    refuse_broken(name)
    found = {one.name: one for one in load_interrogations() if not one.is_space}
    if name not in found:
        raise click.UsageError(f"no interrogation is called {name!r}; there are {', '.join(sorted(found))}")
    if found[name].over == "pairs":
        pages = ", ".join(sorted(one.name for one in found.values() if one.over == "pages"))
        raise click.UsageError(f"{name} asks about pairs of entities; about a page ask {pages}")
    return found[name]


def _unknown(title: str) -> str:
    return f"no page is called {title!r}: nothing can be asked about it. `holocron page` helps to find it."


def _print(answers: Sequence[Answered], *, as_json: bool) -> None:
    shown = [_shown(one) for one in answers if one.answer is not None]
    if as_json:
        click.echo(to_json(shown))
        return
    for one in shown:
        kept = "asked now" if one["is_new"] else "known already: no call was made"
        print_records(
            Console(), f"{one['subject']}: {one['interrogation']} by {one['model']}, {kept}", [one["answer"]]
        )


def _shown(one: Answered) -> dict[str, Any]:
    return {
        "interrogation": one.item.interrogation.name,
        "source": one.item.source,
        "subject": one.item.subject,
        "item_id": one.item.item_id,
        "model": one.model,
        "is_new": one.is_new,
        "answer": dict(one.answer or {}),
    }
