"""What the model server tells of each question: a line and a span, under the id that whoever asks gave it."""

from time import perf_counter

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holocron_assets.telemetry.context import about
from holocron_assets.telemetry.logs import logger
from holocron_assets.telemetry.spans import failed, span

_LONGEST_ID = 64
_SERVER_ERROR = 500
_LOG = logger(__name__)


class Observed:
    """An application that tells of what it is asked to do. Looks (GET) are told of to who wants to debug."""

    def __init__(self, app: ASGIApp) -> None:
        """Tell of what `app` answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; see the ASGI specification."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, method = Headers(scope=scope), scope["method"]
        known = headers.get("x-request-id", "")[:_LONGEST_ID] or None
        status, started = 0, perf_counter()

        async def answer(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        attributes = {"http.request.method": method, "url.path": scope["path"], "holocron.request_id": known}
        parent = headers.get("traceparent")
        with about(request_id=known), span(method, "server", attributes, parent=parent) as made:
            try:
                await self._app(scope, receive, answer)
            finally:
                made.set_attribute("http.response.status_code", status)
                if status >= _SERVER_ERROR:
                    failed(made, str(status), None)
                tell = _LOG.debug if method == "GET" else _LOG.info
                milliseconds = round((perf_counter() - started) * 1000)
                tell("answered", path=scope["path"], status=status, milliseconds=milliseconds)
