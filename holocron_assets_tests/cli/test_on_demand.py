"""The table of commands says what the commands themselves say, and imports them when they are called."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from sample_holocron import Holocron

from holocron_assets.cli.main import COMMANDS, main

pytestmark = pytest.mark.system

SUMMARIES = [
    (name, text)
    for modules in COMMANDS.values()
    for names in modules.values()
    for name, text in names.items()
]

# Standard error takes what is imported: standard output has the help.
NAMING_MODULES = """
import sys
from holocron_assets.cli.main import main
try:
    main()
finally:
    sys.stderr.write(" ".join(sys.modules))
"""


def imported_by(*words: str) -> set[str]:
    """The modules that a command has imported at its end, in a process of its own."""
    command = [sys.executable, "-c", NAMING_MODULES, *words]
    return {*subprocess.run(command, check=True, capture_output=True, text=True).stderr.split()}  # noqa: S603


@pytest.mark.parametrize("name", dict(SUMMARIES))
def test_a_command_has_the_name_that_the_table_gives_it(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert command.help


def test_each_summary_is_a_sentence_that_fits_a_line_of_a_terminal() -> None:
    lines = CliRunner().invoke(main, ["--help"], terminal_width=80).output.splitlines()
    for name, text in SUMMARIES:
        assert any(line.split() == [name, *text.split()] for line in lines), name
        assert text.endswith((".", ")."))


def test_every_command_is_in_the_table_once() -> None:
    assert len(SUMMARIES) == len(dict(SUMMARIES)) == len(main.list_commands(click.Context(main)))


def test_the_list_of_commands_imports_none_of_them() -> None:
    ours = {name for name in imported_by("--help") if name.startswith("holocron_assets")}
    assert ours == {
        *("holocron_assets", "holocron_assets.cli", "holocron_assets.cli.main"),
        "holocron_assets.cli.on_demand",
    }


def test_a_commands_help_imports_no_other_command() -> None:
    found = imported_by("page", "--help")
    assert "holocron_assets.cli.knowledge.page" in found
    assert not found & {"dagster", "holocron_assets.cli.work.run", "holocron_assets.cli.knowledge.why"}


def test_an_unknown_command_is_named() -> None:
    said = CliRunner().invoke(main, ["pagge"])
    assert said.exit_code == 2
    assert "No such command 'pagge'" in said.stderr


@pytest.fixture(scope="module")
def checked_sample(finished_sample: Holocron) -> Iterator[None]:
    """The environment of the sample, whose interrogations a first process has checked."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in finished_sample.environment.items():
            patched.setenv(name, value)
        imported_by("status")
        yield


@pytest.mark.usefixtures("checked_sample")
@pytest.mark.parametrize(
    "words", [("page", "Issa Dorrane"), ("sql", "from entities"), ("status",)], ids=lambda words: words[0]
)
def test_commands_that_only_read_import_no_dagster(words: tuple[str, ...]) -> None:
    slow = {"dagster", "pandas", "matplotlib", "ollama", "xllamacpp", "sklearn"}
    if words != ("status",):
        slow |= {"jsonschema", "jinja2", "mwparserfromhell"}
    assert not imported_by(*words) & slow
