"""The client of a model server, with limits: another program may answer at that address.

The official client reads a reply of any length to its end, unpacks packed replies, and follows redirects. A
redirect could send prompts to a place that no person named, and a reply could fill the memory.
"""

from collections.abc import AsyncIterator
from functools import cache
from urllib.parse import urlsplit

import httpx

from holocron_assets.crawl.http.outcomes import retry_after_seconds
from holocron_assets.derive.engine.official_client import ollama
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.telemetry.context import request_id
from holocron_assets.telemetry.spans import trace_parent

MOST_BYTES = 16 * 1024 * 1024
"""The most bytes of one reply. A reply of 16,000 tokens has 3 MB, with a line for each token."""

_tls_context = cache(httpx.create_ssl_context)
"""Certificates for clients of this machine. To read them takes 20 ms, and a run makes several clients."""

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class UnreadableReplyError(ValueError):
    """A reply that no model server sends: too long, packed, or incomplete."""


def open_client(url: str) -> ollama.AsyncClient:
    """The official client of the server at a URL. It uses no proxy for this machine's own ports."""
    host = urlsplit(url if "://" in url else f"//{url}").hostname
    is_local = host in _LOOPBACK
    return ollama.AsyncClient(
        host=url,
        trust_env=not is_local,
        verify=_tls_context(trust_env=False) if is_local else True,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"request": [_name], "response": [_bound]},
    )


def is_unreachable(error: Exception) -> bool:
    """Whether an error of the client means that nothing listens there: no request was sent."""
    return isinstance(error, ConnectionError | httpx.ConnectError | httpx.ConnectTimeout)


def is_broken_connection(error: Exception) -> bool:
    """Whether an error of the client means that a connection ended during a request."""
    return isinstance(error, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError)


def wait_asked(error: Exception) -> float:
    """Seconds that the answer behind an error asks to wait (`Retry-After`); 0 if it asks for none."""
    answered = error.__context__  # the client passes on the status alone
    if not isinstance(answered, httpx.HTTPStatusError):
        return 0.0
    headers = {name.lower(): value for name, value in answered.response.headers.items()}
    return retry_after_seconds(headers, utc_now().timestamp()) or 0.0


async def _name(request: httpx.Request) -> None:
    """Send the server the id of the call, as in log lines and tables, and the call's span."""
    if known := request_id():
        request.headers["X-Request-ID"] = known
    if parent := trace_parent():
        request.headers["traceparent"] = parent


async def _bound(response: httpx.Response) -> None:
    """Limit the size of a reply whose body was not read yet.

    Raises:
        UnreadableReplyError: it is packed, though the request forbids that. A few packed KB can hold a
            thousand times as much.
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
