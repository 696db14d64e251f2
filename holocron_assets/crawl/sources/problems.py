"""Messages for wrong values in a source file, which say what is allowed."""

import re
import reprlib

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.key_problems import KeyPath, field_at, suggestion, unknown_key
from holocron_assets.telemetry.masking import without_secrets

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
            return unknown_key(keys, root)
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


def _meaning_in_brackets(keys: KeyPath, root: type[BaseModel]) -> str:
    meaning = _meaning(keys, root)
    return f" ({meaning})" if meaning else ""


def _meaning(keys: KeyPath, root: type[BaseModel]) -> str:
    field = field_at(keys, root)
    return (field.description or "") if field else ""
