"""`holocron decide`: a person's word on pages, entities and statements."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from holocron_assets.classify.decided_types import decide_shared, decide_type
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.cli.people.decisions import named_decision
from holocron_assets.cli.shared import (
    author_option,
    clear_errors,
    counted,
    named_source,
    opened_lake,
    reason_option,
)
from holocron_assets.decisions.log import standing
from holocron_assets.entities.deciding import (
    decide_merge,
    decide_split,
    decide_state,
    decide_statement,
    decide_undo,
    in_words,
    merge_warning,
)
from holocron_assets.entities.names.named import named_entity
from holocron_assets.lake.declaration.schema import Row

_TAXONOMY = load_taxonomy()
_ENTITY_TYPES = click.Choice(_TAXONOMY.entity_worthy_types)


def _signed(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for who decides and why."""
    return reason_option(clear_errors(author_option(command)))


def _narrowed(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose one of several entities of the same name."""
    command = click.option("--type", "entity_type", type=_ENTITY_TYPES, help="Type of the entity.")(command)
    return click.option("--source", metavar="NAME", help="Its source.")(command)


@click.group()
def decide() -> None:
    """Say what a page is, which entities are one, which are to be seen, and which statements are true.

    What you decide overrules rules and models until somebody undoes it. Name entities by title, name
    or id; eight characters of an id are enough. Sensors or the next `holocron run` update what follows.
    """


@decide.command()
@click.argument("title")
@click.option(
    "--type",
    "type_name",
    type=click.Choice(list(_TAXONOMY.types)),
    required=True,
    help="What the page is about.",
)
@click.option("--source", "source_name", metavar="NAME", help="Needed where several sources have the page.")
@_signed
def classify(title: str, type_name: str, source_name: str | None, **signed: Any) -> None:
    """Decide which type the page TITLE has."""
    if source_name:
        named_source(source_name)
    _print(decide_type(opened_lake(), source=source_name, title=title, type_name=type_name, **signed))


def _of_articles(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments that say which articles are meant, and of which type they are."""
    command = click.argument("type_name", metavar="TYPE", type=click.Choice(list(_TAXONOMY.types)))(command)
    command = click.option("--source", "source_name", metavar="NAME", help="The source of the articles.")(
        command
    )
    return click.argument("name")(command)


@decide.command()
@_of_articles
@_signed
def template(name: str, type_name: str, source_name: str | None, **signed: Any) -> None:
    """Decide which TYPE all articles with the infobox template NAME have, also those that come later."""
    _decide_shared("template", name, type_name, source_name, signed)


@decide.command()
@_of_articles
@_signed
def category(name: str, type_name: str, source_name: str | None, **signed: Any) -> None:
    """Decide which TYPE the articles of the category NAME have, where the rules leave them open."""
    _decide_shared("category", name, type_name, source_name, signed)


@decide.command()
@click.argument("gone", metavar="ENTITY")
@click.argument("into")
@_narrowed
@_signed
def merge(gone: str, into: str, entity_type: str | None, source: str | None, **signed: Any) -> None:
    """Decide that ENTITY is the same as INTO, which stays; the id of ENTITY forwards to it.

    --type and --source are those of ENTITY; INTO has the same --type.
    """
    lake = opened_lake()
    leaving = named_entity(lake, gone, entity_type=entity_type, source=source)
    target = named_entity(lake, into, entity_type=entity_type)
    row = decide_merge(lake, gone=leaving["entity_id"], into=target["entity_id"], **signed)
    stays = row["other_id"]
    if warning := merge_warning(leaving, named_entity(lake, stays), standing(lake), stays=stays):
        click.echo(warning)
    _print(row)


@decide.command()
@click.argument("one", metavar="ENTITY")
@click.argument("other", metavar="OTHER")
@_narrowed
@_signed
def split(one: str, other: str, entity_type: str | None, source: str | None, **signed: Any) -> None:
    """Decide that ENTITY and OTHER are two different entities. No rule or model overrules this.

    --type and --source are those of ENTITY; OTHER has the same --type.
    """
    lake = opened_lake()
    first = named_entity(lake, one, entity_type=entity_type, source=source)
    second = named_entity(lake, other, entity_type=entity_type)
    _print(decide_split(lake, one=first["entity_id"], other=second["entity_id"], **signed))


@decide.command()
@click.argument("entity")
@_narrowed
@_signed
def promote(entity: str, entity_type: str | None, source: str | None, **signed: Any) -> None:
    """Decide that ENTITY belongs in the knowledge base."""
    lake = opened_lake()
    found = named_entity(lake, entity, entity_type=entity_type, source=source)
    _print(decide_state(lake, "promote", entity_id=found["entity_id"], **signed))


@decide.command()
@click.argument("entity")
@_narrowed
@_signed
def suppress(entity: str, entity_type: str | None, source: str | None, **signed: Any) -> None:
    """Decide that ENTITY does not belong in the knowledge base."""
    lake = opened_lake()
    found = named_entity(lake, entity, entity_type=entity_type, source=source)
    _print(decide_state(lake, "suppress", entity_id=found["entity_id"], **signed))


@decide.command()
@click.argument("statement_id")
@_signed
def accept(statement_id: str, **signed: Any) -> None:
    """Decide that a fact or relation is true."""
    _print(decide_statement(opened_lake(), "accept", statement_id=statement_id, **signed))


@decide.command()
@click.argument("statement_id")
@_signed
def reject(statement_id: str, **signed: Any) -> None:
    """Decide that a fact or relation is false. It stays in the lake, marked as rejected."""
    _print(decide_statement(opened_lake(), "reject", statement_id=statement_id, **signed))


@decide.command(name="undo")
@click.argument("decision_id")
@_signed
def undo_decision(decision_id: str, **signed: Any) -> None:
    """Take a decision back. What was decided before it counts again; an undo can be undone too."""
    lake = opened_lake()
    _print(decide_undo(lake, named_decision(lake, decision_id)["decision_id"], **signed))


def _decide_shared(
    kind: str, name: str, type_name: str, source_name: str | None, signed: Mapping[str, str]
) -> None:
    if source_name:
        named_source(source_name)
    row, found = decide_shared(
        opened_lake(), kind, source=source_name, name=name, type_name=type_name, **signed
    )
    _print(row)
    click.echo(f"It settles {counted(found.open_pages, 'unsure article')}, of {found.pages:,} in all.")


def _print(decision: Row) -> None:
    click.echo(f"Decided: {in_words(decision)}.")
    click.echo(f"`holocron decide undo {decision['decision_id']}` takes it back.")
    click.echo("Sensors, or `holocron run`, redo what follows from it.")
