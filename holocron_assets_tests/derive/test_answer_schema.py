from typing import Any

import pyarrow as pa
import pytest

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.derive.interrogations.answer_schema import (
    AnswerSchemaError,
    columns_of,
    enforceable,
    fitting,
    read_answer_schema,
    sample_answer,
)

WORD = {"type": "string", "maxLength": 9, "description": "A word"}


def an_object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or list(properties)}


def test_a_vocabulary_stands_for_its_words() -> None:
    declared = an_object({"kind": {"$ref": "holocron:page_types", "description": "Its type"}})
    kind = read_answer_schema(declared)["properties"]["kind"]
    assert kind == {"type": "string", "enum": list(load_taxonomy().types), "description": "Its type"}


def test_a_nullable_vocabulary_allows_null_among_its_words() -> None:
    part = {"$ref": "holocron:work_media", "nullable": True, "description": "Its medium"}
    schema = read_answer_schema(an_object({"medium": part}))
    assert schema["properties"]["medium"]["enum"][-1] is None
    assert columns_of(schema)[0].nullable


def test_objects_take_nothing_that_is_not_declared() -> None:
    inner = an_object({"word": WORD})
    items = {"type": "array", "maxItems": 2, "items": inner, "description": "Words"}
    schema = read_answer_schema(an_object({"words": items}))
    assert schema["additionalProperties"] is False
    assert schema["properties"]["words"]["items"]["additionalProperties"] is False


def test_properties_become_columns_of_their_types_in_their_order() -> None:
    pair = an_object({"word": WORD, "weight": {**NUMBER, "description": "Its weight"}})
    declared = an_object(
        {
            "word": WORD,
            "count": {"type": "integer", "minimum": 0, "maximum": 9, "description": "How many"},
            "weight": {**NUMBER, "description": "How heavy"},
            "is_good": {"type": "boolean", "description": "Whether it is"},
            "words": {"type": "array", "maxItems": 2, "items": WORD, "description": "Some"},
            "pairs": {"type": "array", "maxItems": 2, "items": pair, "description": "Some"},
        }
    )
    columns = columns_of(read_answer_schema(declared))
    assert [(column.name, column.type) for column in columns] == [
        ("word", pa.string()),
        ("count", pa.int64()),
        ("weight", pa.float64()),
        ("is_good", pa.bool_()),
        ("words", pa.list_(pa.string())),
        ("pairs", pa.list_(pa.struct([("word", pa.string()), ("weight", pa.float64())]))),
    ]
    assert [column.description for column in columns][:2] == ["A word", "How many"]
    assert not any(column.nullable for column in columns)


NUMBER = {"type": "number", "minimum": 0, "maximum": 1}


def test_only_what_may_be_absent_or_null_may_be_empty() -> None:
    may_be_null = {"type": ["string", "null"], "maxLength": 9, "description": "Perhaps"}
    schema = read_answer_schema(
        an_object({"there": WORD, "perhaps": may_be_null, "left_out": WORD}, ["there", "perhaps"])
    )
    assert [column.nullable for column in columns_of(schema)] == [False, True, True]


