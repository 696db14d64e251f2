"""A wiki on loopback that answers as MediaWiki does, or misbehaves on command."""

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep, time
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

LOGIN_PAGE = "<!DOCTYPE html><html><title>Log in</title><form><input type=password></form></html>"
CAPTCHA = "<!DOCTYPE html><html><title>Just a moment...</title>Prove that you are human</html>"


@dataclass
class Request:
    """A request as it arrived."""

    verb: str
    parameters: dict[str, str]
    headers: dict[str, str]
    arrived_at: float


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each small answer waits 40 ms
    server: "FakeServer"
    parameters: dict[str, str]

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/robots.txt":
            self.server.wiki.robots_requests += 1
            self.server.wiki.robots(self)
            return
        self._serve(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _serve(self, encoded: str) -> None:
        self.parameters = dict(parse_qsl(encoded, keep_blank_values=True))
        wiki = self.server.wiki
        wiki.requests.append(Request(self.command, self.parameters, dict(self.headers.items()), time()))
        wiki.connections.add(self.client_address)
        with wiki.counting:
            wiki.in_flight += 1
            wiki.most_in_flight = max(wiki.most_in_flight, wiki.in_flight)
        sleep(wiki.delay_seconds)
        try:
            (wiki.script.popleft() if wiki.script else wiki.behave or api(wiki.answer))(self)
        finally:
            with wiki.counting:
                wiki.in_flight -= 1

    def reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


Behaviour = Callable[[Handler], None]
Answerer = Callable[[Mapping[str, str]], dict[str, Any]]


class FakeServer(ThreadingHTTPServer):
    """Knows its wiki."""

    daemon_threads = True
    wiki: "FakeWiki"

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - as called
        """Do what a test wants with a new connection, before the client sends a request."""
        if not self.wiki.doors:
            return True
        self.wiki.doors.popleft()(request)
        return False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that leave early are part of the tests."""


def api(answer: Answerer) -> Behaviour:
    """Answer with the JSON that `answer` gives for the request's parameters."""

    def behave(handler: Handler) -> None:
        said = answer(handler.parameters)
        handler.reply(200, json.dumps(said).encode(), {"Content-Type": "application/json; charset=utf-8"})

    return behave


def says(**said: Any) -> Behaviour:
    """Answer with this JSON object."""
    return api(lambda _: said)


def page(status: int, text: str, **headers: str) -> Behaviour:
    """Answer with a page for people; `Retry_After="5"` and the like become headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.reply(status, text.encode(), {"Content-Type": "text/html", **named})


def api_error(code: str, status: int = 200, **headers: str) -> Behaviour:
    """Answer with an error of the API."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": {"code": code, "info": f"Information about {code}."}}).encode()
    return lambda handler: handler.reply(status, body, {"Content-Type": "application/json", **named})


NO_ROBOTS = page(404, "no such file")


def truncated(handler: Handler) -> None:
    """Promise more than is sent."""
    handler.reply(200, b'{"batchcomplete":true', {"Content-Length": "1000"})
    handler.close_connection = True


def to_be_reset(connection: socket.socket) -> None:
    """Have a connection reset once it is closed: what was sent and not yet read is lost."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reset(handler: Handler) -> None:
    """Reset the connection without an answer."""
    to_be_reset(handler.connection)
    handler.close_connection = True
    handler.connection.close()


def hang(handler: Handler) -> None:
    """Answer nothing until the client leaves, or for 5 s."""
    handler.connection.settimeout(5)
    handler.rfile.read(1)


def drip_headers(handler: Handler) -> None:
    """Send a byte of an endless header every 0.05 s."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _drip(handler)


def drip_body(handler: Handler) -> None:
    """Send a byte of an endless body every 0.05 s."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    _drip(handler)


def _drip(handler: Handler) -> None:
    started = monotonic()
    while monotonic() - started < 5:
        handler.wfile.write(b"x")
        sleep(0.05)


@dataclass
class FakeWiki:
    """The wiki. Behaviours in `script` are used up one a request; then `behave` does it, or `answer` answers.

    What is in `doors` is used up one a connection, which then ends before a request is read.
    Its robots.txt stands apart: it is no request of the API, and uses up none of the script.
    """

    robots: Behaviour = NO_ROBOTS
    robots_requests: int = 0
    doors: deque[Callable[[socket.socket], None]] = field(default_factory=deque)
    script: deque[Behaviour] = field(default_factory=deque)
    behave: Behaviour | None = None
    answer: Answerer = lambda _: {"batchcomplete": True, "query": {}}
    requests: list[Request] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)
    counting: threading.Lock = field(default_factory=threading.Lock)
    delay_seconds: float = 0.0
    in_flight: int = 0
    most_in_flight: int = 0
    address: str = "127.0.0.1"

    def __enter__(self) -> Self:
        self._server = FakeServer((self.address, 0), Handler)
        self._server.wiki = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"{self.address}:{self._server.server_port}"

    @property
    def api_url(self) -> str:
        return f"http://{self.host}/api.php"

    def will(self, *behaviours: Behaviour) -> None:
        """Behave like this for the next requests."""
        self.script.extend(behaviours)
