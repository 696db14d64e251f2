"""`holocron decisions`: what people decided, as a list and as a file that git can hold."""

from pathlib import Path
from typing import Any

import click

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.cli.console import print_records, print_rows, terminal, to_json
from holocron_assets.cli.shared import clear_errors, counted, json_option, opened_lake
from holocron_assets.decisions.files import export_decisions, import_decisions
from holocron_assets.decisions.log import NEEDED, DecisionError, all_decisions, undone
from holocron_assets.entities.deciding import in_words
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def decisions() -> None:
    """What people decided. A decision never changes; another decision can undo it."""


@decisions.command(name="list")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(NEEDED)), help="Only of this kind.")
@json_option
@clear_errors
def list_decisions(kinds: tuple[str, ...], *, as_json: bool) -> None:
    """List the decisions, oldest first, and whether each counts."""
    made = all_decisions(opened_lake())
    gone = undone(made)
    shown = [row for row in made if not kinds or row["kind"] in kinds]
    if as_json:
        click.echo(to_json([{**row, "counts": row["decision_id"] not in gone} for row in shown]))
        return
    rows = [
        {
            "decision_id": row["decision_id"],
            "author": row["author"],
            "decision": in_words(row),
            "reason": row["reason"],
            "counts": "no: undone" if row["decision_id"] in gone else "yes",
        }
        for row in shown
    ]
    print_rows(terminal(), "Decisions", rows)
    click.echo(counted(len(rows), "decision"))


@decisions.command()
@click.argument("decision_id")
@json_option
@clear_errors
def show(decision_id: str, *, as_json: bool) -> None:
    """Show one decision, and what undid it. Any part of the id that is unique will do."""
    lake = opened_lake()
    row = named_decision(lake, decision_id)
    made = all_decisions(lake)
    report: dict[str, Any] = {
        **row,
        "counts": row["decision_id"] not in undone(made),
        "undone_by": [other["decision_id"] for other in made if other["undoes"] == row["decision_id"]],
    }
    if as_json:
        click.echo(to_json(report))
    else:
        print_records(terminal(), in_words(row), [report])


@decisions.command(name="export")
@click.argument("file", type=_FILE)
@clear_errors
def export_file(file: Path) -> None:
    """Write all decisions to FILE, one per line, to be kept in git."""
    click.echo(f"{file}: {counted(export_decisions(opened_lake(), file), 'decision')}")


@decisions.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@clear_errors
def import_file(file: Path) -> None:
    """Add the decisions of FILE to this lake. Decisions that the lake has already stay as they are.

    If a line is wrong, the command names it and imports nothing.
    """
    came = import_decisions(opened_lake(), file, types=load_taxonomy().types)
    click.echo(f"{file}: {counted(came.read, 'decision')}, of which {came.added} were new")
    if came.added:
        click.echo("Sensors, or `holocron run`, redo what follows from them.")


def named_decision(lake: Lake, named: str) -> Row:
    """The decision that a person names by its id, or by a unique part of the id.

    Raises:
        DecisionError: there is none, or there are several.
    """
    found = [row for row in all_decisions(lake) if named in row["decision_id"]] if named else []
    exact = [row for row in found if row["decision_id"] == named]
    if len(found) != 1 and not exact:
        several = f"{len(found)} decisions have" if found else "no decision has"
        raise DecisionError(f"{several} {named!r} in the id: `holocron decisions list` shows all")
    return (exact or found)[0]
