"""Files that stream to disk: whole, resumed, or not at all."""

import errno
import gzip
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fetching_rig import FAST, Rig, SwiftClock, rigged
from file_server import Asked, FileServer, Wire, answer, close, cut, file, head, raw, rest

from holocron_assets.crawl.files.transfers import parts

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2000
"""512 KB that begin as a picture: more than one block."""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SwiftClock:
    return SwiftClock(monkeypatch)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as rig:
        yield rig


def starts(server: FileServer, path: str) -> list[int]:
    """From which byte on each request asked."""
    return [one.start for one in server.asked_for(path)]


def test_a_file_becomes_an_object_named_by_its_content(server: FileServer, rig: Rig) -> None:
    made = rig.fetch(server.serve("/a.png", file(PNG)))
    sha256 = hashlib.sha256(PNG).hexdigest()
    assert (made.verdict.kind, made.verdict.reason, made.sha256) == ("whole", "http-200", sha256)
    assert (made.size_bytes, made.mime, made.sha1) == (len(PNG), "image/png", hashlib.sha1(PNG).hexdigest())  # noqa: S324
    assert rig.store.path(sha256) == rig.lake.root / "lake" / "files" / "sha256" / sha256[:2] / sha256
    assert rig.objects() == [PNG]
    assert rig.parts() == []


def test_a_body_that_breaks_off_is_resumed_from_the_byte_where_it_broke(server: FileServer, rig: Rig) -> None:
    made = rig.fetch(server.serve("/a.png", cut(PNG, 300_000), file(PNG)))
    assert (made.verdict.reason, rig.objects()) == ("http-206", [PNG])
    assert starts(server, "/a.png") == [0, 300_000]
    assert server.asked[1].headers["if-range"] == '"v1"'
    assert (made.resumed_from, made.bytes) == (300_000, len(PNG))


def test_a_200_to_a_range_starts_over(server: FileServer, rig: Rig) -> None:
    newer = PNG[:8] + PNG[:7:-1]
    rig.fetch(server.serve("/a.png", cut(PNG, 300_000), file(newer, '"v2"')))
    assert starts(server, "/a.png") == [0, 300_000]
    assert rig.objects() == [newer]


def test_a_206_from_another_byte_is_not_appended(server: FileServer, rig: Rig) -> None:
    shifted = answer(206, PNG[299_990:], Content_Range=f"bytes 299990-{len(PNG) - 1}/{len(PNG)}", ETag='"v1"')
    made = rig.fetch(server.serve("/a.png", cut(PNG, 300_000), shifted, file(PNG)))
    assert starts(server, "/a.png") == [0, 300_000, 0]
    assert (made.verdict.reason, rig.objects()) == ("http-200", [PNG])
    assert [row["reason"] for row in rig.attempts if row["resolver"]] == [
        "size-mismatch",
        "retry-range-mismatch",
        "retry-http-200",
    ]


def test_a_206_with_more_bytes_than_it_states_is_no_file(server: FileServer, rig: Rig) -> None:
    half = len(PNG) // 2
    stated = f"bytes {half}-{len(PNG) - 1}/{len(PNG)}"
    named = {"Transfer_Encoding": "chunked", "Content_Range": stated, "ETag": '"v1"'}
    twice = PNG[half:] * 2
    more = raw(head(206, named) + b"%x\r\n%b\r\n0\r\n\r\n" % (len(twice), twice))
    made = rig.fetch(server.serve("/a.png", cut(PNG, half), more))
    assert (made.verdict.kind, made.verdict.reason) == ("wrong", "size-mismatch")
    assert (rig.objects(), rig.parts()) == ([], [])


@pytest.mark.parametrize("total", [len(PNG) + 1, len(PNG) - 1, 10])
def test_a_206_of_another_total_is_not_appended(total: int, server: FileServer, rig: Rig) -> None:
    other = answer(206, PNG[300_000:], Content_Range=f"bytes 300000-{len(PNG) - 1}/{total}", ETag='"v1"')
    rig.fetch(server.serve("/a.png", cut(PNG, 300_000), other, file(PNG)))
    assert (starts(server, "/a.png"), rig.objects()) == ([0, 300_000, 0], [PNG])


def test_a_206_that_says_no_total_is_appended_where_the_total_is_known(server: FileServer, rig: Rig) -> None:
    unsaid = answer(206, PNG[300_000:], Content_Range=f"bytes 300000-{len(PNG) - 1}/*", ETag='"v1"')
    rig.fetch(server.serve("/a.png", cut(PNG, 300_000), unsaid))
    assert rig.objects() == [PNG]


