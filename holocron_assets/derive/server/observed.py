"""A log line and a span for each request to the model server, with the id that the client gave."""

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
    """An application that logs its requests; those that only read (GET) at level debug."""

    def __init__(self, app: ASGIApp) -> None:
        """Log what `app` answers."""
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
                log = _LOG.debug if method == "GET" else _LOG.info
                milliseconds = round((perf_counter() - started) * 1000)
                log("answered", path=scope["path"], status=status, milliseconds=milliseconds)
