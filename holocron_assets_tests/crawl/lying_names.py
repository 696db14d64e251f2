"""A name server that says what a test wants, listeners that note connections, and a wire to stand-ins."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from holocron_assets.crawl.http import connections

PUBLIC = "93.184.216.34"
PUBLIC_V6 = "2606:2800:220:1::1"
NOBODY = ""
"""At an address whose packets are lost on the way."""


@dataclass
class Names:
    """What names lead to. Of several answers each counts once, and the last one from then on.

    Attributes:
        answers: for each name its answers, each a list of addresses.
        asked: the names that were looked up.
    """

    answers: Mapping[str, list[list[str]]]
    asked: list[str] = field(default_factory=list)

    async def getaddrinfo(self, _loop: Any, host: str, port: int, **_wishes: Any) -> list[Any]:
        """Stand in for the event loop's method."""
        self.asked.append(host)
        if host not in self.answers:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        rounds = self.answers[host]
        addresses = rounds.pop(0) if len(rounds) > 1 else rounds[0]
        return [_entry(address, port) for address in addresses]


def _entry(address: str, port: int) -> tuple[int, int, int, str, tuple[Any, ...]]:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))


def lying_names(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, list[list[str]]]) -> Names:
    """Have names lead where a test wants, for every event loop."""
    names = Names(answers)

    async def getaddrinfo(loop: Any, host: str, port: int, **controls: Any) -> list[Any]:
        return await names.getaddrinfo(loop, host, port, **controls)

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return names


class Wire:
    """The Internet: a connection to a public address reaches what a test has put there.

    Attributes:
        connected: the addresses that were connected to, as given to the system.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, there: Mapping[str, str]) -> None:
        """Put an address of loopback at each public one; the others are as they are."""
        self.connected: list[str] = []
        connected = connections.connected

        async def to_what_is_there(address: str, port: int, *more: Any) -> Any:
            self.connected.append(address)
            if there.get(address) == NOBODY:
                await anyio.sleep_forever()
            return await connected(there.get(address, address), port, *more)

        monkeypatch.setattr(connections, "connected", to_what_is_there)


@dataclass
class Listener:
    """A socket that listens, and takes what comes without a word.

    Attributes:
        port: its port.
        came: the first bytes of each connection that was made to it.
    """

    port: int
    came: list[bytes] = field(default_factory=list)


@contextmanager
def listening(address: str = "127.0.0.1") -> Iterator[Listener]:
    """Listen on an address of loopback, any port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:
        listener = Listener(server.getsockname()[1])

        def take() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(2)
                    listener.came.append(connection.recv(4096))

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        try:
            yield listener
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=5)