def test_a_206_that_gives_less_than_asked_is_continued(server: FileServer, rig: Rig) -> None:
    some = answer(206, PNG[300_000:400_000], Content_Range=f"bytes 300000-399999/{len(PNG)}", ETag='"v1"')
    rig.fetch(server.serve("/a.png", cut(PNG, 300_000), some, file(PNG)))
    assert (starts(server, "/a.png"), rig.objects()) == ([0, 300_000, 400_000], [PNG])


def test_a_416_with_all_bytes_held_verifies_and_publishes(server: FileServer, rig: Rig) -> None:
    def all_but_the_end(wire: Wire, _: Asked) -> None:
        # without a length, only the chunk that ends the body is missing
        wire.sendall(head(200, {"Transfer-Encoding": "chunked", "ETag": '"v1"'}))
        wire.sendall(f"{len(PNG):x}\r\n".encode() + PNG + b"\r\n")
        close(wire)

    made = rig.fetch(server.serve("/a.png", all_but_the_end, file(PNG)))
    assert starts(server, "/a.png") == [0, len(PNG)]
    assert (made.verdict.reason, made.mime, rig.objects()) == ("http-416", "image/png", [PNG])


def test_a_416_with_fewer_bytes_held_starts_over(server: FileServer, rig: Rig) -> None:
    refusing = answer(416, b"", Content_Range=f"bytes */{len(PNG)}")
    rig.fetch(server.serve("/a.png", cut(PNG, 300_000), refusing, file(PNG)))
    assert (starts(server, "/a.png"), rig.objects()) == ([0, 300_000, 0], [PNG])


@pytest.mark.parametrize("etag", ['W/"v1"', None, "v1", '"a", "b"'])
def test_without_a_strong_etag_nothing_is_resumed(etag: str | None, server: FileServer, rig: Rig) -> None:
    rig.fetch(server.serve("/a.png", cut(PNG, 300_000, etag), file(PNG, etag)))
    assert (starts(server, "/a.png"), rig.objects()) == ([0, 0], [PNG])


def test_a_changed_etag_in_a_206_starts_over(server: FileServer, rig: Rig) -> None:
    changed = rest(PNG, 300_000, ETag='"v2"')
    rig.fetch(server.serve("/a.png", cut(PNG, 300_000), changed, file(PNG, '"v2"')))
    assert (starts(server, "/a.png"), rig.objects()) == ([0, 300_000, 0], [PNG])


def test_a_part_is_resumed_by_a_later_process_too(server: FileServer, tmp_path: Path) -> None:
    url = server.serve("/a.png", cut(PNG, 300_000), *[raw(b"")] * 2, file(PNG))
    with rigged(tmp_path) as first:
        assert first.fetch(url).verdict.reason == "network-error"
        assert len(first.parts()) == 2
    with rigged(tmp_path) as second:
        assert second.fetch(url).verdict.reason == "http-206"
        assert (second.objects(), second.parts()) == ([PNG], [])
    assert starts(server, "/a.png") == [0, 300_000, 300_000, 300_000]


