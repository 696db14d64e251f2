"""Reading an HTTP answer as the MediaWiki API's: what it says, or why it is not the API that speaks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holocron_assets.crawl.http import HttpAnswer

JsonObject = dict[str, Any]

_SHOWN_BYTES = 120


@dataclass(frozen=True)
class ApiAnswer:
    """What the API said.

    Attributes:
        content: the JSON object; None when the body is not the API's.
        error_code: the API's error code, if it reports one.
        problem: what went wrong, for people; None when nothing did.
    """

    content: JsonObject | None = None
    error_code: str | None = None
    problem: str | None = None

    @property
    def is_expected(self) -> bool:
        """Whether it was the API that spoke."""
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
    """Tell the API's answer from login pages, captchas and other bodies (`action=query`, format version 2).

    Args:
        answer: what HTTP brought.

    Returns:
        The API's content, its error, or what came in its place.
    """
    if answer.error is not None:
        return ApiAnswer(problem=answer.error)
    try:
        content = json.loads(answer.body.decode("utf-8"))
        _refuse_lone_surrogates(answer.body, content)
    except (ValueError, RecursionError) as error:
        return ApiAnswer(problem=_not_api(answer, f"its body is not JSON ({type(error).__name__})"))
    if not isinstance(content, dict):
        return ApiAnswer(problem=_not_api(answer, "its body is no JSON object"))
    fault = content.get("error")
    if isinstance(fault, dict) and isinstance(fault.get("code"), str):
        return ApiAnswer(content, fault["code"], f"API error {fault['code']!r}: {fault.get('info', '')}")
    if "batchcomplete" in content or "continue" in content or "query" in content:
        return ApiAnswer(content)
    return ApiAnswer(problem=_not_api(answer, "its JSON is not that of the API"))


def _refuse_lone_surrogates(body: bytes, content: object) -> None:
    # JSON can escape halves of characters. No column could hold them, and no wiki sends them.
    if b"\\ud" in body.lower():
        json.dumps(content, ensure_ascii=False).encode("utf-8")


def _not_api(answer: HttpAnswer, problem: str) -> str:
    told = f"HTTP {answer.status}; {problem}"
    if location := answer.headers.get("location"):
        return (
            f"{told}; it points to {location!r}: if the API moved there, put that address in the source file"
        )
    start = answer.body[:_SHOWN_BYTES].decode("utf-8", "replace")
    return f"{told}; content type {_content_type(answer.headers)!r}; it starts with {start!r}"


def _content_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "")
