"""What a model wrote, read as an answer; and quotes, searched for in a text."""

import json
from pathlib import Path
from typing import Any

from holocron_assets.derive.engine.replies import (
    InvalidAnswerError,
    MalformedReplyError,
    check_answer,
    read_reply,
)
from holocron_assets.derive.evidence.quotes import find_quote, is_quoted
from holocron_assets.derive.interrogations.answer_schema import columns_of, fitting, read_answer_schema
from holocron_assets.lake.declaration.schema import Table

_SCHEMA_FILE = Path(__file__).parents[2] / "data" / "interrogations" / "entity_facts" / "schema.json"
SCHEMA = read_answer_schema(json.loads(_SCHEMA_FILE.read_text(encoding="utf-8")))
_ANSWERS = Table("answers", "test", "Answers", (), columns_of(SCHEMA))
_PART = "\0"
"""Parts a quote from the text in which it is searched for."""


def check_reply(data: bytes) -> None:
    """Read a reply: it is an object, and the same when it is said again plainly, or no data at all."""
    text = data.decode("utf-8", "replace")
    try:
        answer, how = read_reply(text)
    except MalformedReplyError:
        return
    assert read_reply(json.dumps(answer)) == (answer, "direct"), how
    _check_fit(answer)
    _check_fit({"facts": [answer]})


def _check_fit(answer: dict[str, Any]) -> None:
    """What fits the schema fits the table that is made of it."""
    try:
        check_answer(answer, SCHEMA)
    except InvalidAnswerError:
        return
    _ANSWERS.to_arrow([fitting(answer, SCHEMA)], "sample-000001")


def check_quote(data: bytes) -> None:
    """Search for a quote in a text: it is inside, and what stands there is found again."""
    quote, _, text = data.decode("utf-8", "replace").partition(_PART)
    for wanted in (quote, text):
        found = find_quote(wanted, text)
        assert (found is not None) == is_quoted(wanted, text)
        if found is not None:
            assert 0 <= found.start < found.end <= len(text)
            assert is_quoted(text[found.start : found.end], text)
