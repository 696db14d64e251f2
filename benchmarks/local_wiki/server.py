"""A small HTTP server with a fixed latency: each answer leaves so long after its request came."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit

Answer = Callable[[str, Mapping[str, str]], bytes | None]
"""The JSON to answer a path and its parameters with; None where there is nothing."""

COUNT_PATH = "/counted"
_HEADERS_END = b"\r\n\r\n"


class WikiServer:
    """Serves on a port of loopback that the system chooses.

    Attributes:
        counted: requests served so far. `COUNT_PATH` gives it, at once and uncounted.
    """

    def __init__(self, answer: Answer, *, latency_seconds: float) -> None:
        """Answer with what `answer` gives, `latency_seconds` after each request."""
        self.counted = 0
        self._answer, self._latency_seconds = answer, latency_seconds

    async def start(self) -> tuple[asyncio.Server, int]:
        """Listen; give the server and its port."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        return server, server.sockets[0].getsockname()[1]

    def respond(self, target: str, form: str) -> tuple[float, bytes]:
        """Seconds to wait, and the whole answer, for a request's target and form."""
        address = urlsplit(target)
        if address.path == COUNT_PATH:
            return 0.0, _response(str(self.counted).encode())
        self.counted += 1
        parameters = dict(parse_qsl(f"{address.query}&{form}", keep_blank_values=True))
        return self._latency_seconds, _response(self._answer(address.path, parameters))


class _Connection(asyncio.Protocol):
    """One connection, one request after the other."""

    def __init__(self, server: WikiServer) -> None:
        self._server = server
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(_HEADERS_END)
        length = _content_length(head)
        if not end or len(rest) < length:
            return
        self._received = rest[length:]
        target = head.split(b" ", 2)[1].decode()
        wait, response = self._server.respond(target, rest[:length].decode())
        asyncio.get_running_loop().call_later(wait, self._send, response)

    def _send(self, response: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(response)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _response(body: bytes | None) -> bytes:
    status = b"404 Not Found" if body is None else b"200 OK"
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body or b"")) + (body or b"")


@contextmanager
def served(server: WikiServer) -> Iterator[str]:
    """Serve by a thread of this process for as long as the block lasts; give the address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="wiki", daemon=True)
    thread.start()
    listening, port = asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(listening.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
