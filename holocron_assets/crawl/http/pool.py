"""Connections that stay open between requests, and what is said on them: HTTP/1.1, for one event loop.

An HTTP library's own pool takes two thirds of the processor time of a small request for its locks and traces.
"""

import ssl
import time
from asyncio import Semaphore
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, Self

import h11
import httpcore
from httpcore import AsyncNetworkBackend, AsyncNetworkStream

_READ_BYTES = 256 * 1024
_MOST_HEADER_BYTES = 100 * 1024
_PORTS = {"http": 80, "https": 443}

Headers = Sequence[tuple[bytes, bytes]]


class Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, scheme: str, host: str, port: int | None) -> "Origin":
        """The origin of an address; without a port, that of its scheme.

        Raises:
            httpcore.UnsupportedProtocol: the scheme is not http or https.
        """
        if scheme not in _PORTS:
            raise httpcore.UnsupportedProtocol(f"an address begins with http:// or https://, not {scheme!r}")
        return cls(scheme, host, port or _PORTS[scheme])


@dataclass(frozen=True)
class Outgoing:
    """A request as it is sent.

    Attributes:
        method: such as GET.
        origin: whom it is sent to.
        target: path and query.
        headers: all of them, Host too.
        body: what follows the headers.
    """

    method: str
    origin: Origin
    target: bytes
    headers: Headers
    body: bytes = b""


class Incoming:
    """An answer whose headers came. Iterating gives the parts of its body as they come, once.

    Attributes:
        status: its status.
        headers: its headers, their names in lower case.
    """

    def __init__(self, line: "_Line", status: int, headers: Headers) -> None:
        """Read the rest from `line`."""
        self.status, self.headers = status, headers
        self._line = line

    def __aiter__(self) -> Self:
        """Return the answer itself."""
        return self

    async def __anext__(self) -> bytes:
        """The next bytes of the body.

        Raises:
            httpcore.NetworkError, h11.RemoteProtocolError: the rest does not come.
        """
        event = await self._line.next_event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        raise StopAsyncIteration

    @property
    def behind(self) -> bytes:
        """Bytes that came after the end of the answer."""
        return self._line.behind


class _Line:
    """One connection, and what HTTP allows on it next."""

    def __init__(self, stream: AsyncNetworkStream) -> None:
        self._stream = stream
        self._speech = h11.Connection(h11.CLIENT, _MOST_HEADER_BYTES)
        self._expires_at = 0.0

    async def ask(self, request: Outgoing) -> Incoming:
        asked = h11.Request(method=request.method, target=request.target, headers=list(request.headers))
        parts = [asked, *([h11.Data(data=request.body)] if request.body else []), h11.EndOfMessage()]
        # A server may refuse a request before it has read it all, and its answer says why.
        with suppress(httpcore.WriteError):
            await self._stream.write(b"".join(self._speech.send(part) or b"" for part in parts))
        while isinstance(answer := await self.next_event(), h11.InformationalResponse):
            pass
        if not isinstance(answer, h11.Response):
            raise h11.RemoteProtocolError("the answer has no headers")
        return Incoming(self, answer.status_code, list(answer.headers))

    async def next_event(self) -> object:
        while (event := self._speech.next_event()) is h11.NEED_DATA:
            data = await self._stream.read(_READ_BYTES)
            if not data and self._speech.their_state is h11.SEND_RESPONSE:
                raise h11.RemoteProtocolError("Server disconnected without sending a response.")
            self._speech.receive_data(data)
        return event

    @property
    def behind(self) -> bytes:
        return self._speech.trailing_data[0]

    def rests(self, seconds: float) -> bool:
        """Let the connection wait for the next request, if it can have one; return whether it can."""
        if self._speech.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE} or self.behind:
            return False
        self._speech.start_next_cycle()
        self._expires_at = time.monotonic() + seconds
        return True

    def is_of_use(self, now: float) -> bool:
        """Whether a resting connection can have a request: what comes on it can only be its end."""
        return now < self._expires_at and not self._stream.get_extra_info("is_readable")

    async def close(self) -> None:
        await self._stream.aclose()


class Pool:
    """Connections to servers. Those that are idle are used again for a while."""

    def __init__(
        self, network: AsyncNetworkBackend, tls: ssl.SSLContext, *, most: int, kept_seconds: float
    ) -> None:
        """Start without connections.

        Args:
            network: connects.
            tls: says which certificates are trusted.
            most: connections at once.
            kept_seconds: how long a connection stays open while it is idle.
        """
        tls.set_alpn_protocols(["http/1.1"])
        self._network, self._tls = network, tls
        self._most, self._kept_seconds = most, kept_seconds
        self._room = Semaphore(most)
        self._in_use = 0
        self._idle: list[tuple[Origin, _Line]] = []
        """The one that rests longest comes first."""

    @asynccontextmanager
    async def answered(self, request: Outgoing) -> AsyncIterator[Incoming]:
        """Send a request, and give its answer; when the block ends, the connection is kept or closed.

        Raises:
            httpcore.NetworkError, h11.ProtocolError: there is no answer.
        """
        async with self._room:
            self._in_use += 1
            line = None
            try:
                line = await self._line_to(request.origin)
                yield await line.ask(request)
                if line.rests(self._kept_seconds):
                    self._idle.append((request.origin, line))
                    line = None
            finally:
                self._in_use -= 1
                if line:
                    await line.close()

    async def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop()[1].close()

    async def _line_to(self, origin: Origin) -> _Line:
        now = time.monotonic()
        useless = [one for one in self._idle if not one[1].is_of_use(now)]
        for one in useless:
            self._idle.remove(one)
            await one[1].close()
        for place in reversed(range(len(self._idle))):
            if self._idle[place][0] == origin:
                return self._idle.pop(place)[1]
        while self._idle and self._in_use + len(self._idle) > self._most:
            await self._idle.pop(0)[1].close()
        return _Line(await self._connected(origin))

    async def _connected(self, origin: Origin) -> AsyncNetworkStream:
        stream = await self._network.connect_tcp(origin.host, origin.port)
        if origin.scheme == "https":
            return await stream.start_tls(self._tls, origin.host)
        return stream
