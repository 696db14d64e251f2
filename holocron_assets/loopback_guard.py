"""What keeps others out of every web face: names of this machine only, and no page of another site.

Listening on loopback keeps other machines out, but not a browser on this one: any site's page can have it
send requests here, and any site's name can be made to mean 127.0.0.1.
"""

import base64
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names that this machine goes by for itself."""

_SEALS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_OTHER_NAME = "Holocron answers to this machine only: open it as http://127.0.0.1 with its port.\n"
_OTHER_SITE = "The request came from a page of another site. Nothing was done.\n"
_UNKNOWN = "Give the token of HOLOCRON_WEB_TOKEN: as a bearer, or as the password of any user.\n"
_AUTHENTICATE = 'Basic realm="Holocron", charset="UTF-8"'
_SCHEMES = {"ws": "http", "wss": "https"}
"""A page's origin speaks of the page, which came by HTTP, also where it asks for a WebSocket."""


@dataclass(frozen=True)
class Shared:
    """What a program in the browser on this machine may read too, such as OpenRefine.

    Attributes:
        path: a path that changes nothing; those below it are shared as well.
        origins: of the programs' pages, as `own_origin` gives them. A person named each.
    """

    path: str
    origins: frozenset[str]

    def covers(self, scope: Scope) -> bool:
        """Whether a request asks for what is shared."""
        path = scope["path"]
        return bool(self.origins) and (path == self.path or path.startswith(f"{self.path}/"))


NOTHING_SHARED = Shared("/", frozenset())


class OwnMachineOnly:
    """Refuses requests and WebSockets that come under another name or from another site's page.

    The headers of every answer, also of refusals, forbid browsers to show it in a page of another site.
    """

    def __init__(
        self,
        app: ASGIApp,
        headers: Mapping[str, str] = _NO_HEADERS,
        shared: Shared = NOTHING_SHARED,
        token: str | None = None,
    ) -> None:
        """Guard an application.

        Args:
            app: what is guarded.
            headers: more of them, for every answer.
            shared: what pages of other origins on this machine may read.
            token: what each request must carry, where other machines may ask, by any name; see `carries`.
        """
        self._app, self._headers, self._shared = app, {**_SEALS, **headers}, shared
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""

        async def send_sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                found.update(self._headers)
                if scope["type"] == "http" and self._shared.covers(scope):
                    _unseal(found, scope, self._shared)
            await send(message)

        refusal = None if scope["type"] == "lifespan" else _refusal(scope, self._shared, self._token)
        if refusal is None:
            await self._app(scope, receive, send_sealed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})  # before it is accepted: the server answers 403
        else:
            await refusal(scope, receive, send_sealed)


def own_origin(text: str) -> str:
    """The origin of a program's pages on this machine, such as http://127.0.0.1:3333.

    Raises:
        ValueError: it is none, or is of another machine.
    """
    parts = urlsplit(text)
    origin = f"{parts.scheme}://{parts.netloc}"
    is_whole = parts.scheme in {"http", "https"} and text.rstrip("/") == origin and "@" not in origin
    if not is_whole or _name(parts.netloc) not in OWN_NAMES:
        raise ValueError(f"{text!r} is no origin of this machine, such as http://127.0.0.1:3333")
    return origin


def carries(headers: Headers, token: str) -> bool:
    """Whether a request carries a token: as a bearer, or as the password of whatever user a browser names."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.strip().encode(), token.encode())


def _refusal(scope: Scope, shared: Shared, token: str | None) -> PlainTextResponse | None:
    headers = Headers(scope=scope)
    hosts = headers.getlist("host")
    # A target that names a host itself would outrank the header; no browser sends one but to a proxy.
    is_whole = len(hosts) == 1 and scope["path"].startswith(("/", "*"))
    if not is_whole or (token is None and _name(hosts[0]) not in OWN_NAMES):
        return PlainTextResponse(_OTHER_NAME, HTTPStatus.MISDIRECTED_REQUEST)
    if token is not None and not carries(headers, token):
        return PlainTextResponse(_UNKNOWN, HTTPStatus.UNAUTHORIZED, {"www-authenticate": _AUTHENTICATE})
    if _is_of_another_site(scope, hosts[0]) and not _is_for_a_guest(scope, shared):
        return PlainTextResponse(_OTHER_SITE, HTTPStatus.FORBIDDEN)
    return None


def _is_of_another_site(scope: Scope, host: str) -> bool:
    """Whether a browser says so. What is no browser says nothing, and can reach this machine anyway."""
    headers = Headers(scope=scope)
    own = f"{_SCHEMES.get(scope['scheme'], scope['scheme'])}://{host}"
    if any(origin != own for origin in headers.getlist("origin")):
        return True
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    # A link on another site may be followed. Nothing but a page of its own shows what it leads to.
    followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return not (followed and scope.get("method") == "GET")


def _is_for_a_guest(scope: Scope, shared: Shared) -> bool:
    """Whether a page of a named origin asks for what is shared, or some page frames it.

    Which page may show the frame is said in the answer: the request of a frame does not name its origin.
    """
    if scope["type"] != "http" or not shared.covers(scope):
        return False
    headers = Headers(scope=scope)
    if origins := headers.getlist("origin"):
        return len(origins) == 1 and origins[0] in shared.origins
    framed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "iframe")
    return framed and scope.get("method") == "GET"


def _unseal(found: MutableHeaders, scope: Scope, shared: Shared) -> None:
    """Let pages of the named origins, and no others, read an answer and show it in a frame."""
    origin = Headers(scope=scope).get("origin")
    if origin in shared.origins:
        found["access-control-allow-origin"] = origin
    found.add_vary_header("origin")
    del found["x-frame-options"]  # it can name no origin
    policy = found.get("content-security-policy", "frame-ancestors 'none'")
    named = " ".join(sorted(shared.origins))
    found["content-security-policy"] = policy.replace("frame-ancestors 'none'", f"frame-ancestors {named}")


def _name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:  # as of half an address in brackets
        return None
