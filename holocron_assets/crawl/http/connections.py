"""Connections on the event loop. They cost less processor time than the HTTP library's own."""

import asyncio
import ssl
from asyncio import BaseTransport, Protocol, Transport
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpcore
from httpcore import SOCKET_OPTION, AsyncNetworkStream

_MOST_WAITING_BYTES = 512 * 1024
"""Bytes that came and are not read yet; with more, the peer has to wait."""


class _Incoming(Protocol):
    """What comes on a connection, until it is read.

    Attributes:
        transport: sends bytes, and closes the connection.
        waiting: bytes that came and are not read yet.
        is_over: whether no more will come.
    """

    def __init__(self) -> None:
        self.transport: Transport
        self.waiting = bytearray()
        self.is_over = False
        self.error: Exception | None = None
        self.has_news, self.may_write = asyncio.Event(), asyncio.Event()
        self.may_write.set()
        self._is_paused = False

    def connection_made(self, transport: BaseTransport) -> None:
        self.transport = cast("Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        self.has_news.set()
        if len(self.waiting) > _MOST_WAITING_BYTES and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def eof_received(self) -> None:
        self.is_over = True
        self.has_news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over, self.error = True, exc
        self.has_news.set()
        self.may_write.set()

    def pause_writing(self) -> None:
        self.may_write.clear()

    def resume_writing(self) -> None:
        self.may_write.set()

    def taken(self, most: int) -> bytes:
        """Take bytes away, and let the peer send again."""
        block = bytes(self.waiting[:most])
        del self.waiting[:most]
        if self._is_paused and not self.waiting:
            self._is_paused = False
            self.transport.resume_reading()
        return block


class Connection(AsyncNetworkStream):
    """A connection to a server. It has no time limits of its own: the deadline of the request ends it."""

    def __init__(self, incoming: _Incoming) -> None:
        """Speak on an open connection; `connected` opens one."""
        self._incoming = incoming

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109 - the library's
        """The next bytes; none once the peer has closed.

        Raises:
            httpcore.ReadError: the connection broke.
        """
        incoming = self._incoming
        while not incoming.waiting:
            if incoming.error:
                raise httpcore.ReadError(str(incoming.error)) from incoming.error
            if incoming.is_over:
                return b""
            incoming.has_news.clear()
            await incoming.has_news.wait()
        return incoming.taken(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109 - the library's
        """Send bytes, and wait while too many of them have not left.

        Raises:
            httpcore.WriteError: the connection broke.
        """
        incoming = self._incoming
        if incoming.error or incoming.transport.is_closing():
            raise httpcore.WriteError(str(incoming.error or "the connection is closed"))
        incoming.transport.write(buffer)
        await incoming.may_write.wait()

    async def aclose(self) -> None:
        """Close at once; nothing that is of use is on its way."""
        self._incoming.transport.abort()
        await asyncio.sleep(0)  # for the event loop to close the socket

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - the library's
    ) -> AsyncNetworkStream:
        """Encrypt what follows.

        Raises:
            httpcore.ConnectError: the peer does not agree, or its certificate is not trusted.
        """
        incoming, loop = self._incoming, asyncio.get_running_loop()
        try:
            with _connect_errors():
                made = await loop.start_tls(
                    incoming.transport, incoming, ssl_context, server_hostname=server_hostname
                )
        except BaseException:
            await self.aclose()
            raise
        if made is None:
            raise httpcore.ConnectError("the connection was closed before it was encrypted")
        incoming.transport = made
        return self

    def get_extra_info(self, info: str) -> Any:
        """What the library asks of a connection: whether bytes or its end came, and facts of its socket."""
        incoming = self._incoming
        if info == "is_readable":
            return bool(incoming.waiting) or incoming.is_over or incoming.transport.is_closing()
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return incoming.transport.get_extra_info(names.get(info, info))


async def connected(
    address: str,
    port: int,
    local_address: str | None = None,
    socket_options: Iterable[SOCKET_OPTION] | None = None,
) -> Connection:
    """A connection to an address.

    Raises:
        httpcore.ConnectError: nobody answers there.
    """
    local = (local_address, 0) if local_address else None
    with _connect_errors():
        loop = asyncio.get_running_loop()
        transport, incoming = await loop.create_connection(_Incoming, address, port, local_addr=local)
    for option in socket_options or ():
        transport.get_extra_info("socket").setsockopt(*option)
    return Connection(incoming)


@contextmanager
def _connect_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:  # errors of TLS are of this kind too
        raise httpcore.ConnectError(str(error)) from error
