"""What keeps others out: names of this machine only, own pages only, a token with every form."""

import hashlib
import hmac
import secrets
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names that this machine goes by for itself."""

_SECRET = secrets.token_bytes(32)
"""Made anew with each process: a token of another one is worth nothing here."""

_LARGEST_FORM = 64 * 1024
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # Not no-referrer: browsers would call the origin of our own forms "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests that came under a name that is not this machine's, and seals every answer.

    A browser sends no page of another site here by this machine's own names. Under another name it may: any
    site's name can be made to mean 127.0.0.1.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Guard an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421."""

        async def send_sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if scope["type"] == "http" and _host(f"//{Headers(scope=scope).get('host', '')}") not in OWN_NAMES:
            refusal = PlainTextResponse(
                "Holocron answers to this machine only: open it as http://127.0.0.1 with its port.\n",
                HTTPStatus.MISDIRECTED_REQUEST,
            )
            await refusal(scope, receive, send_sealed)
            return
        await self._app(scope, receive, send_sealed)


def session_of(request: Request) -> str:
    """The browser's session; a new one if it has none yet."""
    return request.cookies.get(_cookie(request)) or secrets.token_urlsafe(32)


def keep_session(request: Request, response: Response, session: str) -> None:
    """Have the browser keep its session: no script reads it, and no other site's page sends it."""
    response.set_cookie(_cookie(request), session, httponly=True, samesite="strict")


def token_of(session: str) -> str:
    """What every form of a session's pages carries."""
    return hmac.new(_SECRET, session.encode(), hashlib.sha256).hexdigest()


async def checked_form(request: Request) -> FormData:
    """The fields of a form that one of our own pages sent.

    Raises:
        HTTPException: another site sent it, it carries no token of this session, or it is too large.
    """
    headers = request.headers
    if headers.get("origin", _origin(request)) != _origin(request):
        raise HTTPException(HTTPStatus.FORBIDDEN, "The form came from a page of another site.")
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise HTTPException(HTTPStatus.FORBIDDEN, "The form came from a page of another site.")
    length = headers.get("content-length", "")
    if not length.isdecimal() or int(length) > _LARGEST_FORM:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "A form says how long it is, up to 64 KiB.")
    form = await request.form()
    session, token = request.cookies.get(_cookie(request), ""), str(form.get("token", ""))
    if not session or not hmac.compare_digest(token.encode(), token_of(session).encode()):
        raise HTTPException(
            HTTPStatus.FORBIDDEN,
            "The form is not of this session: `holocron web` was started anew, or cookies are off. Load the "
            "page again and decide once more; nothing was recorded.",
        )
    return form


def _origin(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers.get('host', '')}"


def _cookie(request: Request) -> str:
    """Named by port, since a browser gives cookies to every port of a host."""
    return f"holocron-{request.url.port or 80}"


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # as of half an address in brackets
        return None
