"""YAML files that rule this room: read so that whatever is wrong is named with file and key."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from holocron_assets.lake.errors import PermanentError

_Model = TypeVar("_Model", bound=BaseModel)


class DataFileError(PermanentError):
    """A file cannot be used; the message names the file and the key."""


def read_data_file(path: Path, model: type[_Model]) -> _Model:
    """Read and validate a file.

    Raises:
        DataFileError: it is missing or not YAML, or does not fit the model.
    """
    try:
        return model.model_validate(YAML(typ="safe").load(path))
    except ValidationError as error:
        raise DataFileError(f"{path}: {'; '.join(map(_problem, error.errors()))}") from error
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise DataFileError(f"{path}: not a readable YAML file: {error}") from error


def _problem(error: Mapping[str, object]) -> str:
    location = error["loc"]
    key = ".".join(map(str, location)) if isinstance(location, tuple) and location else "(top level)"
    return f"{key}: {error['msg']}"
