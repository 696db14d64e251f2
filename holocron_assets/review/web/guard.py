"""Protection against forged decisions, beyond `loopback_guard`: strict headers, and a token in every form."""

import hashlib
import hmac
import secrets
from http import HTTPStatus

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_SECRET = secrets.token_bytes(32)
"""New in each process: a token of another process is not valid here."""
_SESSION = secrets.token_urlsafe(32)
"""Of browsers that bring none yet. With a session of its own, each of the tabs that a browser opens together
would have a token that only its own cookie fits, and the last cookie is kept. A token is no secret from who
can read our pages: they can send forms by themselves. Pages of other sites cannot read ours."""

_LARGEST_FORM = 64 * 1024
_TOO_LARGE = (
    "The form is larger than 64 KiB, or its request does not say how large it is. Nothing was recorded: "
    "shorten the text and send it again."
)
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # Not no-referrer: browsers would then send "null" as the origin of our own forms.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer: pages run only their own scripts, and no cache keeps them."""


def session_of(request: Request) -> str:
    """The browser's session; that of all who have none yet if it brings none."""
    return request.cookies.get(_cookie(request)) or _SESSION


def keep_session(request: Request, response: Response, session: str) -> None:
    """Set the session's cookie: no script can read it, and no form of another site sends it.

    A link of another site does send it (`lax`). Else who followed one would get a new session, in which the
    forms of pages that are open already would be refused.
    """
    response.set_cookie(_cookie(request), session, httponly=True, samesite="lax")


def token_of(session: str) -> str:
    """The token that every form of a session carries."""
    return hmac.new(_SECRET, session.encode(), hashlib.sha256).hexdigest()


async def checked_form(request: Request) -> FormData:
    """The fields of a form that one of our own pages sent.

    Raises:
        HTTPException: it carries no token of this session, or it is too large.
    """
    headers = request.headers
    length = headers.get("content-length", "")
    if not length.isdecimal() or int(length) > _LARGEST_FORM:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE)
    form = await request.form()
    session, token = request.cookies.get(_cookie(request), ""), str(form.get("token", ""))
    if not session or not hmac.compare_digest(token.encode(), token_of(session).encode()):
        raise HTTPException(
            HTTPStatus.FORBIDDEN,
            "The form is not of this session: `holocron web` was started anew, or cookies are off. Load the "
            "page again and decide once more; nothing was recorded.",
        )
    return form


def _cookie(request: Request) -> str:
    """Named by port, since a browser gives cookies to every port of a host."""
    return f"holocron-{request.url.port or 80}"
