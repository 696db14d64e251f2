"""Reading what a model wrote: every way that is allowed, and nothing that is no data."""

import json
from contextlib import suppress
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.engine.replies import (
    InvalidAnswerError,
    MalformedReplyError,
    RefusedValueError,
    check_answer,
    read_reply,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "enum": ["Character", "Droid"]},
        "summary": {"type": "string", "maxLength": 400, "maxWords": 5},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 6}},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "born": {"type": "string", "format": "date"},
    },
}


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ('{"a": 1}', "direct"),
        ('\n {"a": 1}\n', "direct"),
        ('\ufeff{"a": 1}\u200b', "trimmed"),
        ('\u00a0{"a": 1}\0', "trimmed"),
        ('```json\n{"a": 1}\n```', "fenced"),
        ('```\r\n{"a": 1}\r\n```\r\n', "fenced"),
        ('``` {"a": 1} ```', "fenced"),
        ('Here you are:\n```JSON\n{"a": 1}\n```\nAnything else?', "fenced"),
        ('{"a": 1} I hope that helps!', "repaired"),
        ("{'a': 1,}", "repaired"),
        ('{"a": 1', "repaired"),
        ('```json\n{"a": 1}', "repaired"),
        ('{"a": 1 // metres\n}', "repaired"),
        ("{a: 1}", "repaired"),
    ],
)
def test_a_reply_is_read_the_strictest_way_that_works(text: str, strategy: str) -> None:
    assert read_reply(text) == ({"a": 1}, strategy)


@pytest.mark.parametrize(
    "piece", ["{", "[", '{"a":', '[{"a":"x"y"},', '{"a": ["b, c: d', "a", '"', '","', "'"]
)
@pytest.mark.parametrize("length", [12_000, 49_000, 400_000])
def test_no_reply_keeps_the_repair_busy(piece: str, length: int) -> None:
    began = process_time()
    with suppress(MalformedReplyError):
        read_reply(piece * (length // len(piece)))
    assert process_time() - began < 3


def test_a_long_list_is_repaired() -> None:
    rows = [{"name": f"Place {number}", "aliases": ["A", "B"], "quote": "word " * 8} for number in range(200)]
    text = json.dumps({"rows": rows})
    assert read_reply(text.removesuffix("}")) == ({"rows": rows}, "repaired")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("   ", "no JSON object"),
        ("I am sorry.", "no JSON object"),
        ("[1, 2]", "a list, not an object"),
        ('"text"', "a text, not an object"),
        ("true", "a truth value, not an object"),
        ("12", "a number, not an object"),
        ("null", "nothing, not an object"),
        ('{"a": 1}{"b": 2}', "several objects"),
        ("[" * 100_000, "no JSON object"),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": [-Infinity]}', "holds -Infinity"),
        ('{"a": 1e999}', "too large for a number"),
        ('{"a": 1, "a": 2}', "says 'a' twice"),
        ('{"b": {"a": 1, "a": 1}}', "says 'a' twice"),
        ('```json\n{"a": 1, "a": 2}\n```', "says 'a' twice"),
        ('{"a": ' + "9" * 5000 + "}", "too large for a number"),
    ],
)
def test_what_is_no_object_is_refused_and_says_why(text: str, problem: str) -> None:
    with pytest.raises(MalformedReplyError, match=problem):
        read_reply(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2} and so on',
        '{"a": NaN} and so on',
        '{"a": 1, "a": 2,}',
        "{'a': 1, 'a': 2}",
        "{a: 1, 'b': [{c: 2, c: 3}]}",
        '{"a": 12 000 m}',
        '{"a": 1 000, "b": "Vos"}',
        '{"a": 5 - 7}',
        '{"a": null or 5}',
    ],
)
def test_no_repair_chooses_between_two_values(text: str) -> None:
    with pytest.raises(MalformedReplyError):
        read_reply(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}{"a": 2}',
        '{"a": 1} or {"a": 2}',
        'So: {"a": 1}\n{"a": 2',
        '{"a": 1,} or {"a": 2}',
        "{'a': 1}\n{'a': 2}",
    ],
)
def test_two_objects_are_not_chosen_between(text: str) -> None:
    with pytest.raises(MalformedReplyError, match="several objects"):
        read_reply(text)


def test_two_fenced_blocks_are_not_chosen_between() -> None:
    with pytest.raises(MalformedReplyError):
        read_reply('```json\n{"a": 1}\n```\nor\n```json\n{"a": 2}\n```')


WHOLE_NUMBERS = st.integers(-(10**18) + 1, 10**18 - 1)


@given(st.dictionaries(st.text(), st.none() | st.booleans() | WHOLE_NUMBERS | st.text(), max_size=4))
def test_what_json_says_is_what_is_read(answer: dict[str, Any]) -> None:
    text = json.dumps(answer)
    assert read_reply(text) == (answer, "direct")
    assert read_reply(f"Well:\n```json\n{text}\n```\n")[0] == answer


@given(st.text() | st.text('{}[]":,`\n\\ab1'))
def test_any_text_is_an_object_or_refused(text: str) -> None:
    try:
        answer, _ = read_reply(text)
    except MalformedReplyError as error:
        assert str(error)  # noqa: PT017 - most texts are refused, and all with a reason
    else:
        json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ({}, "answer: 'type' is a required property"),
        ({"type": "Charcter"}, "answer.type: 'Charcter' is not one of"),
        ({"type": "Droid", "more": 1}, "answer: Additional properties are not allowed"),
        ({"type": "Droid", "summary": "one two three four five six"}, "answer.summary: has 6 words"),
        ({"type": "Droid", "summary": "x" * 401}, "answer.summary: .* is too long"),
        ({"type": "Droid", "tags": ["a", "b", "c"]}, "answer.tags: .* is too long"),
        ({"type": "Droid", "tags": ["a", "toolong"]}, "answer.tags.1: 'toolong' is too long"),
        ({"type": "Droid", "confidence": 1.5}, "answer.confidence: 1.5 is greater than"),
        ({"type": "Droid", "confidence": "high"}, "answer.confidence: 'high' is not of type 'number'"),
        ({"type": "Droid", "born": "yesterday"}, "answer.born: 'yesterday' is not a 'date'"),
        ({"type": None}, "answer.type: None is not"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_by_its_place(answer: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidAnswerError, match=place):
        check_answer(answer, SCHEMA)


def test_an_answer_that_fits_passes() -> None:
    check_answer({"type": "Droid", "summary": "one two three four five", "born": "2026-01-31"}, SCHEMA)


def test_a_long_wrong_value_is_not_repeated_in_full() -> None:
    with pytest.raises(InvalidAnswerError) as caught:
        check_answer({"type": "x" * 5000}, SCHEMA)
    assert len(str(caught.value)) < 400


def test_a_refused_value_is_a_malformed_reply() -> None:
    assert issubclass(RefusedValueError, MalformedReplyError)
