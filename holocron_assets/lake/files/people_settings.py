"""Reads a file of settings that people write; errors name file, key and reason."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, ConfigDict, StrictStr, ValidationError
from pydantic_core import ErrorDetails
from yaml import YAMLError

from holocron_assets.errors import PermanentError, details_of
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.key_problems import problem_of_key
from holocron_assets.lake.files.people_yaml import load_yaml


class SettingsError(PermanentError):
    """A file of settings cannot be used; the message names file, key and reason."""


class Settings(FrozenModel):
    """Part of such a file. Unknown keys are refused: they are misspelt ones. Values are not repeated."""

    model_config = ConfigDict(hide_input_in_errors=True)


def _pattern(text: str) -> str:
    try:
        # Arrow compiles it with RE2, as DuckDB does.
        pc.match_substring_regex(pa.scalar(""), text)
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise ValueError(f"must be a regular expression as RE2 reads it: {error}") from error
    return text


Pattern = Annotated[StrictStr, AfterValidator(_pattern)]
"""A regular expression that DuckDB can use."""

_Read = TypeVar("_Read", bound=Settings)


def read_settings(file: Path, kind: type[_Read]) -> _Read:
    """The settings of a file; the defaults where there is no file.

    Raises:
        SettingsError: the file cannot be used.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return kind()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read: {error}") from error
    try:
        return kind.model_validate(load_yaml(text) or {})
    except YAMLError as error:
        raise SettingsError(f"{file}: is not valid YAML: {error}") from error
    except ValidationError as error:
        problems = (
            f"{_dotted(details['loc'])}: {problem_of_key(details, kind)}"
            for details in first_hand(details_of(error))
        )
        # Without its cause, which repeats the values: an address may be a secret.
        raise SettingsError(f"{file}: {'; '.join(problems)}") from None


def first_hand(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Errors without those that only follow from others: pydantic counts only the valid items of a list."""
    return [
        one
        for one in errors
        if one["type"] != "too_short"
        or not any(other is not one and other["loc"][: len(one["loc"])] == one["loc"] for other in errors)
    ]


def _dotted(keys: Sequence[str | int]) -> str:
    return ".".join(str(key) for key in keys if key != "[key]") or "the file"
