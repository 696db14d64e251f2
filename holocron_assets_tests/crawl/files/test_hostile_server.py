"""A file server that does everything wrong: a table says what becomes of it, and nothing wrong is kept."""

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from select import select
from typing import Any

import pytest
from fetching_rig import SwiftClock, rigged
from file_server import (
    Asked,
    Behaviour,
    FileServer,
    Wire,
    answer,
    cut,
    file,
    head,
    raw,
    reset_after,
    rest,
)

RIGHT = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1200
SIZE, HALF = len(RIGHT), 270_000
SHA1 = hashlib.sha1(RIGHT).hexdigest()  # noqa: S324 - what wikis state
WRONG = RIGHT[:HALF] + bytes(SIZE - HALF)
PAGE = b"<!DOCTYPE html><html><title>Log in</title><form></form></html>"
CAPTCHA = b"<!DOCTYPE html><html><title>Just a moment...</title></html>"
NEVER_ENDING = {
    "no answer",
    "headers that drip",
    "a body that drips",
    "endless interim answers",
}
"""What only a deadline ends, so that their tests have a short one."""


@dataclass(frozen=True)
class Wrong:
    """Something that a server does wrong, and what becomes of it.

    Attributes:
        what: what it does.
        behaviours: its answers in turn; the last one is repeated.
        becomes: the verdict's kind and reason.
        wanted: what the source states or limits.
        is_kept: whether the right bytes are in the store in the end.
    """

    what: str
    behaviours: tuple[Behaviour, ...]
    becomes: tuple[str, str]
    wanted: dict[str, Any] = field(default_factory=dict)
    is_kept: bool = False


def wrong(what: str, *behaviours: Behaviour, becomes: str, is_kept: bool = False, **wanted: Any) -> Wrong:
    kind, _, reason = becomes.partition(" ")
    return Wrong(what, behaviours, (kind, reason), wanted, is_kept)


def recovers(what: str, *behaviours: Behaviour, by: str = "whole http-200") -> Wrong:
    """It does something wrong to a request for the rest, and is asked for all then."""
    return wrong(what, cut(RIGHT, HALF), *behaviours, file(RIGHT), becomes=by, is_kept=True)


def said(body: bytes, status: int = 200, **headers: object) -> Behaviour:
    """Headers as they are named, and a body, whatever its length; then the connection ends."""
    return raw(head(status, headers) + body)


def endless(start: bytes, again: bytes) -> Behaviour:
    def behave(wire: Wire, _: Asked) -> None:
        wire.sendall(start)
        for more in repeat(again):
            wire.sendall(more)

    return behave


def drip(start: bytes) -> Behaviour:
    """A byte now and then, so that no single wait is long, until the client closes the connection."""

    def behave(wire: Wire, _: Asked) -> None:
        wire.sendall(start)
        while not select([wire], [], [], 0.05)[0]:
            wire.sendall(b"x")

    return behave


def silent(wire: Wire, _: Asked) -> None:
    wire.recv(1)


def chunked(*chunks: bytes) -> Behaviour:
    return raw(head(200, {"Transfer_Encoding": "chunked"}) + b"".join(chunks))


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def moved(to: str, status: int = 302) -> Behaviour:
    return answer(status, b"", Location=to)


def partly(content_range: str | None, body: bytes = RIGHT[HALF:], **headers: object) -> Behaviour:
    return answer(206, body, **{"Content_Range": content_range, "ETag": '"v1"', **headers})


OF_THE_REST = f"bytes {HALF}-{SIZE - 1}/{SIZE}"
PACKED = gzip.compress(RIGHT)

