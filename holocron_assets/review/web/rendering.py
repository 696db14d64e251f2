"""Renders pages from templates. Values are escaped, and cannot change the text around them."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from holocron_assets.review.web.guard import keep_session, session_of, token_of

_DIRECTION_MARKS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
_CONTROLS = (number for number in (*range(0x20), *range(0x7F, 0xA0)) if chr(number) not in "\n\r\t")
_SHOWN_AS = {
    **dict.fromkeys(_CONTROLS, "\ufffd"),
    # Letters run as their script does; a page must not turn the direction of the text around it.
    **dict.fromkeys(_DIRECTION_MARKS, "\ufffd"),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}


def render(
    request: Request, template: str, values: Mapping[str, Any], status: int = HTTPStatus.OK
) -> Response:
    """Render a page.

    Args:
        request: the request to answer.
        template: name of a file in `templates/`.
        values: the template's values.
        status: the HTTP status.
    """
    session = session_of(request)
    text = _environment().get_template(template).render(token=token_of(session), **values)
    response = HTMLResponse(text, status)
    keep_session(request, response, session)
    return response


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("holocron_assets.review.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"moment": _moment, "query": _query, "share": _share, "many": _many}
    return environment


def plain(value: object) -> object:
    """A text without invisible characters that change how others are shown; other values as they are."""
    return value.translate(_SHOWN_AS) if type(value) is str else value


def _moment(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M}"


def _share(value: float) -> str:
    return f"{value:.2f}"


def _many(value: int) -> str:
    return f"{value:,}"


def _query(values: Mapping[str, Any], **others: Any) -> str:
    """The query of an address, with its question mark; empty if it has no parameters."""
    given = {name: value for name, value in {**values, **others}.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""
