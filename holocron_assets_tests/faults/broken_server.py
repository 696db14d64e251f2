"""What a web server can do wrong, byte by byte: behaviours for a `FakeWiki`, each used up by one request."""

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import count, repeat
from time import monotonic, sleep

from fake_mediawiki import LOGIN_PAGE, Behaviour, Handler, api_error, page, reset, says

LONGEST_SECONDS = 8.0
"""A client whose deadline does not end it sooner is let go after this."""

Ending = Callable[[Handler], None]


def close(handler: Handler) -> None:
    """Close the connection."""
    handler.close_connection = True


def wait(handler: Handler) -> None:
    """Say nothing more until the client leaves."""
    handler.connection.settimeout(LONGEST_SECONDS)
    with suppress(OSError):
        handler.rfile.read(1)
    handler.close_connection = True


def keep(handler: Handler) -> None:
    """Wait for the next request, as if all were well."""


def raw(*parts: bytes, then: Ending = close) -> Behaviour:
    """Send these bytes and no others."""

    def behave(handler: Handler) -> None:
        with suppress(OSError):
            for part in parts:
                handler.wfile.write(part)
        then(handler)

    return behave


def flood(start: bytes, parts: Callable[[], Iterable[bytes]], every: float = 0.0) -> Behaviour:
    """Send a start, then parts without end, until the client leaves."""

    def behave(handler: Handler) -> None:
        ends_at = monotonic() + LONGEST_SECONDS
        with suppress(OSError):
            handler.wfile.write(start)
            for part in parts():
                handler.wfile.write(part)
                sleep(every)
                if monotonic() > ends_at:
                    break
        handler.close_connection = True

    return behave


def head(*lines: str, status: str = "200 OK") -> bytes:
    """The start of an answer, up to the empty line."""
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: application/json", *lines, "", ""]).encode()


def body(content: bytes, *lines: str, status: str = "200 OK") -> Behaviour:
    """An answer whose length is right, whatever is in it."""
    return raw(head(f"Content-Length: {len(content)}", *lines, status=status), content, then=keep)


def gzipped(content: bytes, *, encoding: str = "gzip") -> Behaviour:
    """An answer that says it is packed."""
    return body(content, f"Content-Encoding: {encoding}")


def chunked(*lines: bytes, then: Ending = close) -> Behaviour:
    """An answer in chunks, each written as it is."""
    return raw(head("Transfer-Encoding: chunked"), *lines, then=then)


GOOD = {"batchcomplete": True, "query": {"pages": []}}
_JSON = json.dumps(GOOD).encode()
_OTHER = b'HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{"query":{"smuggled":1}}'


@cache
def zeros(number: int, times: int = 1) -> bytes:
    """So many zeros, packed so many times over."""
    content = bytes(number)
    for _ in range(times):
        content = gzip.compress(content)
    return content


def late(make: Callable[[], Behaviour]) -> Behaviour:
    """A behaviour that is made when it is met: bombs take time and room."""

    def behave(handler: Handler) -> None:
        make()(handler)

    return behave


def _garbled(packed: bytes) -> bytes:
    """The same with a bit of its checksum changed."""
    return packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]