def test_a_part_of_another_start_of_the_machine_is_not_trusted(
    server: FileServer, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.serve("/a.png", cut(PNG, 300_000), *[raw(b"")] * 2, file(PNG))
    rig.fetch(url)
    monkeypatch.setattr(parts, "_boot", lambda: "another")
    rig.fetch(url)
    assert (starts(server, "/a.png")[-1], rig.objects()) == (0, [PNG])


def test_the_rest_is_not_taken_from_another_address(server: FileServer, rig: Rig) -> None:
    server.serve("/one.png", cut(PNG, 300_000))
    server.serve("/two.png", file(PNG))
    to = [answer(302, Location=server.url(path)) for path in ("/one.png", "/two.png", "/two.png")]
    rig.fetch(server.serve("/a.png", *to))
    assert (starts(server, "/two.png"), rig.objects()) == ([300_000, 0], [PNG])


def test_it_asks_for_bytes_as_they_are_and_for_no_webp(server: FileServer, rig: Rig) -> None:
    rig.fetch(server.serve("/a.png", file(PNG)), mime="image/png")
    headers = server.asked[0].headers
    assert headers["accept-encoding"] == "identity"
    assert headers["accept"].startswith("image/png, ")
    assert "webp" not in headers["accept"]
    assert "*/*" not in headers["accept"]


def test_a_packed_body_is_measured_on_the_wire_and_stored_unpacked(server: FileServer, rig: Rig) -> None:
    packed = gzip.compress(PNG)
    made = rig.fetch(server.serve("/a.png", answer(200, packed, Content_Encoding="gzip", ETag='"v1"')))
    assert (made.bytes, made.size_bytes, rig.objects()) == (len(packed), len(PNG), [PNG])


@pytest.mark.parametrize(
    ("path", "known", "headers"),
    [
        ("/a.tar.gz", {}, {"Content_Encoding": "x-gzip"}),
        ("/a.tar.gz", {}, {"Content_Encoding": "gzip"}),
        ("/a", {"mime": "application/gzip"}, {"Content_Encoding": "gzip"}),
        ("/a", {}, {"Content_Encoding": "gzip", "Content_Type": "application/x-gzip"}),
        ("/a", {"size_bytes": len(gzip.compress(PNG, mtime=0))}, {"Content_Encoding": "gzip"}),
    ],
)
def test_a_gzip_that_its_server_calls_packed_for_the_way_stays_as_it_is(
    server: FileServer,
    rig: Rig,
    path: str,
    known: dict[str, Any],
    headers: dict[str, str],
) -> None:
    packed = gzip.compress(PNG, mtime=0)
    url = server.serve(path, answer(200, packed, ETag='"v1"', **headers))
    made = rig.fetch(url, sha256=hashlib.sha256(packed).hexdigest(), **known)
    assert (made.verdict.reason, made.size_bytes, rig.objects()) == ("http-200", len(packed), [packed])


def test_a_body_of_another_length_than_its_source_states_is_unpacked_whatever_its_name(
    server: FileServer, rig: Rig
) -> None:
    packed = gzip.compress(PNG)
    url = server.serve("/a.gz", answer(200, packed, Content_Encoding="gzip"))
    assert rig.fetch(url, size_bytes=len(PNG)).is_ok
    assert rig.objects() == [PNG]


def test_a_packed_body_that_breaks_off_is_not_resumed(server: FileServer, rig: Rig) -> None:
    packed = gzip.compress(PNG * 40, compresslevel=1)
    broken = cut(packed, len(packed) - 10, Content_Encoding="gzip")
    whole = answer(200, packed, Content_Encoding="gzip")
    rig.fetch(server.serve("/a.png", broken, whole), max_bytes=100_000_000)
    assert (starts(server, "/a.png"), rig.objects()) == ([0, 0], [PNG * 40])


def test_a_bomb_is_unpacked_to_the_limit_and_no_further(server: FileServer, rig: Rig) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    made = rig.fetch(server.serve("/a", answer(200, bomb, Content_Encoding="gzip")), max_bytes=3_000_000)
    assert (made.verdict.kind, made.verdict.reason) == ("refused", "too-large")
    assert (rig.objects(), rig.parts()) == ([], [])


def test_a_longer_length_than_the_limit_is_refused_unread(server: FileServer, rig: Rig) -> None:
    made = rig.fetch(server.serve("/a.png", file(PNG)), max_bytes=500_000)
    assert (made.verdict.kind, made.verdict.reason, made.bytes) == ("refused", "too-large", 0)


def test_an_endless_body_ends_at_the_limit(server: FileServer, rig: Rig) -> None:
    def endless(wire: Wire, _: Asked) -> None:
        wire.sendall(head(200, {}))
        while True:
            wire.sendall(PNG)

    made = rig.fetch(server.serve("/a.png", endless), max_bytes=2_000_000)
    assert (made.verdict.kind, made.verdict.reason) == ("refused", "too-large")
    assert (rig.objects(), rig.parts()) == ([], [])


def test_a_short_body_without_validator_is_a_size_mismatch_that_may_pass(
    server: FileServer, rig: Rig
) -> None:
    made = rig.fetch(server.serve("/a.png", cut(PNG, 300_000, None)))
    assert (made.verdict.kind, made.verdict.reason) == ("wrong", "size-mismatch")
    assert made.due_at is not None
    assert (rig.objects(), rig.parts()) == ([], [])


def test_another_size_than_the_source_states_is_a_size_mismatch(server: FileServer, rig: Rig) -> None:
    made = rig.fetch(server.serve("/a.png", file(PNG)), size_bytes=len(PNG) + 1)
    assert (made.verdict.kind, made.verdict.reason) == ("wrong", "size-mismatch")
    assert str(len(PNG) + 1) in str(made.verdict.problem)


def test_another_checksum_than_the_source_states_is_never_published(server: FileServer, rig: Rig) -> None:
    made = rig.fetch(server.serve("/a.png", file(PNG)), sha1="0" * 40)
    assert (made.verdict.kind, made.verdict.reason) == ("wrong", "checksum-mismatch")
    assert (rig.objects(), rig.parts()) == ([], [])


@pytest.mark.parametrize("stated", ["text/html", "image/png"])
def test_a_page_where_a_file_was_promised_may_pass(stated: str, server: FileServer, rig: Rig) -> None:
    page = answer(200, b"<!DOCTYPE html><html><title>Log in</title></html>", Content_Type=stated)
    made = rig.fetch(server.serve("/a.png", page))
    assert (made.verdict.kind, made.verdict.reason) == ("wrong", "html")
    assert len(server.asked) == 1
    assert rig.objects() == []


def test_a_redirect_to_a_login_is_no_file_even_where_pages_are_wanted(server: FileServer, rig: Rig) -> None:
    page = answer(200, b"<!DOCTYPE html><html>Who are you?</html>", Content_Type="text/html")
    server.serve("/user/login", page)
    moved = answer(302, Location="/user/login?back=/paper")
    made = rig.fetch(server.serve("/paper", moved), may_be_html=True)
    assert (made.verdict.kind, made.verdict.reason) == ("wrong", "html")
    assert str(made.verdict.problem).endswith("a redirect led to a login")
    assert rig.fetch(server.serve("/page", page), may_be_html=True).is_ok


def test_other_bytes_than_the_type_that_is_stated_are_refused(server: FileServer, rig: Rig) -> None:
    webp = b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(100)
    made = rig.fetch(server.serve("/a.png", file(webp)), mime="image/png")
    assert (made.verdict.kind, made.verdict.reason) == ("wrong", "type-mismatch")


def test_a_type_that_the_source_does_not_expect_is_refused_for_good(server: FileServer, rig: Rig) -> None:
    made = rig.fetch(server.serve("/a.png", file(PNG * 10)), expect=("application/pdf",))
    assert (made.verdict.kind, made.verdict.reason) == ("refused", "type-excluded")
    assert made.bytes < len(PNG * 10)
    assert rig.parts() == []


def test_an_empty_file_is_a_file(server: FileServer, rig: Rig) -> None:
    made = rig.fetch(server.serve("/empty", file(b"")))
    assert (made.is_ok, made.size_bytes, rig.objects()) == (True, 0, [b""])


def test_the_servers_name_is_never_a_path(server: FileServer, rig: Rig) -> None:
    named = file(PNG, Content_Disposition='attachment; filename="../../../evil.png"')
    rig.fetch(server.serve("/a.png", named))
    assert rig.objects() == [PNG]
    assert list(rig.lake.root.rglob("*evil*")) == []


def test_a_stream_that_is_given_up_keeps_what_came(server: FileServer, tmp_path: Path) -> None:
    came = threading.Event()

    def half(wire: Wire, _: Asked) -> None:
        wire.sendall(head(200, {"Content_Length": len(PNG), "ETag": '"v1"'}) + PNG[:300_000])
        came.set()
        wire.recv(1)

    url = server.serve("/a.png", half, file(PNG))
    with rigged(tmp_path) as rig, ThreadPoolExecutor(1) as pool:
        fetched = pool.submit(rig.fetch, url)
        assert came.wait(10)
        rig.http.give_up()
        with pytest.raises(CancelledError):
            fetched.result(10)
    with rigged(tmp_path) as later:
        assert later.fetch(url).is_ok
        assert later.objects() == [PNG]


def test_a_full_disk_is_no_fault_of_the_server(
    server: FileServer, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.serve("/a.png", file(PNG))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(parts, "_write", full)
        with pytest.raises(OSError, match="free some space on its disk") as caught:
            rig.fetch(url)
    assert ".parts" in str(caught.value)
    assert [row["outcome"] for row in rig.attempts if row["resolver"]] == []
    assert rig.fetch(url).is_ok


def test_a_stated_type_that_is_none_is_not_sent(server: FileServer, rig: Rig) -> None:
    rig.fetch(server.serve("/a.png", file(PNG)), mime="image/png\r\nX-Evil: yes")
    assert server.asked[0].headers["accept"].startswith("image/png, image/jpeg")
    assert "x-evil" not in server.asked[0].headers


def test_a_host_whose_large_files_take_long_is_asked_as_often_as_before(
    server: FileServer, tmp_path: Path
) -> None:
    def large(wire: Wire, _: Asked) -> None:
        wire.sendall(head(200, {"Content_Length": len(PNG), "ETag": '"v1"'}))
        time.sleep(0.3)
        wire.sendall(PNG)

    quick = FAST.model_copy(update={"slow_seconds": 0.25})
    with rigged(tmp_path, politeness=quick) as rig:
        for number in range(7):
            rig.fetch(server.serve(f"/{number}.png", large))
    assert {row["pace"] for row in rig.attempts} == {1.0}
    assert rig.attempts[-1]["latency_ms"] >= 300


def test_a_host_that_lets_a_files_headers_wait_is_asked_less(server: FileServer, tmp_path: Path) -> None:
    def late(wire: Wire, asked: Asked) -> None:
        time.sleep(0.3)
        file(PNG)(wire, asked)

    quick = FAST.model_copy(update={"slow_seconds": 0.1})
    with rigged(tmp_path, politeness=quick) as rig:
        for number in range(4):
            rig.fetch(server.serve(f"/{number}.png", late))
    assert rig.attempts[-1]["pace"] < 1
