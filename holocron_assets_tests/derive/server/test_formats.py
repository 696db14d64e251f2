"""Schemas that a small model comes to an end with."""

import pytest

from holocron_assets.derive.server.formats import grammar_schema


def test_an_object_has_the_properties_that_are_listed_and_no_others() -> None:
    inner = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = grammar_schema({"type": "array", "items": {"anyOf": [inner, {"type": "null"}]}})
    assert schema["items"]["anyOf"][0]["additionalProperties"] is False
    assert "additionalProperties" not in schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        {"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}]},
        {"type": "object"},
        {"properties": {"a": {}}, "required": ["a", "b"]},
        {"enum": [{"properties": {}}, 1]},
        {"type": "integer", "minimum": 3},
    ],
)
def test_what_says_otherwise_stays_as_it_is(schema: dict[str, object]) -> None:
    narrowed = grammar_schema(schema)
    assert {name: narrowed[name] for name in schema} == schema
    assert narrowed.keys() - schema.keys() == {"x-guidance"}


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = grammar_schema({"properties": {"properties": {"type": "string"}, "items": {"type": "integer"}}})
    assert schema["properties"]["properties"] == {"type": "string"}
    assert schema["properties"]["items"]["maximum"] == 10**15


def test_numbers_have_so_many_digits() -> None:
    assert grammar_schema({"type": "number"})["multipleOf"] == 1e-6
    assert grammar_schema({"type": "number", "multipleOf": 0.5, "maximum": 1})["multipleOf"] == 0.5
    assert "minimum" not in grammar_schema({"type": "number", "maximum": 1})
    assert "multipleOf" not in grammar_schema({"type": "integer"})
