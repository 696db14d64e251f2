"""A file server on loopback, written by hand over sockets: it says what a test wants, byte for byte."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

Wire = socket.socket


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    verb: str
    path: str
    headers: Mapping[str, str]

    @property
    def start(self) -> int:
        """The first byte of its range; 0 if it asks for all."""
        return int(self.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0])


Behaviour = Callable[[Wire, Asked], None]


@dataclass
class FileServer:
    """Serves paths by their behaviours, in turn where there are several; the last one counts from then on.

    Attributes:
        routes: behaviours by path, without query.
        asked: the requests for files, in order; those for robots.txt are not among them.
        robots: the text of its robots.txt; None if there is none.
        wall: what answers every request, also for robots.txt; None without a firewall.
        tls: its certificate; None for a server that does not encrypt.
    """

    routes: dict[str, list[Behaviour]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    robots: str | None = None
    robots_asked: int = 0
    wall: Behaviour | None = None
    tls: ssl.SSLContext | None = None

    def __enter__(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listening.getsockname()[1]
        self._ending = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}{path}"

    def serve(self, path: str, *behaviours: Behaviour) -> str:
        """Serve a path, and give its address."""
        self.routes[path.partition("?")[0]] = list(behaviours)
        return self.url(path)

    def wait_for_the_end(self) -> None:
        """Wait until the test is over: what a server does that never answers."""
        self._ending.wait(30)

    def asked_for(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.path == path]

    def asked_for_start(self, start: str) -> list[Asked]:
        return [one for one in self.asked if one.path.startswith(start)]

    def _accept(self) -> None:
        while True:
            try:
                wire, _ = self._listening.accept()
            except OSError:
                return
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._speak, args=[wire], daemon=True).start()

    def _speak(self, wire: Wire) -> None:
        with wire:
            try:
                with self.tls.wrap_socket(wire, server_side=True) if self.tls else wire as spoken:
                    while request := _read_request(spoken):
                        self._answer(spoken, request)
            except OSError:
                return  # the client went away, or a behaviour closed the connection

    def _answer(self, wire: Wire, request: Asked) -> None:
        path = request.path.partition("?")[0]
        if path == "/robots.txt":
            self.robots_asked += 1
            text = self.robots
            said = answer(404 if text is None else 200, (text or "").encode(), Content_Type="text/plain")
            (self.wall or said)(wire, request)
            return
        self.asked.append(request)
        known = self.routes.get(path, [answer(404, b"nothing is here")])
        behaviour = known.pop(0) if len(known) > 1 else known[0]
        (self.wall or behaviour)(wire, request)


def _read_request(wire: Wire) -> Asked | None:
    head = b""
    while b"\r\n\r\n" not in head:
        came = wire.recv(65536)
        if not came:
            return None
        head += came
    first, *lines = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    verb, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return Asked(verb, path, headers)


def head(status: int, headers: Mapping[str, object]) -> bytes:
    """Status line and headers; `_` in a name stands for `-`, and None leaves a header out."""
    lines = [f"HTTP/1.1 {status} Said"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value is not None]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(status: int, body: bytes = b"", /, **headers: object) -> Behaviour:
    """A whole answer with the right length, unless headers say otherwise."""

    def behave(wire: Wire, request: Asked) -> None:
        named = {"Content_Length": len(body), **headers}
        wire.sendall(head(status, named) + (b"" if request.verb == "HEAD" or status == 304 else body))

    return behave


def file(content: bytes, etag: str | None = '"v1"', **headers: object) -> Behaviour:
    """A file as a good server gives it: by ranges, with If-Range, If-None-Match and If-Modified-Since."""

    def behave(wire: Wire, request: Asked) -> None:
        known: dict[str, object] = {"ETag": etag, "Accept_Ranges": "bytes", **headers}
        held, modified = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
        if (held and held == etag) or (not held and modified and modified == headers.get("Last_Modified")):
            answer(304, Content_Length=None, **known)(wire, request)
        elif "range" in request.headers and request.headers.get("if-range", etag) == etag:
            rest(content, request.start, **known)(wire, request)
        else:
            answer(200, content, **known)(wire, request)

    return behave


def rest(content: bytes, start: int, /, **headers: object) -> Behaviour:
    """The rest of a file from a byte on: 206, or 416 if there is none."""
    if start >= len(content):
        return answer(416, b"", **headers, Content_Range=f"bytes */{len(content)}")
    said = f"bytes {start}-{len(content) - 1}/{len(content)}"
    return answer(206, content[start:], **headers, Content_Range=said)


def cut(content: bytes, after: int, etag: str | None = '"v1"', **headers: object) -> Behaviour:
    """A connection that ends in the middle of a body."""

    def behave(wire: Wire, _: Asked) -> None:
        named = {"Content_Length": len(content), "ETag": etag, **headers}
        wire.sendall(head(200, named) + content[:after])
        close(wire)

    return behave


def raw(said: bytes) -> Behaviour:
    """Bytes on the wire as they are, and then the end of the connection."""

    def behave(wire: Wire, _: Asked) -> None:
        wire.sendall(said)
        close(wire)

    return behave


def reset_after(said: bytes) -> Behaviour:
    """Bytes on the wire, and then a reset of the connection."""

    def behave(wire: Wire, _: Asked) -> None:
        wire.sendall(said)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()

    return behave


def close(wire: Wire) -> None:
    """End a connection in order, after everything was sent."""
    wire.shutdown(socket.SHUT_WR)
    wire.close()
