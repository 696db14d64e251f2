"""JSON schemas for llama.cpp, as narrow as possible.

A small model may repeat whatever a grammar allows without end: white space, digits, one more property.
Ollama's own grammar has the same limits; see "JSON Schemas" in llama.cpp's grammars/README.md.
"""

import json
from collections.abc import Mapping
from typing import Any

_LARGEST, _SMALLEST = 10**15, 1e-6
"""Most digits of a number whose schema gives no limit: more are noise."""

_SCHEMAS_BY_NAME = ("properties", "$defs", "definitions", "dependentSchemas", "patternProperties")
_LISTED_SCHEMAS = ("anyOf", "oneOf", "prefixItems")
_SCHEMA = ("items", "additionalProperties", "contains", "then", "else")
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}

_GUIDANCE = {
    # As `json.dumps` writes, the form that models know best.
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    # Without these a schema with `uniqueItems`, `not` or a rare `format` would be dropped as a whole.
    "lenient": True,
    "coerce_one_of": True,
}
"""Options that llama.cpp's grammar library, llguidance, takes with a schema."""


def grammar_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose every answer fits the given one, and is bounded, so that a model comes to an end.

    Objects have no other properties than those listed, unless it says so; numbers have a bounded number of
    digits, white space is fixed. Schemas below `allOf` stay as they are: each sees the others' properties.
    """
    return {**_narrowed(schema), "x-guidance": _GUIDANCE}


def breaks_format(schema: Mapping[str, Any], text: str, *, is_whole: bool) -> bool:
    """Whether a text cannot come from a grammar of this schema.

    llama.cpp writes freely, and only logs why, where it can make no grammar of one.
    """
    if schema.get("type") == "object" and text and not text.startswith("{"):
        return True
    if not is_whole:
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _narrowed(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    narrowed = {name: _below(name, value) for name, value in schema.items()}
    listed = schema.get("properties", {}).keys()
    if listed and "allOf" not in schema and listed >= set(schema.get("required", ())):
        narrowed.setdefault("additionalProperties", False)
    return _numbers(schema) | narrowed


def _numbers(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Limits for a schema of numbers, where it has none."""
    if schema.get("type") not in ("integer", "number") or schema.keys() & {"enum", "const"}:
        return {}
    bounds = {} if _BOUNDS & schema.keys() else {"minimum": -_LARGEST, "maximum": _LARGEST}
    return bounds | ({"multipleOf": _SMALLEST} if schema["type"] == "number" else {})


def _below(name: str, value: Any) -> Any:
    if name in _SCHEMAS_BY_NAME:
        return {key: _narrowed(part) for key, part in value.items()}
    if name in _LISTED_SCHEMAS:
        return [_narrowed(part) for part in value]
    return _narrowed(value) if name in _SCHEMA else value
