"""Errors that people read have one base, and each name stands for one of them."""

import ast
from collections import Counter
from importlib import import_module
from pkgutil import walk_packages

import click
import pytest
from click.testing import CliRunner

import holocron_assets
from holocron_assets.cli.shared import clear_errors
from holocron_assets.errors import HolocronError, PermanentError, TransientError
from holocron_assets.settings import PROJECT_FOLDER

FOR_PEOPLE = {
    *("ConditionError", "DamagedPartitionError", "DecisionError", "DispatchError", "DumpError"),
    *("FolderGoneError", "HeldBackError", "InterrogationError", "InvalidTitle", "MissingPartitionError"),
    *("ModelFileError", "ModelServerError", "NoManifestError", "ObserveError", "PartitionNameError"),
    *("SchemaError", "SettingError", "SourceError", "UnknownModelError"),
}


def defined() -> list[str]:
    """Names of all classes of exceptions, as the code has them."""
    trees = (ast.parse(file.read_text()) for file in (PROJECT_FOLDER / "holocron_assets").rglob("*.py"))
    classes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return [node.name for node in classes if node.name.endswith(("Error", "Unavailable", "Title"))]


def with_base() -> dict[str, type[HolocronError]]:
    """Every class of errors that people read, by its name."""
    for module in walk_packages(holocron_assets.__path__, "holocron_assets."):
        import_module(module.name)
    found, waiting = dict[str, type[HolocronError]](), [HolocronError]
    while waiting:
        waiting += (one := waiting.pop()).__subclasses__()
        found[one.__name__] = one
    return found


def test_each_name_of_an_error_exists_once() -> None:
    assert [name for name, count in Counter(defined()).items() if count > 1] == []


def test_the_errors_that_people_read_have_one_base() -> None:
    assert with_base().keys() >= FOR_PEOPLE


@pytest.mark.parametrize("kind", [HolocronError, PermanentError, TransientError])
def test_a_command_shows_such_an_error_without_a_traceback(kind: type[HolocronError]) -> None:
    @click.command()
    @clear_errors
    def fails() -> None:
        raise kind("the lake is gone: mount its disk")

    shown = CliRunner().invoke(fails)
    assert (shown.exit_code, shown.stderr) == (1, "Error: the lake is gone: mount its disk\n")
