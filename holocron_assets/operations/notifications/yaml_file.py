"""Reads a file of settings that people write; errors name file, key and reason."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml.error import YAMLError

from holocron_assets.crawl.sources.problems import first_hand
from holocron_assets.errors import PermanentError, details_of
from holocron_assets.lake.files.people_yaml import load_yaml


class SettingsError(PermanentError):
    """A file of settings cannot be used; the message names file, key and reason."""


class Settings(BaseModel):
    """Part of such a file. Unknown keys are refused: they are misspelt ones. Values are not repeated."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


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
            f"{_dotted(details['loc'])}: {details['msg']}" for details in first_hand(details_of(error))
        )
        # Without its cause, which repeats the values: an address may be a secret.
        raise SettingsError(f"{file}: {'; '.join(problems)}") from None


def _dotted(keys: Sequence[str | int]) -> str:
    return ".".join(str(key) for key in keys if key != "[key]") or "the file"
