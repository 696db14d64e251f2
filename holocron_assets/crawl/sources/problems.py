"""Messages for wrong values in a source file, which say what is allowed."""

import difflib
import re
import reprlib
from collections.abc import Iterable
from typing import get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from holocron_assets.crawl.sources.source import Source
from holocron_assets.telemetry.masking import without_secrets

KeyPath = tuple[str | int, ...]

_TYPES = {
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text (in quotes, if YAML takes it for something else)",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping of keys",
}


def dotted(keys: KeyPath) -> str:
    """A key path as people write it: `seeds.titles[0]`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def explain(details: ErrorDetails, keys: KeyPath, root: type[BaseModel] = Source) -> str:
    """Say what is wrong with a value, what is allowed, and what was probably meant.

    Args:
        details: one of pydantic's errors.
        keys: the path of the wrong key.
        root: the model of the whole file.
    """
    shown = without_secrets(reprlib.repr(details["input"]))
    match details["type"]:
        case "extra_forbidden":
            allowed = list(_model_at(keys[:-1], root).model_fields)
            return f"is no known key{suggestion(keys[-1], allowed)}; allowed are {', '.join(allowed)}"
        case "missing":
            return f"is missing: {_meaning(keys, root)}"
        case "literal_error":
            allowed = re.findall("'([^']*)'", details["ctx"]["expected"])
            return f"must be {details['ctx']['expected']}, not {shown}{suggestion(details['input'], allowed)}"
        case "value_error":
            return f"{details['ctx']['error']}{_meaning_in_brackets(keys, root)}"
        case known if known in _TYPES:
            return f"{_TYPES[known]}, not {shown}{_meaning_in_brackets(keys, root)}"
    wanted = details["msg"].replace("Input should be", "must be")
    return f"{wanted}, not {shown}{_meaning_in_brackets(keys, root)}"


def suggestion(given: object, allowed: Iterable[str]) -> str:
    """What was probably meant by a misspelt word, as the end of a sentence; empty if nothing is alike."""
    close = difflib.get_close_matches(str(given).lower(), list(allowed), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _meaning_in_brackets(keys: KeyPath, root: type[BaseModel]) -> str:
    meaning = _meaning(keys, root)
    return f" ({meaning})" if meaning else ""


def _meaning(keys: KeyPath, root: type[BaseModel]) -> str:
    field = _field_at(keys, root)
    return (field.description or "") if field else ""


def _model_at(keys: KeyPath, root: type[BaseModel]) -> type[BaseModel]:
    field = _field_at(keys, root)
    return (_model_of(field) if field else None) or root


def _model_of(field: FieldInfo) -> type[BaseModel] | None:
    """The mapping of keys that a field holds, even if it is optional; None if it holds no mapping of keys."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _field_at(keys: KeyPath, root: type[BaseModel]) -> FieldInfo | None:
    """The field that a path leads to; for an item of a list or mapping, the field that holds it."""
    model = root
    field: FieldInfo | None = None
    for key in keys:
        field = model.model_fields.get(str(key), field)
        model = (_model_of(field) if field else None) or model
    return field
