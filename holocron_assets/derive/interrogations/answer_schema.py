"""The JSON schema of an answer: what a model may say, and the columns that it becomes.

Only a small part of JSON Schema is allowed. So its grammar stays small enough for a server to enforce, and
each part of an answer has a place in a column.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from holocron_assets.classify.taxonomy import Taxonomy, load_taxonomy
from holocron_assets.lake.declaration.schema import Column
from holocron_assets.lake.views.empty_database import empty_database

Schema = Mapping[str, Any]


class _Scalar(NamedTuple):
    """A JSON type as a column's type, with a function that makes its values fit the column."""

    column: pa.DataType
    plain: Callable[[Any], Any]


_SCALARS = {
    "string": _Scalar(pa.string(), lambda text: text.encode("utf-8", "replace").decode()),
    "integer": _Scalar(pa.int64(), int),
    "number": _Scalar(pa.float64(), float),
    "boolean": _Scalar(pa.bool_(), bool),
}
_ANYWHERE = frozenset({"type", "description"})
_ALLOWED = {
    "string": frozenset({"enum", "minLength", "maxLength", "maxWords"}),
    "integer": frozenset({"minimum", "maximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "boolean": frozenset[str](),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
_SMALLEST, _LARGEST = -(2**53), 2**53  # every JSON reader keeps integers up to this exact
_DEEPEST = 8
_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_MOST_REPEATED = 2_000
"""llama.cpp makes no grammar of a schema in which something may come so often."""

_REFERENCE = "holocron:"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class AnswerSchemaError(ValueError):
    """An answer's schema cannot be used; the message names the place in it."""


def read_answer_schema(declared: Schema) -> dict[str, Any]:
    """Check the schema of an answer, and complete it.

    References to vocabularies (`$ref: "holocron:page_types"`) become enumerations, and objects take no
    properties but those declared.

    Args:
        declared: the schema as its author wrote it.

    Raises:
        AnswerSchemaError: it is no JSON schema, describes no object, or uses something that is not allowed.
    """
    import jsonschema  # noqa: PLC0415 - slow to import; only those who check files need it

    schema = _completed(declared, "answer")
    if schema["type"] != "object":
        raise AnswerSchemaError(f"answer: must be an object, not {schema['type']!r}")
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        place = ".".join(["answer", *map(str, error.path)])
        raise AnswerSchemaError(f"{place}: {error.message}") from error
    return schema


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """The columns that an object's properties become, in the schema's order.

    Args:
        schema: an object's schema, as `read_answer_schema` gives it.
    """
    required = schema.get("required", ())
    return tuple(
        Column(
            name, _arrow_type(part), part["description"], nullable=name not in required or _may_be_null(part)
        )
        for name, part in schema["properties"].items()
    )


def fitting(value: Any, schema: Schema) -> Any:
    """A valid answer, or part of one, as its column can hold it.

    A model can write what JSON allows and Arrow does not: half of a surrogate pair, `3.0` for a whole number,
    an object without its optional properties.

    Args:
        value: the model's value; it fits the schema.
        schema: the schema of this part, as `read_answer_schema` gives it.
    """
    kind = _kind(schema)
    if kind == "array":
        return None if value is None else [fitting(item, schema["items"]) for item in value]
    if kind == "object":
        parts = schema["properties"].items()
        return None if value is None else {name: fitting(value.get(name), part) for name, part in parts}
    return None if value is None else _SCALARS[kind].plain(value)


def enforceable(schema: Schema) -> dict[str, Any]:
    """A schema as a server can hold a model to it: without the counts that are too large for a grammar.

    Args:
        schema: the schema, which the answer is checked against when it is there.
    """
    kept = {name: value for name, value in schema.items() if name not in _COUNTS or value < _MOST_REPEATED}
    if "items" in kept:
        kept["items"] = enforceable(kept["items"])
    if "properties" in kept:
        kept["properties"] = {name: enforceable(part) for name, part in kept["properties"].items()}
    return kept


def sample_answer(schema: Schema) -> Any:
    """A made-up answer with everything that the schema names, to try templates with."""
    match _kind(schema):
        case "string":
            return schema.get("enum", ["text"])[0]
        case "integer" | "number":
            return schema["minimum"]
        case "array":
            return [sample_answer(schema["items"])]
        case "object":
            return {name: sample_answer(part) for name, part in schema["properties"].items()}
    return False


def vocabularies(taxonomy: Taxonomy) -> dict[str, list[str]]:
    """The lists of words that `$ref: "holocron:NAME"` stands for, by name."""
    return {
        "page_types": list(taxonomy.types),
        "entity_types": list(taxonomy.entity_worthy_types),
        "work_media": taxonomy.work_media,
        "canon_contexts": taxonomy.canon_contexts,
    }


def _completed(declared: Any, place: str) -> dict[str, Any]:
    if not isinstance(declared, Mapping):
        raise AnswerSchemaError(f"{place}: must be a mapping, not {declared!r}")
    if place.count(".") + place.count("[]") > _DEEPEST:
        raise AnswerSchemaError(f"{place}: is nested more than {_DEEPEST} deep")
    schema = _inlined(declared, place)
    kind = _kind_declared(schema, place)
    _refuse_keywords(schema, kind, place)
    match kind:
        case "string":
            _check_string(schema, place)
        case "integer" | "number":
            _check_bounds(schema, kind, place)
        case "array":
            _check_array(schema, place)
            schema["items"] = _completed(schema["items"], f"{place}[]")
            if _may_be_null(schema["items"]):
                raise AnswerSchemaError(f"{place}[]: an item cannot be null")
        case "object":
            schema = _completed_object(schema, place)
    return schema


def _completed_object(schema: dict[str, Any], place: str) -> dict[str, Any]:
    declared = schema.get("properties")
    if not isinstance(declared, Mapping) or not declared:
        raise AnswerSchemaError(f"{place}: an object needs properties")
    for name in declared:
        if not _NAME.fullmatch(str(name)) or name in _reserved_words():
            raise AnswerSchemaError(
                f"{place}: {name!r} is no name for a column: small letters, digits and _, and no word of SQL"
            )
    properties = {name: _completed(part, f"{place}.{name}") for name, part in declared.items()}
    for name, part in properties.items():
        if not str(part.get("description") or "").strip():
            raise AnswerSchemaError(f"{place}.{name}: description is missing; it documents the column")
    required = schema.get("required", [])
    if not isinstance(required, list) or not set(required) <= properties.keys():
        raise AnswerSchemaError(f"{place}: required must be a list of its properties")
    if schema.get("additionalProperties", False) is not False:
        raise AnswerSchemaError(f"{place}: additionalProperties must be false: they would have no column")
    return {**schema, "properties": properties, "required": required, "additionalProperties": False}


@cache
def _reserved_words() -> frozenset[str]:
    """Words that SQL cannot read as a column's name."""
    with empty_database() as connection:
        found = connection.execute(
            "select keyword_name from duckdb_keywords() where keyword_category = 'reserved'"
        ).fetchall()
    return frozenset(word for (word,) in found)


def _inlined(declared: Schema, place: str) -> dict[str, Any]:
    schema = dict(declared)
    reference = schema.pop("$ref", None)
    if reference is None:
        return schema
    known = vocabularies(load_taxonomy())
    name = str(reference).removeprefix(_REFERENCE)
    if not str(reference).startswith(_REFERENCE) or name not in known:
        names = ", ".join(_REFERENCE + name for name in known)
        raise AnswerSchemaError(f"{place}: $ref {reference!r} is not known; there are {names}")
    may_be_null = schema.pop("nullable", False)
    if may_be_null not in (True, False):
        raise AnswerSchemaError(f"{place}: nullable must be true or false")
    kinds: Any = ["string", "null"] if may_be_null else "string"
    return {"type": kinds, "enum": [*known[name], *([None] if may_be_null else [])], **schema}


def _kind_declared(schema: Schema, place: str) -> str:
    kind = schema.get("type")
    if isinstance(kind, list) and len(kind) == 2 and "null" in kind:  # noqa: PLR2004 - a type, or null
        kind = next((name for name in kind if name != "null"), None)
    if not isinstance(kind, str) or kind not in _ALLOWED:
        raise AnswerSchemaError(
            f"{place}: type must be one of {', '.join(_ALLOWED)}, or a list of one and null, not {kind!r}"
        )
    return kind


def _refuse_keywords(schema: Schema, kind: str, place: str) -> None:
    unknown = sorted(schema.keys() - _ANYWHERE - _ALLOWED[kind])
    if unknown:
        allowed = ", ".join(sorted(_ANYWHERE | _ALLOWED[kind]))
        raise AnswerSchemaError(f"{place}: {', '.join(unknown)}: not allowed; of a {kind}, {allowed} are")


def _check_string(schema: Schema, place: str) -> None:
    choices = schema.get("enum")
    if choices is None:
        if not _is_count(schema.get("maxLength")):
            raise AnswerSchemaError(f"{place}: a string needs enum, or maxLength in characters")
        _check_least(schema, "minLength", "maxLength", place)
        if not _is_count(schema.get("maxWords", 1)):
            raise AnswerSchemaError(f"{place}: maxWords must be a number of words")
        return
    allowed: tuple[type, ...] = (str, type(None)) if _may_be_null(schema) else (str,)
    if not isinstance(choices, list) or not choices or not all(isinstance(one, allowed) for one in choices):
        raise AnswerSchemaError(f"{place}: enum must be a list of texts")


def _check_bounds(schema: Schema, kind: str, place: str) -> None:
    kinds = (int,) if kind == "integer" else (int, float)
    bounds = [schema.get("minimum"), schema.get("maximum")]
    numbers = [bound for bound in bounds if isinstance(bound, kinds)]
    if len(numbers) < len(bounds) or not _SMALLEST <= numbers[0] <= numbers[1] <= _LARGEST:
        raise AnswerSchemaError(f"{place}: a number needs minimum and maximum, of at most 2^53")


def _check_array(schema: Schema, place: str) -> None:
    if not _is_count(schema.get("maxItems")):
        raise AnswerSchemaError(f"{place}: an array needs maxItems")
    _check_least(schema, "minItems", "maxItems", place)
    if "items" not in schema:
        raise AnswerSchemaError(f"{place}: an array needs items")


def _check_least(schema: Schema, least: str, most: str, place: str) -> None:
    if isinstance(schema.get(least), int) and schema[least] > schema[most]:
        raise AnswerSchemaError(f"{place}: {least} is more than {most}: no answer would fit")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _may_be_null(schema: Schema) -> bool:
    return isinstance(schema["type"], list)


def _kind(schema: Schema) -> str:
    kind = schema["type"]
    name: str = next(name for name in kind if name != "null") if isinstance(kind, list) else kind
    return name


def _arrow_type(schema: Schema) -> pa.DataType:
    match kind := _kind(schema):
        case "array":
            return pa.list_(_arrow_type(schema["items"]))
        case "object":
            return pa.struct([(name, _arrow_type(part)) for name, part in schema["properties"].items()])
    return _SCALARS[kind].column
