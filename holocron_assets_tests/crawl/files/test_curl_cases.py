"""What curl's test suite knows of ranges and lengths, as facts about us. Each case names the test of curl."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fetching_rig import SwiftClock, rigged
from file_server import Asked, Behaviour, FileServer, Wire, answer, close, cut, file, head, raw, rest

FILE = b"%PDF-1.7\n" + bytes(range(256)) * 1200
SIZE, HALF = len(FILE), 270_000


def all_but_the_end(wire: Wire, _: Asked) -> None:
    """Every byte, but not the chunk that says so: the whole is held, and its length is not known."""
    wire.sendall(head(200, {"Transfer_Encoding": "chunked", "ETag": '"v1"'}))
    wire.sendall(f"{SIZE:x}\r\n".encode() + FILE + b"\r\n")
    close(wire)


@dataclass(frozen=True)
class Case:
    """A test of curl, and what it comes to here.

    Attributes:
        number: the test's number in curl's suite.
        fact: what it says.
        behaviours: the answers, in turn.
        reason: the verdict's reason in the end.
        starts: from which byte on each request asks.
        is_kept: whether the file is in the store in the end.
    """

    number: int
    fact: str
    behaviours: tuple[Behaviour, ...]
    reason: str
    starts: tuple[int, ...]
    is_kept: bool = True


BROKEN = cut(FILE, HALF)
CASES = [
    Case(
        33, "a rest with a right Content-Range is appended", (BROKEN, rest(FILE, HALF)), "http-206", (0, HALF)
    ),
    Case(
        38,
        "a server without ranges sends all, which is not appended",
        (BROKEN, file(FILE, None)),
        "http-200",
        (0, HALF),
    ),
    Case(
        92,
        "a 416 that names fewer bytes than ours starts over",
        (BROKEN, answer(416, Content_Range="bytes */87"), file(FILE)),
        "http-200",
        (0, HALF, 0),
    ),
    Case(
        188,
        "a rest may come after a redirect",
        (answer(301, Location="/moved"),),
        "http-206",
        (0, 0, HALF, HALF),
    ),
    Case(
        189,
        "a redirect may lead to a server without ranges",
        (answer(301, Location="/rangeless"),),
        "http-200",
        (0, 0, HALF, HALF),
    ),
    Case(
        1040,
        "a 416 without Content-Range is no error if all is held",
        (all_but_the_end, answer(416), file(FILE)),
        "http-200",
        (0, SIZE, 0),
    ),
    Case(
        1042,
        "a 200 to a range beyond the end starts over",
        (all_but_the_end, answer(200, FILE)),
        "http-200",
        (0, SIZE),
    ),
    Case(
        1043,
        "a rest up to the last byte completes the file",
        (BROKEN, rest(FILE, HALF, ETag='"v1"')),
        "http-206",
        (0, HALF),
    ),
    Case(
        1117,
        "after a refused range the file can be asked for",
        (BROKEN, answer(416, b"long" * 100), file(FILE)),
        "http-200",
        (0, HALF, 0),
    ),
    Case(
        1273,
        "a 416 that agrees with our length means that all is held",
        (all_but_the_end, file(FILE)),
        "http-416",
        (0, SIZE),
    ),
    Case(
        36,
        "an illegal chunk is an error",
        (raw(head(200, {"Transfer_Encoding": "chunked"}) + b"2\r\na\n\r\nILLEGAL\r\nbbb"),),
        "network-error",
        (0, 0, 0),
        is_kept=False,
    ),
    Case(
        47,
        "an answer in HTTP/1.0 ends with its connection",
        (raw(b"HTTP/1.0 200 OK\r\n\r\n" + FILE),),
        "http-200",
        (0,),
    ),
    Case(
        178,
        "a negative length is an error",
        (raw(head(200, {"Content_Length": -6}) + FILE),),
        "network-error",
        (0, 0, 0),
        is_kept=False,
    ),
    Case(
        207,
        "chunks that end early are an error",
        (all_but_the_end, raw(b"")),
        "network-error",
        (0, SIZE, SIZE),
        is_kept=False,
    ),
    Case(
        376,
        "a body that breaks off leaves nothing that looks whole",
        (cut(FILE, HALF, None),),
        "size-mismatch",
        (0, 0, 0),
        is_kept=False,
    ),
    Case(
        387,
        "a long chain of encodings is refused",
        (answer(200, FILE, Content_Encoding=",".join(["gzip"] * 50)),),
        "encoded",
        (0,),
        is_kept=False,
    ),
    Case(
        393,
        "a length beyond all numbers is above the limit",
        (raw(head(200, {"Content_Length": 2**65}) + FILE),),
        "too-large",
        (0,),
        is_kept=False,
    ),
    Case(
        394,
        "a length that is no number is an error",
        (raw(head(200, {"Content_Length": "crap"}) + FILE),),
        "network-error",
        (0, 0, 0),
        is_kept=False,
    ),
    Case(
        415,
        "a length after a control character is an error",
        (raw(head(200, {"Content_Length": "\r-6"}) + FILE),),
        "network-error",
        (0, 0, 0),
        is_kept=False,
    ),
    Case(
        1585,
        "a name with a path is no path",
        (file(FILE, Content_Disposition="filename=log\\server\\name"),),
        "http-200",
        (0,),
    ),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    SwiftClock(monkeypatch)
    with FileServer() as server:
        server.serve("/moved", BROKEN, file(FILE))
        server.serve("/rangeless", BROKEN, file(FILE, None))
        yield server


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"curl-{case.number}")
def test_we_know_what_curl_knows(case: Case, server: FileServer, tmp_path: Path) -> None:
    with rigged(tmp_path) as rig:
        made = rig.fetch(server.serve("/file.pdf", *case.behaviours))
        assert (made.verdict.reason, tuple(one.start for one in server.asked)) == (case.reason, case.starts)
        assert rig.objects() == ([FILE] if case.is_kept else [])