WRONGS = [
    # lengths
    wrong("a body shorter than its length", cut(RIGHT, HALF, None), becomes="wrong size-mismatch"),
    wrong("a body longer than its length", said(RIGHT, Content_Length=9), becomes="wrong network-error"),
    wrong(
        "two lengths",
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"),
        becomes="wrong network-error",
    ),
    wrong("a negative length", said(RIGHT, Content_Length=-6), becomes="wrong network-error"),
    wrong("a length that is no number", said(RIGHT, Content_Length="many"), becomes="wrong network-error"),
    wrong("a length beyond all numbers", said(RIGHT, Content_Length=2**65), becomes="refused too-large"),
    wrong("a length above the limit", said(RIGHT, Content_Length=10**9), becomes="refused too-large"),
    wrong("no bytes of a file that has some", answer(200), becomes="wrong size-mismatch", size_bytes=SIZE),
    wrong(
        "another length than the source states",
        answer(200, RIGHT),
        becomes="wrong size-mismatch",
        size_bytes=9,
    ),
    wrong(
        "another size than the source states, unsaid",
        said(RIGHT),
        becomes="wrong size-mismatch",
        size_bytes=9,
    ),
    wrong("an endless body", endless(head(200, {}), RIGHT), becomes="refused too-large", max_bytes=10**6),
    # chunks
    wrong("chunks that end early", chunked(chunk(RIGHT)), becomes="wrong network-error"),
    wrong("a chunk that ends early", chunked(b"fff\r\n", b"abc"), becomes="wrong network-error"),
    wrong(
        "a chunk whose size is no number",
        chunked(b"2\r\na\n\r\nILLEGAL\r\nbbb"),
        becomes="wrong network-error",
    ),
    wrong("a chunk of negative size", chunked(b"-5\r\nabcde\r\n0\r\n\r\n"), becomes="wrong network-error"),
    wrong(
        "endless chunks",
        endless(head(200, {"Transfer_Encoding": "chunked"}), chunk(RIGHT)),
        becomes="refused too-large",
        max_bytes=10**6,
    ),
    wrong(
        "an unknown Transfer-Encoding",
        said(RIGHT, Transfer_Encoding="gzip, chunked"),
        becomes="wrong network-error",
    ),
    # time and connection
    wrong("no answer", silent, becomes="wrong network-error"),
    wrong("headers that drip", drip(b"HTTP/1.1 200 OK\r\nX-Slow: "), becomes="wrong network-error"),
    wrong("a body that drips", drip(head(200, {"Content_Length": 10**6})), becomes="wrong size-mismatch"),
    wrong(
        "endless interim answers",
        endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
        becomes="wrong network-error",
    ),
    wrong(
        "endless headers",
        endless(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n"),
        becomes="wrong network-error",
    ),
    wrong("a header of a megabyte", said(RIGHT, ETag='"' + "x" * 10**6 + '"'), becomes="wrong network-error"),
    wrong("a reset in place of an answer", reset_after(b""), becomes="wrong network-error"),
    wrong(
        "a reset in the middle of a body",
        reset_after(head(200, {"Content_Length": SIZE}) + RIGHT[:HALF]),
        becomes="wrong size-mismatch",
    ),
    wrong("an end in place of an answer", raw(b""), becomes="wrong network-error"),
    wrong("something that is not HTTP", raw(b"SSH-2.0-OpenSSH_9.9\r\n"), becomes="wrong network-error"),
    wrong("a body without headers", raw(RIGHT), becomes="wrong network-error"),
    wrong("a negative status", raw(b"HTTP/1.1 -12 OK\r\n\r\n"), becomes="wrong network-error"),
    wrong(
        "a header with a NUL",
        raw(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n" + RIGHT),
        becomes="wrong network-error",
    ),
    # statuses
    wrong("a 999", answer(999, RIGHT), becomes="wrong http-999"),
    wrong("a 202 that promises the file for later", answer(202, b"wait"), becomes="wrong http-202"),
    wrong("a 203 of a changed copy", answer(203, RIGHT), becomes="wrong http-203"),
    wrong("a 204", raw(head(204, {})), becomes="wrong http-204"),
    wrong("a 300 with a list", answer(300, PAGE, Location="/b"), becomes="wrong http-300"),
    wrong("a 429", answer(429, b"", Retry_After="3600"), becomes="wrong http-429"),
    wrong("a 500 with the right bytes", answer(500, RIGHT), becomes="wrong http-500"),
    wrong("a 304 without a condition", answer(304), becomes="wrong unasked-304"),
    wrong("a 416 without a range", answer(416), becomes="refused http-416"),
    # ranges
    wrong(
        "a 206 without being asked",
        partly(f"bytes 0-{SIZE - 1}/{SIZE}", RIGHT),
        becomes="wrong range-unasked",
    ),
    wrong("a 206 of the end without being asked", partly(OF_THE_REST), becomes="wrong range-unasked"),
    recovers("a 206 from an earlier byte", partly(f"bytes {HALF - 9}-{SIZE - 1}/{SIZE}", RIGHT[HALF - 9 :])),
    recovers("a 206 from a later byte", partly(f"bytes {HALF + 9}-{SIZE - 1}/{SIZE}", RIGHT[HALF + 9 :])),
    recovers("a 206 from the first byte", partly(f"bytes 0-{SIZE - 1}/{SIZE}", RIGHT)),
    recovers("a 206 of a larger whole", partly(f"bytes {HALF}-{SIZE - 1}/{SIZE + 1}")),
    recovers("a 206 of a smaller whole", partly(f"bytes {HALF}-{SIZE - 1}/{SIZE - 1}")),
    recovers("a 206 without Content-Range", partly(None)),
    recovers("a 206 in another unit", partly(f"items {HALF}-{SIZE - 1}/{SIZE}")),
    recovers("a 206 that ends before it begins", partly(f"bytes {HALF}-{HALF - 1}/{SIZE}", b"")),
    recovers(
        "a 206 of several ranges", partly(None, b"--x\r\n", Content_Type="multipart/byteranges; boundary=x")
    ),
    recovers("a 206 with more bytes than its range", partly(f"bytes {HALF}-{HALF + 9}/{SIZE}")),
    recovers("a packed 206", partly(OF_THE_REST, gzip.compress(RIGHT[HALF:]), Content_Encoding="gzip")),
    recovers("a 206 of another version", partly(OF_THE_REST, ETag='"v2"')),
    recovers("a 206 whose ETag is weak now", partly(OF_THE_REST, ETag='W/"v1"')),
    recovers("a 416 of another whole", answer(416, b"", Content_Range=f"bytes */{SIZE}")),
    recovers("a 416 of another version", answer(416, b"", Content_Range=f"bytes */{HALF}", ETag='"v2"')),
    recovers("a 304 to a range", answer(304), by="rest http-206"),
    wrong(
        "wrong bytes in a right 206",
        cut(RIGHT, HALF),
        rest(WRONG, HALF, ETag='"v1"'),
        becomes="wrong checksum-mismatch",
        sha1=SHA1,
    ),
    wrong(
        "an ETag that changes each time",
        *[cut(RIGHT, HALF, f'"v{n}"') for n in range(3)],
        becomes="wrong size-mismatch",
    ),
    # redirects
    wrong("a redirect to itself", moved("/file.png"), becomes="refused redirect-loop"),
    wrong(
        "a chain of redirects",
        *[moved("/file.png?" + str(n)) for n in range(9)],
        becomes="refused redirect-loop",
    ),
    wrong(
        "a redirect to a private address",
        moved("http://192.168.1.1/a.png"),
        becomes="refused private-address",
    ),
    wrong(
        "a redirect to a machine's own data",
        moved("http://169.254.169.254/latest/"),
        becomes="refused private-address",
    ),
    wrong(
        "a redirect to a mapped address",
        moved("http://[::ffff:10.0.0.1]/"),
        becomes="refused private-address",
    ),
    wrong("a redirect to a file", moved("file:///etc/passwd"), becomes="refused redirect-unusable"),
    wrong(
        "a redirect with a password",
        moved("http://user:word@127.0.0.1/"),
        becomes="refused redirect-unusable",
    ),
    wrong("a redirect to nowhere", moved("https://[::1"), becomes="refused redirect-unusable"),
    wrong("a redirect without an address", answer(302), becomes="wrong http-302"),
    wrong(
        "a redirect to a login",
        moved("/login"),
        answer(200, PAGE, Content_Type="text/html"),
        becomes="wrong html",
        may_be_html=True,
    ),
    # content
    wrong("a page", answer(200, PAGE, Content_Type="text/html; charset=utf-8"), becomes="wrong html"),
    wrong(
        "a page that is called a picture", answer(200, PAGE, Content_Type="image/png"), becomes="wrong html"
    ),
    wrong("a captcha", answer(200, CAPTCHA, Content_Type="text/html"), becomes="wrong captcha"),
    wrong("a captcha with 403", answer(403, CAPTCHA, Content_Type="text/html"), becomes="wrong captcha"),
    wrong(
        "WebP in place of PNG",
        answer(200, b"RIFF\x10\0\0\0WEBPVP8 " + RIGHT),
        becomes="wrong type-mismatch",
        mime="image/png",
    ),
    wrong(
        "a type that is not expected",
        answer(200, b"%PDF-1.7" + RIGHT),
        becomes="refused type-excluded",
        expect=("image/*",),
    ),
    wrong(
        "other bytes than the source states", answer(200, WRONG), becomes="wrong checksum-mismatch", sha1=SHA1
    ),
    wrong(
        "another SHA-256 than the source states",
        answer(200, WRONG),
        becomes="wrong checksum-mismatch",
        sha256="0" * 64,
    ),
    # packing
    wrong(
        "a bomb",
        answer(200, gzip.compress(bytes(10**8)), Content_Encoding="gzip"),
        becomes="refused too-large",
        max_bytes=10**6,
    ),
    wrong(
        "a bomb of many members",
        answer(200, gzip.compress(bytes(10**4)) * 500, Content_Encoding="gzip"),
        becomes="refused too-large",
        max_bytes=10**6,
    ),
    wrong(
        "a bomb within a bomb", answer(200, PACKED, Content_Encoding="gzip, gzip"), becomes="wrong encoded"
    ),
    wrong(
        "an encoding that was not asked for",
        answer(200, PACKED, Content_Encoding="br"),
        becomes="wrong encoded",
    ),
    wrong("gzip that breaks off", answer(200, PACKED[:-9], Content_Encoding="gzip"), becomes="wrong encoded"),
    wrong("gzip that is none", answer(200, RIGHT, Content_Encoding="gzip"), becomes="wrong encoded"),
    # names: nothing is wrong with the bytes
    wrong(
        "a name that leads elsewhere",
        file(RIGHT, Content_Disposition="attachment; filename=../../evil"),
        becomes="whole http-200",
        is_kept=True,
    ),
    wrong(
        "a name of a device",
        file(RIGHT, Content_Disposition="filename=log\\server\\evil"),
        becomes="whole http-200",
        is_kept=True,
    ),
]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SwiftClock:
    return SwiftClock(monkeypatch)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        server.serve("/login", answer(200, PAGE, Content_Type="text/html"))
        yield server


def deadline_of(case: Wrong) -> float:
    return 0.2 if case.what in NEVER_ENDING else 5.0


def test_the_table_has_many_wrongs() -> None:
    assert len({one.what for one in WRONGS}) == len(WRONGS) > 80


@pytest.mark.system
@pytest.mark.parametrize("case", WRONGS, ids=lambda case: case.what.replace(" ", "-"))
def test_nothing_wrong_is_ever_published(case: Wrong, server: FileServer, tmp_path: Path) -> None:
    with rigged(tmp_path, deadline_seconds=deadline_of(case)) as rig:
        made = rig.fetch(server.serve("/file.png", *case.behaviours), **case.wanted)
        assert (made.verdict.kind, made.verdict.reason) == case.becomes
        assert rig.objects() == ([RIGHT] if case.is_kept else [])
        assert made.is_ok is case.is_kept
        assert made.verdict.problem or case.is_kept
        assert list(tmp_path.rglob("*evil*")) == []


@pytest.mark.system
@pytest.mark.parametrize("case", WRONGS, ids=lambda case: case.what.replace(" ", "-"))
def test_a_right_answer_after_a_wrong_one_gives_the_right_bytes(
    case: Wrong, server: FileServer, tmp_path: Path, clock: SwiftClock
) -> None:
    with rigged(tmp_path, deadline_seconds=deadline_of(case)) as rig:
        rig.fetch(server.serve("/file.png", *case.behaviours), **case.wanted)
    clock.sleep(100_000)  # whatever hold the host has by then is over
    with rigged(tmp_path) as rig:
        made = rig.fetch(server.serve("/file.png", file(RIGHT)))
        assert (made.is_ok, rig.objects()[-1:], rig.parts()) == (True, [RIGHT], [])
