"""Every command that README.md and docs/ name is one that there is, with the options that they give it.

That they do what the pages say, `test_documented_commands_run.py` tries.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from documented import Command, commands, mentioned, pages

from holocron_assets.cli.main import main
from holocron_assets.settings import PROJECT_FOLDER

_MAKEFILE = (PROJECT_FOLDER / "Makefile").read_text(encoding="utf-8")

HELP = main.context_settings["help_option_names"]
"""A command keeps the options of help with which it was first read: other tests read it with the same."""


def problem_of(words: Sequence[str], *, shortened: bool) -> str | None:
    """What is wrong with a simple command, if it is one of ours."""
    program, *arguments = words
    match Path(program).name:
        case "holocron":
            return _holocron_problem(main, arguments, shortened=shortened)
        case "make":
            before = ["", *arguments]  # -C FOLDER
            named = [
                word
                for last, word in zip(before, arguments, strict=False)
                if "=" not in word and not word.startswith("-") and last != "-C"
            ]
            return next((f"make has no {name!r}" for name in named if f"\n{name}:" not in _MAKEFILE), None)
        case "python" | "pytest":
            return _file_problem(arguments)
    return None


def _holocron_problem(command: click.Command, arguments: list[str], *, shortened: bool) -> str | None:
    """What click would refuse; of what is shortened, only names that it would not know."""
    path = "holocron"
    while isinstance(command, click.Group) and not (arguments and arguments[0].startswith("-")):
        context = click.Context(command, resilient_parsing=True, help_option_names=HELP)
        command.parse_args(context, arguments)
        if not context.args and not context._protected_args:  # noqa: SLF001 - where click keeps the command's name
            return None if shortened else f"{path} wants a command"
        words = [*context._protected_args, *context.args]  # noqa: SLF001 - the same
        try:
            name, known, arguments = command.resolve_command(context, words)
        except click.UsageError:
            known = None
        if known is None:
            return f"{path} has no {words[0]!r}"
        command, path = known, f"{path} {name}"
    return _options_problem(command, arguments, shortened=shortened)


def _options_problem(command: click.Command, arguments: list[str], *, shortened: bool) -> str | None:
    context = click.Context(command, info_name=command.name, help_option_names=HELP)
    try:
        given, left, _order = command.make_parser(context).parse_args(list(arguments))
        given = {name: value for name, value in given.items() if not isinstance(value, Enum)}  # "unset"
        if left:
            return f"nothing takes {left}"
        for parameter in command.params:
            if (
                parameter.required
                and parameter.name not in given
                and not shortened
                and "--help" not in arguments
            ):
                return f"{parameter.get_error_hint(context)} is missing"
            _refuse_unknown_choice(parameter, given.get(parameter.name or ""), context)
    except click.BadOptionUsage as error:
        return error.format_message() if not shortened else None
    except click.UsageError as error:
        return error.format_message()
    return None


def _refuse_unknown_choice(parameter: click.Parameter, value: object, context: click.Context) -> None:
    """Convert a choice as click does. A word in capitals stands for any of its values."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(parameter.type, click.Choice) and isinstance(one, str) and not one.isupper():
            parameter.type.convert(one, parameter, context)


def _file_problem(arguments: list[str]) -> str | None:
    """A module or file of ours that is not there. `FILE` and folders are placeholders."""
    for before, word in zip(["", *arguments], arguments, strict=False):
        if before == "-m" and word.startswith("holocron_assets") and find_spec(word) is None:
            return f"there is no module {word}"
        if word.endswith(".py") and not (PROJECT_FOLDER / word).is_file():
            return f"there is no file {word}"
    return None


def _problems(found: Sequence[Command]) -> Iterator[str]:
    for command in found:
        for words in command.simple():
            if problem := problem_of(words, shortened=command.shortened):
                yield f"{command.page}:{command.line}: {' '.join(words)}: {problem}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_command_of_a_page_is_one_that_there_is(page: Path) -> None:
    assert list(_problems([*commands(page), *mentioned(page)])) == []


def test_commands_are_found_in_all_their_forms() -> None:
    found = [command for page in pages() for command in commands(page)]
    assert len(found) > 80
    assert len([command for page in pages() for command in mentioned(page)]) > 80
    (joined,) = [command for command in found if command.page == "docs/politeness.md"]
    assert "\n" in joined.text, "a quote that goes on in the next line"


@pytest.mark.parametrize(
    ("text", "shortened", "problem"),
    [
        ("holocron sourcs list", False, "has no 'sourcs'"),
        ("HOLOCRON_LLM=off .venv/bin/holocron status --jsn  # all", False, "No such option"),
        ("holocron page", False, "is missing"),
        ("holocron requeue A", False, "nothing takes"),
        ("holocron status | holocron hash --dif x > y", False, "No such option"),
        ("holocron run --llm never", False, "is not one of"),
        ("holocron decide classify|merg", True, "has no 'merg'"),
        ("holocron crawl --source NAME [--titel T]", True, "No such option"),
        ("make rum", False, "make has no 'rum'"),
        ("python -m holocron_assets.lake.referenc > docs/tables.md", False, "there is no module"),
        ("python benchmarks/no_such.py", True, "there is no file"),
    ],
)
def test_a_command_that_is_wrong_is_noticed(text: str, *, shortened: bool, problem: str) -> None:
    (said,) = _problems([Command("page.md", 1, text, shortened=shortened)])
    assert problem in said


@pytest.mark.parametrize(
    ("text", "shortened"),
    [
        ("holocron crawl --source NAME [--title T]", True),
        ("holocron decide undo", True),
        ("holocron decide classify A --type LocationPlace --reason 'a | b'", False),
        ("export DAGSTER_HOME=$(holocron home)", False),
    ],
)
def test_a_command_that_is_right_is_left_alone(text: str, *, shortened: bool) -> None:
    assert list(_problems([Command("page.md", 1, text, shortened=shortened)])) == []
