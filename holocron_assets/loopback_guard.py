"""What keeps others out of every web face: names of this machine only, and no page of another site.

Listening on loopback keeps other machines out, but not a browser on this one: any site's page can have it
send requests here, and any site's name can be made to mean 127.0.0.1.
"""

from collections.abc import Mapping
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
_SCHEMES = {"ws": "http", "wss": "https"}
"""A page's origin speaks of the page, which came by HTTP, also where it asks for a WebSocket."""


class OwnMachineOnly:
    """Refuses requests and WebSockets that come under another name or from another site's page.

    The headers of every answer, also of refusals, forbid browsers to show it in a page of another site.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        """Guard an application.

        Args:
            app: what is guarded.
            headers: more of them, for every answer.
        """
        self._app, self._headers = app, {**_SEALS, **headers}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""

        async def send_sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        refusal = None if scope["type"] == "lifespan" else _refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_sealed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})  # before it is accepted: the server answers 403
        else:
            await refusal(scope, receive, send_sealed)


def _refusal(scope: Scope) -> PlainTextResponse | None:
    hosts = Headers(scope=scope).getlist("host")
    # A target that names a host itself would outrank the header; no browser sends one but to a proxy.
    if len(hosts) != 1 or _name(hosts[0]) not in OWN_NAMES or not scope["path"].startswith(("/", "*")):
        return PlainTextResponse(_OTHER_NAME, HTTPStatus.MISDIRECTED_REQUEST)
    if _is_of_another_site(scope, hosts[0]):
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


def _name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:  # as of half an address in brackets
        return None