BROKEN: Mapping[str, Behaviour] = {
    "a body that breaks off": raw(head("Content-Length: 1000"), _JSON),
    "a body that is reset in the middle": raw(head("Content-Length: 1000"), _JSON, then=reset),
    "a body that stops and hangs": raw(head("Content-Length: 1000"), _JSON, then=wait),
    "a length of -1": raw(head("Content-Length: -1"), _JSON),
    "a length that is no number": raw(head("Content-Length: many"), _JSON),
    "two lengths that differ": raw(head("Content-Length: 2", f"Content-Length: {len(_JSON)}"), _JSON),
    "a length of 10^18": raw(head(f"Content-Length: {10**18}"), _JSON),
    "a chunk whose size is no number": chunked(b"zz\r\n", _JSON, b"\r\n0\r\n\r\n"),
    "a chunk of negative size": chunked(b"-5\r\nabcde\r\n0\r\n\r\n"),
    "a chunk that is longer than it says": chunked(b"2\r\nabcdef\r\n0\r\n\r\n"),
    "chunks without the last": chunked(b"%x\r\n%s\r\n" % (len(_JSON), _JSON)),
    "chunks that hang before the last": chunked(b"%x\r\n%s\r\n" % (len(_JSON), _JSON), then=wait),
    "an endless chunk extension": flood(
        head("Transfer-Encoding: chunked") + b"5;x=", lambda: repeat(b"y" * 999)
    ),
    "endless trailers": flood(
        head("Transfer-Encoding: chunked") + b"0\r\n", lambda: repeat(b"T: 1\r\n" * 99)
    ),
    "an endless header": flood(b"HTTP/1.1 200 OK\r\nX: ", lambda: repeat(b"y" * 999)),
    "headers without end": flood(b"HTTP/1.1 200 OK\r\n", lambda: (b"X-%d: y\r\n" % n for n in count())),
    "100 Continue without end": flood(b"", lambda: repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 50)),
    "headers that drip": flood(b"HTTP/1.1 200 OK\r\nX: ", lambda: repeat(b"y"), every=0.02),
    "a body that drips": flood(head("Content-Length: 1000000"), lambda: repeat(b" "), every=0.02),
    "chunks that drip": flood(head("Transfer-Encoding: chunked"), lambda: repeat(b"1\r\n \r\n"), every=0.02),
    "headers that break off": raw(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "headers that are reset": raw(b"HTTP/1.1 200 OK\r\nContent-Le", then=reset),
    "a hang before the headers": raw(then=wait),
    "a hang after the headers": raw(head("Content-Length: 5"), then=wait),
    "a hang-up without a word": raw(),
    "a reset without a word": raw(then=reset),
    "an answer of HTTP/0.9": raw(_JSON),
    "an answer of HTTP/2": raw(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", bytes(18)),
    "an answer that is noise": raw(bytes(range(256)) * 20),
    "a header without a colon": raw(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"),
    "a header with a NUL": raw(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"),
    "a status of 99": raw(b"HTTP/1.1 99 Odd\r\nContent-Length: 0\r\n\r\n"),
    "a gzip bomb": late(lambda: gzipped(zeros(60_000_000))),
    "a gzip bomb in 2,000 members": late(lambda: gzipped(zeros(30_000) * 2000)),
    "a gzip bomb within a gzip bomb": late(lambda: gzipped(zeros(60_000_000, 2), encoding="gzip, gzip")),
    "a body packed as nobody asked for": gzipped(_JSON, encoding="br"),
    "a gzip that breaks off": gzipped(gzip.compress(_JSON)[:-10]),
    "a gzip with a wrong checksum": gzipped(_garbled(gzip.compress(_JSON))),
    "a gzip that is none": gzipped(_JSON),
    "a gzip whose second member breaks off": gzipped(gzip.compress(_JSON) + gzip.compress(b"  ")[:-5]),
    "a gzip that drips": flood(
        head("Transfer-Encoding: chunked", "Content-Encoding: gzip"),
        lambda: repeat(b"1\r\n\x1f\r\n"),
        every=0.02,
    ),
    "a body larger than the limit": flood(head("Content-Length: 100000000"), lambda: repeat(b" " * 60_000)),
}
"""Answers of which no whole one comes, by what is wrong with them."""


ODD: Mapping[str, Behaviour] = {
    "two lengths that agree": raw(head(*[f"Content-Length: {len(_JSON)}"] * 2), _JSON, then=keep),
    "10,000 headers": body(_JSON, *[f"X{n}: " for n in range(10_000)]),
    "a few 100 Continue before": raw(
        b"HTTP/1.1 100 Continue\r\n\r\n" * 5, head(f"Content-Length: {len(_JSON)}"), _JSON, then=keep
    ),
    "a length and chunks": raw(
        head("Content-Length: 3", "Transfer-Encoding: chunked"),
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(_JSON), _JSON),
        then=keep,
    ),
    "neither length nor chunks": raw(head(), _JSON),
    "a body of HTTP/1.0": raw(b"HTTP/1.0 200 OK\r\n\r\n", _JSON),
    "chunks of one byte": chunked(*(b"1\r\n%c\r\n" % byte for byte in _JSON), b"0\r\n\r\n", then=keep),
    "gzip in capital letters": gzipped(gzip.compress(_JSON), encoding="GZIP"),
    "gzip by its old name": gzipped(gzip.compress(_JSON), encoding="x-gzip"),
    "gzip in several members": gzipped(
        gzip.compress(_JSON[:9]) + gzip.compress(b"") + gzip.compress(_JSON[9:])
    ),
    "gzip with padding behind it": gzipped(gzip.compress(_JSON) + bytes(512)),
    "gzip with garbage behind it": gzipped(gzip.compress(_JSON) + b"garbage"),
    "gzip in chunks of one byte": raw(
        head("Transfer-Encoding: chunked", "Content-Encoding: gzip"),
        *(b"1\r\n%c\r\n" % byte for byte in gzip.compress(_JSON)),
        b"0\r\n\r\n",
        then=keep,
    ),
}
"""Answers that are strange, and whole all the same: `GOOD`."""

MORE_THAN_IT_SAYS = raw(head(f"Content-Length: {len(_JSON)}"), _JSON + _OTHER, then=keep)
"""An answer with another behind it, which the next request must not take for its own."""

_DEEP = 100_000
BOMBS: Mapping[str, Callable[[], bytes]] = {
    "JSON lists 100,000 deep": lambda: b'{"query": ' + b"[" * _DEEP + b"]" * _DEEP + b"}",
    "JSON objects 100,000 deep": lambda: b'{"query": ' + b'{"a":' * _DEEP + b"1" + b"}" * _DEEP + b"}",
    "a JSON number of a million digits": lambda: b'{"query": {"n": ' + b"9" * 1_000_000 + b"}}",
    "JSON of 10 million empty lists": lambda: b'{"query": [' + b"[]," * 10_000_000 + b"1]}",
    "JSON of two million keys": lambda: (
        b'{"query": {' + b",".join(b'"%d":1' % n for n in range(2_000_000)) + b"}}"
    ),
    "JSON with half a character": lambda: b'{"query": {"pages": [{"title": "\\ud800"}]}}',
    "JSON in UTF-16": lambda: json.dumps(GOOD).encode("utf-16"),
    "JSON that breaks off": lambda: _JSON[:-3],
    "JSON with something behind it": lambda: _JSON + b"<!-- cached -->",
    "JSON that is a list": lambda: b'["query"]',
    "JSON that is a string": lambda: b'"query"',
    "JSON that is null": lambda: b"null",
    "an empty body": lambda: b"",
    "white space": lambda: b" " * 10_000,
    "NaN for JSON": lambda: b'{"query": NaN}',
    "infinity for JSON": lambda: b'{"query": {"n": -Infinity}}',
}
"""Bodies that come whole and are not the API's, by what is wrong with them."""


def bomb_of(content: Callable[[], bytes]) -> Behaviour:
    """An answer with such a body."""
    return late(lambda: body(content()))


REFUSALS: Mapping[str, Behaviour] = {
    "429 without a word": page(429, ""),
    "429 for two seconds": page(429, "slow down", Retry_After="2"),
    "429 for a garbled time": page(429, "slow down", Retry_After="in a while"),
    "429 for a negative time": page(429, "slow down", Retry_After="-5"),
    "429 for no time": page(429, "slow down", Retry_After=""),
    "503 until last year": page(503, "down", Retry_After="Sun, 21 Nov 1999 12:00:00 GMT"),
    "503 until a date that is none": page(503, "down", Retry_After="Sun, 99 Nov 2099 99:99:99 GMT"),
    "500": page(500, "broken"),
    "500 that says it is JSON": body(_JSON[:-1], status="500 Internal Server Error"),
    "502": page(502, "bad gateway"),
    "504": page(504, "gateway timeout"),
    "408": page(408, "too slow"),
    "401 with a page for people": page(401, LOGIN_PAGE),
    "403 with a page for people": page(403, "<html>Forbidden</html>"),
    "405 with a page for people": page(405, "<html>No</html>"),
    "a login page with status 200": page(200, LOGIN_PAGE),
    "an error page with status 200": page(200, "<html>Sorry! This site is experiencing difficulties.</html>"),
    "a page that says it is JSON": body(b"<html>It works!</html>"),
    "maxlag with status 200": api_error("maxlag", Retry_After="1"),
    "ratelimited with status 200": api_error("ratelimited"),
    "an error of the API with status 200": api_error("internal_api_error_DBQueryError"),
    "an error of the API that fills megabytes": says(error={"code": "x", "info": "y" * 5_000_000}),
    "warnings and nothing else": says(warnings={"main": {"warnings": "This result was truncated."}}),
    "a redirect to itself": page(301, "", Location="/api.php"),
    "a redirect to another host": page(302, "", Location="http://metadata.example/api.php"),
    "a redirect to a file": page(302, "", Location="file:///etc/passwd"),
    "a redirect to gopher": page(302, "", Location="gopher://127.0.0.1:70/_"),
    "a redirect to nowhere": page(302, ""),
}
"""Whole answers that refuse for now, or are another's, by what they are."""

EVERYTHING: Mapping[str, Behaviour] = {
    **BROKEN,
    **{name: bomb_of(content) for name, content in BOMBS.items()},
    **REFUSALS,
}
"""All of them. After each the same request may be sent again, and be answered well."""
