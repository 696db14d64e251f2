"""A receiver of webhooks on loopback, that answers as a test wants: well, badly, late or not at all."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from types import TracebackType
from typing import Any, Self

SECRET = b"0123456789abcdef0123456789abcdef"
SECRET_ENV = "TEST_WEBHOOK_SECRET"  # noqa: S105 - its name
SECRET_VALUE = f"whsec_{base64.b64encode(SECRET).decode()}"


@dataclass(frozen=True)
class Received:
    """A notice as it arrived."""

    notice_id: str
    body: dict[str, Any]
    arrived_at: float
    is_signed: bool


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    receiver: "Receiver"


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.server.receiver.take(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


def answering(status: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with a status."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


def hanging_up(handler: BaseHTTPRequestHandler) -> None:
    """End the connection without a word."""
    handler.connection.close()


class Receiver:
    """The receiver; a context manager.

    Attributes:
        received: all that arrived, in order.
        behave: answers a request; it may be another from one moment to the next.
    """

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.behave: Callable[[BaseHTTPRequestHandler], None] = answering(204)
        self.closing = threading.Event()

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.receiver = self
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook"

    @property
    def ids(self) -> list[str]:
        return [one.notice_id for one in self.received]

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Keep the sender waiting."""
        del handler
        self.closing.wait(60)

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        notice_id, sent_at = handler.headers["webhook-id"], handler.headers["webhook-timestamp"]
        # Computed as the specification of Standard Webhooks writes it, not by our own code.
        digest = hmac.new(SECRET, b".".join([notice_id.encode(), sent_at.encode(), body]), hashlib.sha256)
        wanted = "v1," + base64.b64encode(digest.digest()).decode()
        is_signed = handler.headers["webhook-signature"] == wanted and abs(time() - int(sent_at)) < 60
        self.received.append(Received(notice_id, json.loads(body), time(), is_signed))
        self.behave(handler)


def webhooks_yaml(file: Path, **hooks: str) -> Path:
    """Write a webhooks' file; each hook is given as YAML below its name, or as its url alone."""
    lines = ["webhooks:"]
    for name, said in hooks.items():
        more = said if "\n" in said or ": " in said else f"url: {said}"
        lines += [f"  {name}:", f"    secret_env: {SECRET_ENV}", "    private: true"]
        lines += [f"    {line}" for line in more.splitlines()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
