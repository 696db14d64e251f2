"""`holocron repeat`: how repeatable a model's answers are, and how far models or versions agree."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext

import click

from holocron_assets.cli.console import print_records, print_rows, terminal, to_json
from holocron_assets.cli.shared import clear_errors, counted, fail, json_option, opened_lake, waiting_reported
from holocron_assets.decisions.controls import refuse_held
from holocron_assets.derive.dispatch.pools import read_dispatch_settings
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.unread import refuse_broken
from holocron_assets.derive.items.item import Item
from holocron_assets.derive.repeat.agreement import Agreement, Compared, agreement_of
from holocron_assets.derive.repeat.compare import compared_tags, compared_times, compared_with_shadow
from holocron_assets.derive.repeat.experiments import Experiment, run_experiment
from holocron_assets.derive.repeat.sample import sample_items
from holocron_assets.derive.server.model_files.fetching import fetch_models
from holocron_assets.derive.server.process.connection import is_embedded, model_server
from holocron_assets.errors import TransientError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import dispatch_file

_MOST_DEVIATIONS = 10
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


class _AskUnlessNamed(click.Group):
    """A group whose first word may be an interrogation: then command `ask` is meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Put `ask` before what is no command."""
        return super().resolve_command(ctx, args if args[0] in self.commands else ["ask", *args])


@click.group(cls=_AskUnlessNamed)
def repeat() -> None:
    """Ask the same several times, and compare the answers.

    `holocron repeat INTERROGATION` is short for `holocron repeat ask INTERROGATION`. This is an experiment:
    its questions and answers do not count as work.
    """


@repeat.command()
@click.argument("interrogation")
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Roughly how many items to ask about.",
)
@click.option("--times", type=click.IntRange(1), default=3, show_default=True, help="How often.")
@click.option("--tag", required=True, help="Name of the experiment, for `compare`.")
@click.option("--model", metavar="NAME", help="Ask this model instead of the interrogation's own.")
@click.option("--version", metavar="NUMBER|shadow", help="Use this version of the interrogation.")
@clear_errors
def ask(  # noqa: PLR0913 - one for each option
    *, interrogation: str, sample: int, times: int, tag: str, model: str | None, version: str | None
) -> None:
    """Ask INTERROGATION about a sample of its items several times.

    The sample depends only on the pages, so every model and version is asked about the same items. The
    same command again continues an experiment that was interrupted.
    """
    asked = chosen(interrogation, version)
    if asked.is_of_code:
        fail(f"{asked.name} is answered by {asked.kind}, and no model: there is nothing to repeat")
    check_tag(tag)
    lake = opened_lake()
    refuse_held(lake, interrogation=asked.name)
    items = sample_items(lake, asked, sample)
    if not items:
        fail(f"{asked.name} wants no page that is in the lake; `holocron status` shows what is there")
    items = without_waiting(items)
    models = (model,) if model else asked.models
    settings = read_dispatch_settings(dispatch_file())
    ask_all(lake, Experiment(tag, asked, items, times, models, settings))
    click.echo(f"`holocron repeat compare {tag}` shows how far the answers agree.")


@repeat.command()
@click.argument("tag")
@click.option("--with", "other_tag", metavar="TAG", help="Compare with this experiment's answers.")
@click.option("--field", "fields", multiple=True, metavar="NAME", help="Only this field; may be repeated.")
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=0.95,
    show_default=True,
    help="Exit with 1 if the agreement is below this.",
)
@json_option
@clear_errors
def compare(tag: str, other_tag: str | None, fields: tuple[str, ...], least: float, *, as_json: bool) -> None:
    """Show how far the answers of experiment TAG agree, field by field, and where they differ.

    With the name of an interrogation that has a shadow instead of a tag, the shadow's answers are compared
    with the live ones. Exits with 1 if the fields agree by less than --least on average.
    """
    compared = _compared(opened_lake(), tag, other_tag)
    known = agreement_of(compared).fields
    if unknown := set(fields) - known.keys():
        fail(f"no field {', '.join(sorted(unknown))} was compared; there are {', '.join(known)}")
    agreement = agreement_of(compared, fields)
    if as_json:
        click.echo(to_json({"least": least, **agreement.to_json()}))
    else:
        _print(agreement)
    if agreement.overall < least:
        fail(f"they agree by {agreement.overall:.3f}, which is less than {least:g}")


def without_waiting(items: Sequence[Item]) -> list[Item]:
    """The items that can be asked about; says on stderr how many wait for an input, and fails if all do."""
    waiting = Counter(item.waits_for for item in items if item.waits_for)
    if waiting:
        inputs = ", ".join(f"{number} for the answer of {name}" for name, number in sorted(waiting.items()))
        standing = f"{waiting.total()} of {counted(len(items), 'item')} wait: {inputs}"
        if waiting.total() == len(items):
            fail(
                f"{standing}; ask again when it is there. A search that is new or changed is made once its "
                "interrogation is among the others, if only as a shadow"
            )
        click.echo(f"{standing}. They are left out.", err=True)
    return [item for item in items if not item.waits_for]


def ask_all(lake: Lake, experiment: Experiment, *, err: bool = False) -> None:
    """Ask what is left of an experiment, and say how far it is; code is called without a server.

    Args:
        lake: where its answers go.
        experiment: what to ask.
        err: whether to say so on stderr.
    """
    standing = f"Asking {experiment.models[0]}"

    def report(time: int, answered: int) -> None:
        nonlocal standing
        standing = f"time {time}: {answered} of {counted(len(experiment.items), 'item')} answered"
        click.echo(standing, err=err)

    by_code = experiment.interrogation.is_of_code
    if not by_code and is_embedded():
        fetch_models(experiment.models[:1], terminal(stderr=True))
    try:
        with (
            waiting_reported(lambda: standing),
            nullcontext() if by_code else model_server() as server,
        ):
            if server is None and not by_code:
                fail("HOLOCRON_LLM is off, so no model can be asked; set it to auto or embedded")
            run_experiment(lake, experiment, server, report)
    except TransientError as error:
        fail(str(error))


def _compared(lake: Lake, tag: str, other_tag: str | None) -> list[Compared]:
    if other_tag:
        return compared_tags(lake, tag, other_tag)
    if tag not in {one.key for one in load_interrogations()}:
        return compared_times(lake, tag)
    return compared_with_shadow(lake, chosen(tag, None), chosen(tag, "shadow"))


def chosen(key: str, version: str | None) -> Interrogation:
    """The interrogation of this key; the live one unless another version is named."""
    refuse_broken(key)
    every = [one for one in load_interrogations() if not one.is_space]
    own = [one for one in every if one.key == key]
    if not own:
        fail(f"no interrogation is called {key!r}; there are {', '.join(one.name for one in every)}")
    named = [one for one in own if _is_version(one, version)]
    if len(named) != 1:
        there = ", ".join(f"{one.version}{' (shadow)' if one.shadow else ''}" for one in own)
        fail(f"{key}: {len(named)} versions are called {version or 'live'!r}; there are {there}")
    return named[0]


def _is_version(interrogation: Interrogation, version: str | None) -> bool:
    if version is None:
        return not interrogation.shadow
    return interrogation.shadow if version == "shadow" else version == str(interrogation.version)


def check_tag(tag: str) -> None:
    """Refuse a tag that names no partition, or that is an interrogation's name."""
    if not _TAG.fullmatch(tag):
        fail(f"tag {tag!r} must be 1 to 80 letters, digits, '_' or '-', the first a letter or digit")
    if tag in {one.key for one in load_interrogations()}:
        fail(f"tag {tag!r} is an interrogation's name: choose another, so that comparing knows what is meant")


def _print(agreement: Agreement) -> None:
    console = terminal()
    console.print(
        f"{counted(agreement.items, 'item')} compared, {agreement.alike} alike in every field, "
        f"{agreement.unanswered} without an answer at least once; they agree by {agreement.overall:.3f}."
    )
    fields = [{"field": name, "agreement": f"{share:.3f}"} for name, share in agreement.fields.items()]
    print_rows(console, "Fields", fields)
    shown = [
        {
            "item": one.subject,
            "field": one.field,
            "agreement": f"{one.agreement:.3f}",
            "values": [to_json(value) for value in one.values],
        }
        for one in agreement.deviations[:_MOST_DEVIATIONS]
    ]
    more = f", {len(shown)} of {len(agreement.deviations)}" if len(agreement.deviations) > len(shown) else ""
    print_records(console, f"Deviates{more}", shown)
    if agreement.left_out:
        console.print(f"Not compared, as only one side has it: {', '.join(agreement.left_out)}")