def nested(depth: int) -> dict[str, Any]:
    part: dict[str, Any] = WORD
    for _ in range(depth):
        part = {"type": "array", "items": part, "maxItems": 2, "description": "Some"}
    return part


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"type": "string", "description": "A word"}, "answer.word: a string needs enum, or maxLength"),
        ({**WORD, "maxWords": 0}, "answer.word: maxWords must be a number of words"),
        ({**WORD, "pattern": "a+"}, "answer.word: pattern: not allowed; of a string, description, enum"),
        ({"type": "array", "items": WORD, "description": "Some"}, "answer.word: an array needs maxItems"),
        ({"type": "array", "maxItems": 2, "description": "Some"}, "answer.word: an array needs items"),
        ({"type": "integer", "description": "Some"}, "answer.word: a number needs minimum and maximum"),
        (
            {"type": "integer", "minimum": 0, "maximum": 2**60, "description": "Some"},
            "answer.word: a number needs minimum and maximum, of at most 2",
        ),
        ({"type": "string", "maxLength": 9}, "answer.word: description is missing"),
        (
            {"$ref": "holocron:moods", "description": "A mood"},
            r"answer.word: \$ref 'holocron:moods' is not known",
        ),
        ({"$ref": "#/$defs/x", "description": "A mood"}, "is not known; there are holocron:page_types"),
        ({"type": "text", "description": "A word"}, "answer.word: type must be one of string"),
        ({"type": "object", "description": "A thing"}, "answer.word: an object needs properties"),
        ({"type": "string", "enum": [1], "description": "One"}, "answer.word: enum must be a list of texts"),
        ("text", "answer.word: must be a mapping"),
        ({**WORD, "minLength": 5, "maxLength": 4}, "answer.word: minLength is more than maxLength"),
        (
            {"type": "array", "items": WORD, "minItems": 3, "maxItems": 2, "description": "Some"},
            "answer.word: minItems is more than maxItems",
        ),
        (nested(100), "answer.word.*: is nested more than 8 deep"),
    ],
)
def test_what_a_column_or_a_server_cannot_hold_is_refused(part: Any, problem: str) -> None:
    with pytest.raises(AnswerSchemaError, match=problem):
        read_answer_schema(an_object({"word": part}))


def test_items_that_may_be_null_are_refused() -> None:
    items = {"type": ["string", "null"], "maxLength": 9}
    with pytest.raises(AnswerSchemaError, match=r"answer.words\[\]: an item cannot be null"):
        read_answer_schema(
            an_object({"words": {"type": "array", "maxItems": 2, "items": items, "description": "Some"}})
        )


@pytest.mark.parametrize("name", ["from", "Word", "a-b", "1st", "select"])
def test_a_name_that_sql_cannot_read_is_refused(name: str) -> None:
    with pytest.raises(AnswerSchemaError, match="is no name for a column"):
        read_answer_schema(an_object({name: WORD}))


def test_an_answer_is_an_object() -> None:
    with pytest.raises(AnswerSchemaError, match="answer: must be an object"):
        read_answer_schema(WORD)


def test_a_requirement_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(AnswerSchemaError, match="required must be a list of its properties"):
        read_answer_schema(an_object({"word": WORD}, ["sentence"]))


def test_an_answer_takes_the_types_of_its_columns() -> None:
    schema = read_answer_schema(
        an_object(
            {
                "word": WORD,
                "count": {"type": "integer", "minimum": 0, "maximum": 9, "description": "How many"},
                "weight": {**NUMBER, "description": "How heavy"},
                "left_out": WORD,
            },
            ["word", "count", "weight"],
        )
    )
    said = fitting({"word": "half a \ud83d pair", "count": 3.0, "weight": 1}, schema)
    assert said == {"word": "half a ? pair", "count": 3, "weight": 1.0, "left_out": None}
    assert [type(value) for value in said.values()] == [str, int, float, type(None)]


def test_a_sample_answer_fits_its_schema() -> None:
    schema = read_answer_schema(
        an_object(
            {
                "words": {
                    "type": "array",
                    "maxItems": 2,
                    "items": an_object({"word": WORD}),
                    "description": "x",
                }
            }
        )
    )
    assert sample_answer(schema) == {"words": [{"word": "text"}]}


def test_a_server_is_not_asked_for_counts_that_are_too_large_for_its_grammar() -> None:
    long = {"type": "string", "minLength": 1, "maxLength": 2000, "description": "A text"}
    many = {"type": "array", "maxItems": 2000, "items": WORD, "description": "Words"}
    few = {"type": "array", "maxItems": 1999, "items": long, "description": "Texts"}
    schema = read_answer_schema(an_object({"long": long, "many": many, "few": few}))
    sent = enforceable(schema)["properties"]
    assert sent["long"] == {"type": "string", "minLength": 1, "description": "A text"}
    assert sent["many"] == {"type": "array", "items": WORD, "description": "Words"}
    assert sent["few"] == {**few, "items": sent["long"]}
    assert schema["properties"]["long"] == long, "the answer is still checked"
