"""The client of a model server, with bounds: what answers there is not trusted to be one.

The official client reads a reply to its end, however long that is, unpacks what is packed, and goes wherever
it is sent. Prompts would follow a redirect to a place that nobody named, and a reply could fill the memory.
"""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx

from holocron_assets.derive.engine.official_client import ollama
from holocron_assets.telemetry.context import request_id
from holocron_assets.telemetry.spans import trace_parent

MOST_BYTES = 16 * 1024 * 1024
"""Of one reply, in all; that of 16,000 tokens has 3 MB, each in a line of its own."""

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class UnreadableReplyError(ValueError):
    """A reply that no model server gives: it is too long, packed, or not whole."""


def open_client(url: str) -> ollama.AsyncClient:
    """The official client of the server at a URL. A proxy knows nothing of this machine's own ports."""
    host = urlsplit(url if "://" in url else f"//{url}").hostname
    return ollama.AsyncClient(
        host=url,
        trust_env=host not in _LOOPBACK,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"request": [_name], "response": [_bound]},
    )


def is_unreachable(error: Exception) -> bool:
    """Whether an error of the client means that nothing listens there: no request was sent."""
    return isinstance(error, ConnectionError | httpx.ConnectError | httpx.ConnectTimeout)


async def _name(request: httpx.Request) -> None:
    """Let the server know the call by the id that our lines and tables have, and by its span."""
    if known := request_id():
        request.headers["X-Request-ID"] = known
    if parent := trace_parent():
        request.headers["traceparent"] = parent


async def _bound(response: httpx.Response) -> None:
    """Bound a reply whose body was not read yet.

    Raises:
        UnreadableReplyError: it is packed, which it was asked not to be. Unpacked as a whole, a few KB can
            be a thousand times as many.
    """
    packed = response.headers.get("content-encoding", "identity")
    if packed != "identity":
        raise UnreadableReplyError(f"its reply is packed as {packed[:40]}")
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for some in self._stream:
            left -= len(some)
            if left < 0:
                raise UnreadableReplyError(f"its reply has more than {MOST_BYTES // 1024**2} MiB")
            yield some

    async def aclose(self) -> None:
        await self._stream.aclose()
