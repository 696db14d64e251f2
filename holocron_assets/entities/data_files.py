"""The YAML files of this package; an error in one names the file and the key."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yaml import YAMLError

from holocron_assets.errors import PermanentError, details_of
from holocron_assets.lake.declaration.key_problems import problem_of_key
from holocron_assets.lake.files.people_yaml import load_yaml

_Model = TypeVar("_Model", bound=BaseModel)


class DataFileError(PermanentError):
    """A file cannot be used; the message names the file and the key."""


def read_data_file(path: Path, model: type[_Model]) -> _Model:
    """Read and validate a file. A process parses the same text only once.

    Args:
        path: the file.
        model: the class of its content; instances do not change.

    Raises:
        DataFileError: it is missing or not YAML, or does not fit the model.
    """
    try:
        found: _Model = _parsed(path.read_text(encoding="utf-8"), model)
    except ValidationError as error:
        raise DataFileError(
            f"{path}: {'; '.join(_problem(one, model) for one in details_of(error))}"
        ) from error
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise DataFileError(f"{path}: not a readable YAML file: {error}") from error
    return found


def types_completed(content: Any) -> Any:
    """A file's `default` and `types`, with each type's missing figures taken from the default.

    A value that is no such mapping is returned as it is, so that validation names it.
    """
    if not isinstance(content, Mapping):
        return content
    default, types = content.get("default"), content.get("types")
    if not isinstance(default, Mapping) or not isinstance(types, Mapping):
        return content
    completed = {
        name: {**default, **figures} if isinstance(figures, Mapping) else figures
        for name, figures in types.items()
    }
    return {**content, "types": completed}


# The stages of each type read the same few files, and checking one takes some milliseconds.
@lru_cache(maxsize=16)
def _parsed(text: str, model: type[BaseModel]) -> Any:
    return model.model_validate(load_yaml(text))


def _problem(error: ErrorDetails, model: type[BaseModel]) -> str:
    key = ".".join(map(str, error["loc"])) or "(top level)"
    problem = "must be a mapping" if error["type"] == "model_type" else problem_of_key(error, model)
    return f"{key}: {problem}"
