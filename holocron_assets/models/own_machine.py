"""Nobody but this machine, and no page of a website that someone on it happens to look at."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_OWN_NAMES = {"127.0.0.1", "localhost"}


class OwnMachineOnly:
    """Refuses requests that came under another name, or from a page of another site.

    Listening on loopback keeps other machines out, but not a browser on this one: any site can have it send
    requests here, and a name of that site can be made to mean this machine.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Guard an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            named = [f"//{headers.get('host', '')}", headers.get("origin", "//localhost")]
            if not {_host(name) for name in named} <= _OWN_NAMES:
                refusal = JSONResponse({"error": "this server answers to this machine only"}, 403)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # as of half an address in brackets
        return None
