"""`holocron pause`, `drain`, `resume`, `prioritize`, `controls` and `requeue`: a person controls the work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import (
    author_option,
    bare_lake,
    clear_errors,
    counted,
    fail,
    json_option,
    opened_lake,
    reason_option,
    source_option,
)
from holocron_assets.decisions.controls import (
    DRAIN,
    PAUSE,
    PRIORITIZE,
    RESUME,
    Scope,
    all_controls,
    control,
    standing_controls,
)
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.controlling import (
    UnknownScopeError,
    controlled_scopes,
    hold_or_resume,
    known_source,
    named_scope,
    try_again,
)

_source = click.option("--source", "source_name", metavar="NAME", help="This source.")
_interrogation = click.option("--interrogation", metavar="NAME", help="This interrogation.")
_everything = click.option("--all", "everything", is_flag=True, help="Everything.")


def _about_work(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that is about a source, an interrogation or everything."""
    for option in (author_option, reason_option, _everything, _interrogation, _source):
        command = option(command)
    return command


@click.command()
@_about_work
@clear_errors
def pause(**options: Any) -> None:
    """Start nothing new of a source or interrogation, and stop what is under way.

    Runs stop between two requests to a wiki, two groups of pages or two questions to a model. Results so far
    are kept, and nothing counts as an attempt or a failure.
    """
    _say(PAUSE, **options)


@click.command()
@_about_work
@clear_errors
def drain(**options: Any) -> None:
    """Start nothing new of a source or interrogation; finish the batches that were begun."""
    _say(DRAIN, **options)


@click.command()
@_about_work
@clear_errors
def resume(**options: Any) -> None:
    """Let go on what was paused or drained."""
    _say(RESUME, **options)


@click.command()
@click.argument("priority", type=click.IntRange(0, 1000), required=False)
@_source
@_interrogation
@click.option(
    "--declared", is_flag=True, help="Use the priority that its file declares again; 0 for a source."
)
@reason_option
@author_option
@clear_errors
def prioritize(  # noqa: PLR0913 - one for each option
    priority: int | None,
    source_name: str | None,
    interrogation: str | None,
    reason: str,
    author: str,
    *,
    declared: bool,
) -> None:
    """Have a source or interrogation come sooner or later: a higher PRIORITY is sooner.

    It counts from the next decision on and overrules the interrogation's file. Runs that are queued
    already keep their place.
    """
    if (priority is None) != declared:
        raise click.UsageError("give a priority, or --declared")
    lake = bare_lake()
    controlled = controlled_scopes(lake) if declared else ()
    with _usage_errors():
        scope = named_scope(source_name, interrogation, everything=False, controlled=controlled)
    row = control(lake, PRIORITIZE, scope, author=author, reason=reason, priority=priority)
    what = "what is declared" if priority is None else f"priority {priority}"
    click.echo(f"{scope} has {what}{'' if row else ' already'}")


@click.command()
@json_option
@click.option("--history", is_flag=True, help="Every control that people ever gave, oldest first.")
@clear_errors
def controls(*, as_json: bool, history: bool) -> None:
    """List what is held back, since when, by whom and why, and which priorities people gave."""
    lake = bare_lake()
    rows = [dict(row) for row in all_controls(lake)] if history else _standing(lake)
    if as_json:
        click.echo(to_json(rows))
        return
    print_rows(terminal(), "Controls" if history else "Held back and ranked", rows)
    if not rows:
        click.echo("Nothing is held back, and nobody gave priorities.")


@click.command()
@source_option
@click.option("--title", "titles", multiple=True, metavar="TITLE", help="Only this page; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Every dead letter.")
@reason_option
@author_option
@clear_errors
def requeue(
    source_name: str | None, titles: tuple[str, ...], reason: str, author: str, *, everything: bool
) -> None:
    """Try again now what was given up or failed, however often it was tried.

    Dead letters, of pages, files and interrogations, get all their attempts again. What only waits to be
    tried again is due at once: name its page or file.
    """
    if bool(titles) == everything:
        raise click.UsageError("name pages with --title, or take all with --all")
    if source_name is not None:
        with _usage_errors():
            known_source(source_name)
    done = try_again(opened_lake(), source=source_name, titles=titles, author=author, reason=reason)
    if done.requeued or everything:
        click.echo(f"requeued {counted(len(done.requeued), 'page')}")
    for source, title in done.due_now:
        click.echo(f"{title} of {source} is not given up: if anything about it failed, it is tried again now")
    if done.unknown:
        fail(f"no page has the title {', '.join(done.unknown)}; `holocron search` finds titles")


def _standing(lake: Lake) -> list[dict[str, Any]]:
    standing = standing_controls(lake)
    held = [
        {
            "what": str(hold.scope),
            "control": hold.action,
            "priority": None,
            "since": hold.since,
            "author": hold.author,
            "reason": hold.reason,
        }
        for hold in standing.held.values()
    ]
    ranks = [row for row in all_controls(lake) if row["action"] == PRIORITIZE]
    newest = {Scope(row["scope"], row["name"]): row for row in ranks}
    ranked = [
        {
            "what": str(scope),
            "control": PRIORITIZE,
            "priority": priority,
            "since": row["said_at"],
            "author": row["author"],
            "reason": row["reason"],
        }
        for scope, priority in standing.priorities.items()
        for row in [newest[scope]]
    ]
    return held + ranked


def _say(  # noqa: PLR0913 - one for each option
    action: str,
    *,
    source_name: str | None,
    interrogation: str | None,
    everything: bool,
    reason: str,
    author: str,
) -> None:
    lake = bare_lake()
    controlled = controlled_scopes(lake) if action == RESUME else ()
    with _usage_errors():
        scope = named_scope(source_name, interrogation, everything=everything, controlled=controlled)
    done = hold_or_resume(lake, action, scope, author=author, reason=reason)
    if done.hold:
        click.echo(f"{'' if done.is_new else 'already: '}{done.hold}")
        return
    click.echo(f"{scope} {'goes on' if done.is_new else 'was not held back by itself'}")
    for other in done.still_held:
        click.echo(f"still held back: {other}")


@contextmanager
def _usage_errors() -> Iterator[None]:
    """A wrong name is a wrong use of the command: exit code 2."""
    try:
        yield
    except UnknownScopeError as error:
        raise click.UsageError(str(error)) from error
