"""Errors that people read have one base, and each name stands for one of them."""

import gc
import re
import weakref
from collections import Counter
from importlib import import_module
from pkgutil import walk_packages
from typing import Self

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, ValidationError, model_validator

import holocron_assets
from holocron_assets.cli.shared import clear_errors
from holocron_assets.errors import HolocronError, PermanentError, TransientError, details_of
from holocron_assets.settings import PROJECT_FOLDER

FOR_PEOPLE = {
    *("ConditionError", "DamagedPartitionError", "DecisionError", "DumpError"),
    *("FolderGoneError", "HeldBackError", "InterrogationError", "InvalidTitle", "MissingPartitionError"),
    *("ModelFileError", "ModelServerError", "NoManifestError", "ObserveError", "PartitionNameError"),
    *("SchemaError", "SettingError", "SettingsError", "SourceError", "UnknownModelError"),
}


def defined() -> list[str]:
    """Names of all classes of exceptions, as the code has them."""
    texts = (file.read_text(encoding="utf-8") for file in (PROJECT_FOLDER / "holocron_assets").rglob("*.py"))
    names = (name for text in texts for name in re.findall(r"^\s*class (\w+)", text, re.MULTILINE))
    return [name for name in names if name.endswith(("Error", "Unavailable", "Title"))]


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


class _Checked(BaseModel):
    number: int

    @model_validator(mode="after")
    def _is_small(self) -> Self:
        raise ValueError(f"{self.number} is too large")


def test_a_kept_error_of_pydantic_keeps_nothing_of_who_asked() -> None:
    class Large: ...

    def asked() -> "weakref.ref[Large]":
        large = Large()
        try:
            _Checked(number=9)
        except ValidationError as error:
            kept = error  # so that the frame, with all that it names, is part of a cycle
            assert details_of(kept)[0]["msg"] == "9 is too large"
        return weakref.ref(large)

    large = asked()
    gc.collect()
    assert large() is None
