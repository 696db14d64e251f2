"""`holocron try`: what a new or changed interrogation answers about a sample, before anything goes stale."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from holocron_assets.cli.console import print_rows, shown, terminal, to_json
from holocron_assets.cli.knowledge.repeat import ask_all, check_tag, chosen, without_waiting
from holocron_assets.cli.shared import clear_errors, counted, fail, json_option, opened_lake
from holocron_assets.decisions.controls import refuse_held
from holocron_assets.derive.dispatch.pools import read_dispatch_settings
from holocron_assets.derive.interrogations.files import read_version
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.repeat.experiments import Experiment
from holocron_assets.derive.repeat.sample import sample_items
from holocron_assets.entities.facts.marked_statements import read_marked
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import REPEAT_ANSWERS
from holocron_assets.settings import dispatch_file, marked_statements_folder
from holocron_assets.trials.comparison import JudgedRow
from holocron_assets.trials.judging import Trial, report_of
from holocron_assets.trials.report import Report, TriedItem
from holocron_assets.trials.store import keep_trial

_MOST_DETAILS = 40
_SIGNS = {"same": "=", "new": "+", "live": "-"}


@click.command("try")
@click.argument("interrogation")
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, path_type=Path),
    metavar="NEW.yaml",
    help="The interrogation to try: a file that ends in .yaml, or a folder as in data/interrogations/.",
)
@click.option(
    "--pages",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="How many pages, chunks, pairs or entities to ask about.",
)
@click.option("--model", metavar="NAME", help="Ask this model instead of the interrogation's own.")
@click.option("--tag", help="Name of the trial; by default made of the interrogation's name and the time.")
@json_option
@clear_errors
def try_command(  # noqa: PLR0913 - one for each option
    *, interrogation: str, file: Path | None, pages: int, model: str | None, tag: str | None, as_json: bool
) -> None:
    """Try a new or changed interrogation on a sample, beside the answers of INTERROGATION.

    Nothing that stands is touched: no answer counts, and nothing goes stale. The sample depends only on the
    pages. The same command with the same --tag continues a trial that was interrupted. `holocron web` shows
    the trial.
    """
    tried, live = _asked(interrogation, file)
    marked = read_marked(marked_statements_folder())
    lake = opened_lake()
    tag = tag or _new_tag(lake, tried.name)
    check_tag(tag)
    refuse_held(lake, interrogation=live.name if live else tried.name)
    items = sample_items(lake, tried, pages)
    if not items:
        fail(f"{tried.name} wants nothing that is in the lake; `holocron status` shows what is there")
    items = without_waiting(items)
    models = (model,) if model and not tried.is_of_code else tried.models
    settings = read_dispatch_settings(dispatch_file())
    ask_all(lake, Experiment(tag, tried, items, 1, models, settings, command="try"), err=True)
    report = report_of(lake, Trial(tag, tried, live, items), marked)
    keep_trial(lake, report, tried.model_dump_json(exclude_defaults=True))
    if as_json:
        click.echo(to_json(report.to_json()))
    else:
        _print(terminal(), report)


def _new_tag(lake: Lake, name: str) -> str:
    """A tag that no experiment has."""
    tag = f"{name}-{utc_now():%Y%m%d-%H%M%S}"
    taken = set(lake.partitions(REPEAT_ANSWERS))
    return next(one for one in chain([tag], (f"{tag}-{number}" for number in count(2))) if one not in taken)


def _asked(key: str, file: Path | None) -> tuple[Interrogation, Interrogation | None]:
    """The interrogation to try, and the one whose answers count today, if there is one."""
    if file is None:
        live = chosen(key, None)
        return live, live
    known = load_interrogations()
    tried = read_version(file, known)
    there = next((one for one in known if one.name == key), None)
    if there is None and tried.key != key:
        names = ", ".join(one.name for one in known)
        fail(f"no interrogation is called {key!r}, and {file} has the key {tried.key!r}; there are {names}")
    if there and there.over != tried.over:
        fail(
            f"{file} asks about {tried.over}, and {key} about {there.over}: their answers cannot be compared"
        )
    return tried, there


def _print(console: Console, report: Report) -> None:
    beside = f" beside {report.compared_with}" if report.compared_with else ""
    console.print(f"[bold]{shown(report.tag)}[/bold]: {report.interrogation} {report.version}{beside}")
    print_rows(console, f"Asked {report.model}", [_line(item) for item in report.items])
    _print_details(console, report.items)
    print_rows(console, "Totals", _totals(report))
    for sentence in _sentences(report):
        console.print(shown(sentence), soft_wrap=True)
    console.print(f"`holocron web` shows it at /trials/{report.tag}.", soft_wrap=True)


def _line(item: TriedItem) -> Mapping[str, Any]:
    own = [row for row in item.rows if row.side != "live"]
    return {
        "item": item.subject,
        "answer": "failed" if item.problem else "ok",
        "same": sum(row.side == "same" for row in item.rows),
        "new": sum(row.side == "new" for row in item.rows),
        "live": sum(row.side == "live" for row in item.rows),
        "right": sum(row.verdict == "right" for row in own),
        "wrong": sum(row.verdict == "wrong" for row in own),
        "checks": sum(bool(row.failed) for row in own),
        "tokens": item.tokens_in + item.tokens_out,
        "s": "" if item.seconds is None else round(item.seconds, 1),
    }


def _print_details(console: Console, items: Sequence[TriedItem]) -> None:
    """What is of interest: rows that only one answer has, that are wrong, or that fail a check."""
    lines = [line for item in items for line in _details(item)]
    for line in lines[:_MOST_DETAILS]:
        console.print(shown(line), soft_wrap=True)
    if len(lines) > _MOST_DETAILS:
        console.print(f"... and {len(lines) - _MOST_DETAILS} more; --json and `holocron web` show all.")
    if lines:
        console.print("= both say it, + only the new answer, - only the one that counts today\n")


def _details(item: TriedItem) -> Iterator[str]:
    if item.problem:
        yield f"{item.subject}: no answer: {item.problem}"
    for call in item.failed_calls:
        yield f"{item.subject}: a call failed: {call}"
    for row in item.rows:
        if row.side != "same" or row.failed or row.verdict == "wrong":
            yield f"{_SIGNS[row.side]} {item.subject}: {row.words}{_remarks(row)}"


def _remarks(row: JudgedRow) -> str:
    said = [f"{verdict} by {basis}" for basis, verdict in row.verdicts.items()]
    failed = row.failed_live if row.side == "live" else row.failed
    said += [f"fails {', '.join(failed)}"] if failed else []
    said += ["said twice"] if row.is_double else []
    return f" ({'; '.join(said)})" if said else ""


def _totals(report: Report) -> list[Mapping[str, Any]]:
    totals = report.totals
    answered = {"new": totals.answered, "live": totals.answered_live}
    sides = {"new": totals.new, "live": totals.live}
    return [
        {
            "answers": name,
            "items": answered[name],
            "rows": side.rows,
            "right": side.right,
            "wrong": side.wrong,
            "undecided": side.undecided,
            "checks": side.failed,
            "doubles": side.doubles,
        }
        for name, side in sides.items()
        if name == "new" or report.compared_with
    ]


def _sentences(report: Report) -> Iterator[str]:
    """The figures that are no table."""
    totals, cost = report.totals, report.cost
    for name, side in (("new", totals.new), ("live", totals.live)):
        if side.by_check:
            yield f"Checks that {name} rows fail: {_counts(side.by_check)}."
        judged = {basis: found for basis, found in side.by_basis.items() if found["right"] or found["wrong"]}
        for basis, found in judged.items():
            yield f"By {basis}, {found['right']} {name} rows are right and {found['wrong']} wrong."
    if totals.calls:
        failed = f", {totals.failed_calls} of them without a valid answer" if totals.failed_calls else ""
        yield (
            f"{counted(totals.calls, 'call')}{failed}: {totals.tokens_in:,} tokens read, "
            f"{totals.tokens_out:,} written, {totals.seconds or 0:.1f} s."
        )
    stale = f", which would {'go stale' if cost.asks_otherwise else 'stay'}" if cost.answered else ""
    yield (
        f"All of it: {counted(cost.wanted, 'item')} wanted; {cost.answered:,} with an answer today{stale}; "
        f"{cost.to_ask:,} to ask."
    )
    if cost.seconds_an_item is None:
        yield "Its time was not measured: a query is asked for many items at once."
    else:
        pace = f"At {cost.seconds_an_item:.3g} s an item"
        yield f"{pace} that is {_time(report)} on this machine{_load(report)}."
    yield from report.notes


def _time(report: Report) -> str:
    hours = report.cost.hours or 0
    return f"{hours:,.1f} hours" if hours >= 1 else f"{hours * 60:.1f} minutes"


def _load(report: Report) -> str:
    seconds = report.cost.load_seconds
    return f", and {seconds:.1f} s to load the model once" if seconds else ""


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())
