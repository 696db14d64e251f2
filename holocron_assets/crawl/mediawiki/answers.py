"""Reading an HTTP answer as the MediaWiki API's: its content, or why it is not from the API."""

import json
import re
from dataclasses import dataclass
from typing import Any

from holocron_assets.crawl.http.outcomes import HttpAnswer

JsonObject = dict[str, Any]

_MARKS = frozenset({"batchcomplete", "continue", "query"})
_SHOWN_BYTES = 120
_SHOWN_CHARACTERS = 300
# A thousand times as many values as a whole answer of fifty pages has.
_MOST_VALUES = 1_000_000
# A text up to its closing quote or the end. The quantifiers are possessive: otherwise a text that never
# closes would be tried again from each quote.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


@dataclass(frozen=True)
class ApiAnswer:
    """The API's answer.

    Attributes:
        content: the JSON object; None when the body is not the API's.
        error_code: the API's error code, if it reports one.
        problem: what went wrong, for people; None when nothing did.
        reason: always None: only requests for files have reasons.
    """

    content: JsonObject | None = None
    error_code: str | None = None
    problem: str | None = None
    reason: None = None

    @property
    def is_expected(self) -> bool:
        """Whether the API itself answered."""
        return self.content is not None

    @property
    def query(self) -> JsonObject:
        """The object under `query`; empty when there is none."""
        found = (self.content or {}).get("query")
        return found if isinstance(found, dict) else {}

    @property
    def next_continue(self) -> dict[str, str] | None:
        """The parameters that continue the query; None at its end."""
        found = (self.content or {}).get("continue")
        return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else None


def read_answer(answer: HttpAnswer) -> ApiAnswer:
    """Distinguish the API's answer from login pages, captchas and others (`action=query`, format version 2).

    Args:
        answer: the HTTP answer.

    Returns:
        The API's content, its error, or a description of what came instead.
    """
    if answer.error is not None:
        return ApiAnswer(problem=answer.error)
    try:
        content = _parsed(answer.body)
    except _NotTheApiError as refusal:
        return ApiAnswer(problem=_not_api(answer, str(refusal)))
    if fault := _fault(content):
        problem = f"API error {_shown(fault['code'])!r}: {_shown(str(fault.get('info', '')))}"
        return ApiAnswer(content, fault["code"], problem)
    return ApiAnswer(content)


class _NotTheApiError(Exception):
    pass


def _parsed(body: bytes) -> JsonObject:
    """The JSON object of a body that is the API's."""
    if _holds_too_many_values(body):
        raise _NotTheApiError(f"its body holds more than {_MOST_VALUES:,} values")
    try:
        content = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
        _refuse_lone_surrogates(body, content)
    except (ValueError, RecursionError) as error:
        raise _NotTheApiError(f"its body is not JSON ({type(error).__name__})") from error
    if not isinstance(content, dict):
        raise _NotTheApiError("its body is no JSON object")
    if not (_fault(content) or _MARKS & content.keys()):
        raise _NotTheApiError("its JSON is not that of the API")
    return content


def _fault(content: JsonObject) -> JsonObject | None:
    """The error that the API reports, if it reports one."""
    fault = content.get("error")
    return fault if isinstance(fault, dict) and isinstance(fault.get("code"), str) else None


def _holds_too_many_values(body: bytes) -> bool:
    # Python makes an object of 56 bytes of each empty list, which is three bytes long: a body within its
    # limit could fill the memory. Separators within texts do not count, but texts are removed only if that
    # matters.
    if _separators(body) <= _MOST_VALUES:
        return False
    return _separators(_TEXT.sub(b"", body)) > _MOST_VALUES


def _separators(json_text: bytes) -> int:
    return sum(json_text.count(mark) for mark in (b",", b"[", b"{"))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _refuse_lone_surrogates(body: bytes, content: object) -> None:
    # JSON can escape halves of characters. No column can hold them, and no wiki sends them.
    if b"\\ud" in body.lower():
        json.dumps(content, ensure_ascii=False).encode("utf-8")


def _not_api(answer: HttpAnswer, problem: str) -> str:
    reason = f"HTTP {answer.status}; {problem}"
    if location := answer.headers.get("location"):
        moved = "if the API moved there, put that address in the source file"
        return f"{reason}; it points to {_shown(location)!r}: {moved}"
    start = answer.body[:_SHOWN_BYTES].decode("utf-8", "replace")
    content_type = _shown(answer.headers.get("content-type", ""))
    return f"{reason}; content type {content_type!r}; it starts with {start!r}"


def _shown(text: str) -> str:
    """A peer's text, cut to the length that an error may have."""
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
