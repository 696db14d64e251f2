"""`holocron group`: runs a group of work step by step, and continues where it was killed."""

import subprocess
import sys
from contextlib import suppress
from copy import copy
from typing import Any

import click
from filelock import Timeout

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import all_sources_of_any_kind, bare_lake, clear_errors, fail, json_option
from holocron_assets.crawl.sources.files import Problem, SourceError
from holocron_assets.errors import PermanentError
from holocron_assets.interrupts import ending_by_signal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.groups import Group, Step, begin_or_go_on, group_names, last_run, read_group
from holocron_assets.orchestration.runs.orphans import command_that_ends_with_us
from holocron_assets.settings import groups_folder

_NO_STEP = "group"
"""Not allowed as a step: a group in a group could run itself forever."""

_ADDS_SOURCE = "holocron sources add"
"""It creates a source by the name that it is given, or else by one that the wiki gives."""

_CREATE_SOURCES = ("holocron import", "holocron files add", _ADDS_SOURCE)
"""Commands that create the source that they name if it is new."""

_SECONDS_OF_ITS_OWN, _SECONDS_TO_END = 1, 20
"""A step has the first to end by itself after Ctrl+C, and the second after SIGTERM, before it is killed."""


@click.group()
def group() -> None:
    """Run groups of work: commands in sequence, from files in data/groups/."""


@group.command("run")
@click.argument("name")
@click.option("--wait", is_flag=True, help="If another process runs the group, wait instead of failing.")
@clear_errors
def run_group(name: str, *, wait: bool) -> None:
    """Run the steps of group NAME, one after the other.

    Exits with 0 if every step was done, and else with 1. If the last run was killed,
    this one continues with the step that was under way; otherwise it begins anew.
    """
    lake, found = bare_lake(), read_group(groups_folder(), name)
    _refuse_unknown_commands(name, found)
    try:
        with ending_by_signal(), lake.lock(f"group-{name}", timeout=-1 if wait else 0):
            run = begin_or_go_on(lake, name, found)
            click.echo(f"{run.run_id}: {found.title}")
            run.work(_run, click.echo)
    except Timeout:
        fail(f"another process runs group {name}; --wait waits for it")
    if run.has_failed:
        sys.exit(1)


@group.command("list")
@json_option
@clear_errors
def list_groups(*, as_json: bool) -> None:
    """List the groups, and how each step ended the last time."""
    lake, broken = bare_lake(), list[str]()
    rows: list[dict[str, Any]] = []
    for name in group_names(groups_folder()):
        try:
            rows += _last_of(lake, name)
        except PermanentError as error:  # one broken file does not hide the others
            broken.append(str(error))
    if as_json:
        click.echo(to_json(rows))
    else:
        print_rows(terminal(), "Groups", rows)
    if not as_json and not rows and not broken:
        click.echo(f"There is no group in {groups_folder()}.")
    for problem in broken:
        click.echo(problem, err=True)
    if broken:
        sys.exit(1)


def _last_of(lake: Lake, name: str) -> list[dict[str, Any]]:
    return [
        {
            "group": name,
            "run": last["group_run_id"],
            "step": last["step"],
            "command": last["command"],
            "status": last["status"],
            "exit_code": last["exit_code"],
            "ended": last["ended_at"],
        }
        for last in last_run(lake, name)
        or [_never(name, step) for step in read_group(groups_folder(), name).steps]
    ]


def _never(name: str, step: Step) -> dict[str, object]:
    empty = dict.fromkeys(("exit_code", "ended_at"))
    return {"group_run_id": name, "step": step.name, "command": step.run, "status": "never run", **empty}


def _run(step: Step) -> int:
    """Run a step's command in its own process. If the group is killed, that ends too, and is run again."""
    with command_that_ends_with_us(step.words) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_OF_ITS_OWN)  # Ctrl+C reaches the step's process too
            if process.poll() is None:
                process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_END)
            process.kill()
            raise


def _refuse_unknown_commands(name: str, found: Group) -> None:
    """Refuse a group before its first step if a later one could not be run.

    Raises:
        SourceError: a step is no command, has options that it does not take, or names no source.
    """
    from holocron_assets.cli.main import main

    sources, may_be_any = {source.name for source in all_sources_of_any_kind()}, False
    for place, step in enumerate(found.steps):
        try:
            path, parameters = _path_and_parameters(main, step.words)
        except (click.ClickException, ValueError) as error:
            message = error.format_message() if isinstance(error, click.ClickException) else str(error)
            raise _wrong(name, place, message) from error
        source = parameters.get("name" if path == _ADDS_SOURCE else "source_name")
        # Of a source without a name, only the wiki knows which one the later steps may name.
        may_be_any |= path == _ADDS_SOURCE and source is None
        if path in _CREATE_SOURCES and source is not None:
            sources.add(source)
        if source is not None and source not in sources and not may_be_any:
            raise _wrong(
                name, place, f"no source is called {source!r}; there are {', '.join(sorted(sources))}"
            )


def _path_and_parameters(main: click.Command, words: list[str]) -> tuple[str, dict[str, Any]]:
    """The command that a step runs, as `holocron import`, and the values of its parameters.

    Raises:
        click.ClickException: it is no command, or takes no such options.
        ValueError: it is a group of commands, or must not be a step.
    """
    command, path = main, "holocron"
    context = click.Context(main, info_name=path, **main.context_settings)
    while isinstance(command, click.Group):
        if not words or words[0].startswith("-"):
            raise ValueError(f"`{path}` is no command by itself")
        if words[0] == _NO_STEP:
            raise ValueError("a group is no step of a group")
        try:
            name, below, rest = command.resolve_command(context, words)
        except click.UsageError:
            name, below, rest = None, None, []
        if name is None or below is None:
            raise ValueError(f"there is no command `{path} {words[0]}`")
        context = click.Context(below, context, name, **below.context_settings)
        path, command, words = f"{path} {name}", below, rest
    if {*words} & {*context.help_option_names}:
        raise ValueError(f"`{path}` would only print its help")
    with _taking_any_path(command).make_context(command.name, list(words), context.parent) as parsed:
        return path, parsed.params


def _taking_any_path(command: click.Command) -> click.Command:
    """A copy of a command that accepts missing files: an earlier step may make them."""
    lenient = copy(command)
    lenient.params = [copy(param) for param in command.params]
    for param in lenient.params:
        if isinstance(param.type, click.Path):
            param.type = click.Path(readable=False, path_type=param.type.type)
    return lenient


def _wrong(name: str, place: int, message: str) -> SourceError:
    return SourceError(groups_folder() / f"{name}.yaml", Problem(0, f"steps[{place}].run", message))
