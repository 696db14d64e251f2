"""What a model server does that is broken or hostile, byte by byte; see `fake_ollama` for the milder ways."""

import gzip
import json
import socket
from time import sleep
from typing import Any

from fake_ollama import Behaviour, Chat, Handler

HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
CHUNKED = HEADERS + b"Transfer-Encoding: chunked\r\n\r\n"


def line(content: str, **fields: Any) -> bytes:
    """One piece of a reply."""
    piece = {"model": "small:1b", "message": {"role": "assistant", "content": content}, "done": False}
    return json.dumps({**piece, **fields}).encode() + b"\n"


def last_line(content: str = "", **fields: Any) -> bytes:
    figures = {"prompt_eval_count": 20, "eval_count": 9, "total_duration": 3_000_000}
    return line(content, **{"done": True, "done_reason": "stop", **figures, **fields})


def lines(text: str, **fields: Any) -> list[bytes]:
    """A good reply in pieces of a few characters."""
    return [*(line(text[start : start + 5]) for start in range(0, len(text), 5)), last_line(**fields)]


def chunked(bodies: list[bytes]) -> bytes:
    """A whole reply as it goes over the wire."""
    return CHUNKED + b"".join(map(chunk, bodies)) + b"0\r\n\r\n"


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


def with_length(body: bytes, length: int | None = None, headers: bytes = b"") -> bytes:
    """A whole reply that says how long it is."""
    length_header = b"Content-Length: %d\r\n" % (len(body) if length is None else length)
    return HEADERS + headers + length_header + b"\r\n" + body


def sends(reply: bytes) -> Behaviour:
    """Send these bytes, and hang up."""

    def behave(handler: Handler, _: Chat) -> None:
        handler.close_connection = True
        handler.connection.sendall(reply)
        handler.connection.shutdown(socket.SHUT_RDWR)

    return behave


def goes_on_with(start: bytes, some: bytes, *, pause: float = 0.0) -> Behaviour:
    """Send a start, then the same bytes again and again until the client hangs up."""

    def behave(handler: Handler, _: Chat) -> None:
        handler.close_connection = True
        try:
            handler.connection.sendall(start)
            while not handler.server.fake.is_stopping:
                handler.connection.sendall(some)
                sleep(pause)
        except OSError:
            handler.server.fake.given_up += 1

    return behave


def bomb(megabytes: int) -> bytes:
    """A reply of a few KB that unpacks to many MB."""
    packed = gzip.compress(b" " * (megabytes * 1024**2) + last_line("{}"))
    return with_length(packed, headers=b"Content-Encoding: gzip\r\n")


def redirects(to: str) -> Behaviour:
    reply = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n"
    return sends(reply % f"{to}/api/chat".encode())
