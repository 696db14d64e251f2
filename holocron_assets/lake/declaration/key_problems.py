"""What is wrong with a key of a file that people write, in words that say which keys there are."""

import difflib
from collections.abc import Iterable
from typing import get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

KeyPath = tuple[str | int, ...]


def problem_of_key(details: ErrorDetails, root: type[BaseModel]) -> str:
    """Say what is wrong: of an unknown key also which are allowed.

    Args:
        details: one of pydantic's errors.
        root: the model of the whole file.
    """
    match details["type"]:
        case "extra_forbidden":
            return unknown_key(details["loc"], root)
        case "missing":
            return "is missing"
    return details["msg"]


def unknown_key(keys: KeyPath, root: type[BaseModel]) -> str:
    """Say of an unknown key what was probably meant, and which keys are allowed in its place.

    Args:
        keys: the path of the key.
        root: the model of the whole file.
    """
    allowed = list(_model_at(keys[:-1], root).model_fields)
    if not allowed:
        return "is no known key; none is allowed here"
    return f"is no known key{suggestion(keys[-1], allowed)}; allowed are {', '.join(allowed)}"


def suggestion(given: object, allowed: Iterable[str]) -> str:
    """What was probably meant by a misspelt word, as the end of a sentence; empty if nothing is alike."""
    close = difflib.get_close_matches(str(given).lower(), list(allowed), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _model_at(keys: KeyPath, root: type[BaseModel]) -> type[BaseModel]:
    field = field_at(keys, root)
    return (_model_of(field) if field else None) or root


def _model_of(field: FieldInfo) -> type[BaseModel] | None:
    """The mapping of keys that a field holds, even if it is optional; None if it holds no mapping of keys."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def field_at(keys: KeyPath, root: type[BaseModel]) -> FieldInfo | None:
    """The field that a path leads to; for an item of a list or mapping, the field that holds it."""
    model = root
    field: FieldInfo | None = None
    for key in keys:
        field = model.model_fields.get(str(key), field)
        model = (_model_of(field) if field else None) or model
    return field
