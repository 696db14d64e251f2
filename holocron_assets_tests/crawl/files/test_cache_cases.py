"""What the test suite for HTTP caches (http-tests/cache-tests) asks of a downloader, as facts about us."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import time_machine
from fetching_rig import Rig, SwiftClock, rigged
from file_server import FileServer, answer, file
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.files.transfers.answers import Asked, verdict_of
from holocron_assets.crawl.files.transfers.freshness import fresh_until
from holocron_assets.crawl.files.transfers.transfer import Held, Transfer

NOW = datetime.now(UTC).replace(microsecond=0)
PDF = b"%PDF-1.7\n" + b"text" * 1000


def at(seconds: int) -> str:
    """A date of HTTP, so many seconds from now."""
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


def seconds_fresh(**headers: str) -> float:
    """For how long an answer with these headers holds; 0 if it does not."""
    with time_machine.travel(NOW, tick=False):
        until = fresh_until({name.replace("_", "-"): value for name, value in headers.items()}, NOW)
    return (until - NOW).total_seconds() if until else 0.0


@pytest.mark.parametrize(
    ("fact", "headers", "seconds"),
    [
        ("an answer without a word about it is not fresh", {}, 0),
        ("Last-Modified alone is no word about it", {"last_modified": at(-86_400)}, 0),
        ("max-age is obeyed", {"cache_control": "max-age=3600"}, 3600),
        ("in any case of its letters", {"cache_control": "MaX-aGe=3600"}, 3600),
        ("with leading zeros", {"cache_control": "max-age=003600"}, 3600),
        ("among extensions", {"cache_control": "foobar, max-age=3600"}, 3600),
        ("as zero", {"cache_control": "max-age=0"}, 0),
        ("but not if negative", {"cache_control": "max-age=-100"}, 0),
        ("nor if no number", {"cache_control": "max-age=a100"}, 0),
        ("nor in single quotes", {"cache_control": "max-age='3600'"}, 0),
        ("nor within a quoted text before it", {"cache_control": 'extension="max-age=100", max-age=1'}, 1),
        ("nor within a quoted text after it", {"cache_control": 'max-age=1, extension="max-age=100"'}, 1),
        ("it is a year at most", {"cache_control": "max-age=99999999999"}, 365 * 86_400),
        ("Age counts", {"cache_control": "max-age=10", "age": "4"}, 6),
        ("an Age above it ends it", {"cache_control": "max-age=10", "age": "15"}, 0),
        ("however long it is", {"cache_control": "max-age=10", "age": "9" * 5000}, 0),
        ("an Age that is no number does not count", {"cache_control": "max-age=10", "age": "abc"}, 10),
        ("a negative Age does not count", {"cache_control": "max-age=10", "age": "-7200"}, 10),
        (
            "max-age counts before a past Expires",
            {"cache_control": "max-age=60", "expires": at(-9), "date": at(0)},
            60,
        ),
        ("and before an invalid one", {"cache_control": "max-age=60", "expires": "0"}, 60),
        ("and before a future one", {"cache_control": "max-age=0", "expires": at(999), "date": at(0)}, 0),
        ("s-maxage is for caches that people share", {"cache_control": "s-maxage=3600, max-age=1"}, 1),
        ("private is for one like us", {"cache_control": "private, max-age=60"}, 60),
        ("must-revalidate leaves it fresh", {"cache_control": "max-age=60, must-revalidate"}, 60),
        ("Expires is obeyed", {"expires": at(3600), "date": at(0)}, 3600),
        ("a past Expires is not fresh", {"expires": at(-3600), "date": at(0)}, 0),
        ("a present Expires is not fresh", {"expires": at(0), "date": at(0)}, 0),
        ("an Expires before its Date is not fresh", {"expires": at(300), "date": at(400)}, 0),
        ("an invalid Expires is not fresh", {"expires": "0", "date": at(0)}, 0),
        ("no-store is never fresh", {"cache_control": "max-age=10000, No-StOrE"}, 0),
        ("no-cache is never fresh", {"cache_control": "max-age=10000, No-CaChE"}, 0),
        ("not even with Expires", {"cache_control": "no-cache", "expires": at(999), "date": at(0)}, 0),
    ],
)
def test_cache_control_is_obeyed(fact: str, headers: dict[str, str], seconds: float) -> None:
    assert seconds_fresh(**headers) == seconds, fact


@given(st.dictionaries(st.sampled_from(["cache-control", "expires", "date", "age"]), st.text(max_size=40)))
def test_no_header_breaks_the_reading_of_freshness(headers: dict[str, str]) -> None:
    until = fresh_until(headers, NOW)
    assert until is None or NOW < until <= NOW + timedelta(days=366)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    SwiftClock(monkeypatch)
    with FileServer() as server:
        yield server


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as rig:
        yield rig


def check(rig: Rig, url: str, first: Transfer, **known: Any) -> Transfer:
    """Ask for a file again, with what came of it the first time."""
    assert first.sha256 is not None
    of_answer = {"etag": first.headers.get("etag"), "last_modified": first.headers.get("last-modified")}
    return rig.fetch(url, replace(Held(first.sha256, url), **{**of_answer, **known}))


@pytest.mark.parametrize("etag", ['"abcdef"', 'W/"abcdef"', '"abcdef\u00fc"', "abcdef"])
def test_a_check_sends_the_etag_as_it_came(etag: str, server: FileServer, rig: Rig) -> None:
    url = server.serve("/a.pdf", file(PDF, etag))
    made = check(rig, url, rig.fetch(url))
    assert (made.verdict.reason, server.asked[1].headers["if-none-match"]) == ("http-304", etag)


def test_a_check_sends_the_date_as_it_came(server: FileServer, rig: Rig) -> None:
    url = server.serve("/a.pdf", file(PDF, None, Last_Modified="Monday, 02-Nov-26 10:00:00 GMT"))
    made = check(rig, url, rig.fetch(url))
    assert made.verdict.reason == "http-304"
    assert server.asked[1].headers["if-modified-since"] == "Monday, 02-Nov-26 10:00:00 GMT"


def test_a_file_without_validators_is_asked_for_whole(server: FileServer, rig: Rig) -> None:
    url = server.serve("/a.pdf", file(PDF, None))
    assert check(rig, url, rig.fetch(url)).verdict.reason == "http-200"


def test_a_304_renews_what_the_answer_says_of_itself(server: FileServer, rig: Rig) -> None:
    renewed = answer(304, Content_Length=None, ETag='"v1"', Cache_Control="max-age=3600", Last_Modified=at(0))
    url = server.serve("/a.pdf", file(PDF, Cache_Control="max-age=1"), renewed)
    made = check(rig, url, rig.fetch(url))
    assert made.headers["last-modified"] == at(0)
    assert made.fresh_until is not None
    assert made.fresh_until > NOW + timedelta(seconds=3000)


def test_a_304_keeps_what_it_does_not_say(server: FileServer, rig: Rig) -> None:
    url = server.serve("/a.pdf", file(PDF), answer(304, Content_Length=None))
    made = check(rig, url, rig.fetch(url))
    assert (made.headers["etag"], made.size_bytes, made.mime) == ('"v1"', len(PDF), "application/pdf")


def test_a_304_of_another_version_does_not_count(server: FileServer, rig: Rig) -> None:
    newer = PDF + b"more"
    url = server.serve(
        "/a.pdf", file(PDF), answer(304, Content_Length=None, ETag='"v3"'), file(newer, '"v3"')
    )
    made = check(rig, url, rig.fetch(url))
    assert (made.verdict.reason, made.size_bytes) == ("http-200", len(newer))
    assert "if-none-match" not in server.asked[2].headers


def test_a_part_is_completed_only_by_the_bytes_that_follow_it() -> None:
    asked = Asked(start=5, validator='"v1"', length=10)
    verdict = verdict_of(asked, 206, {"content-range": "bytes 5-9/10", "cache-control": "max-age=3600"})
    assert (verdict.kind, verdict.length) == ("rest", 10)
    assert verdict_of(asked, 206, {"content-range": "bytes 4-9/10"}).kind == "wrong"
    assert verdict_of(Asked(), 206, {"content-range": "bytes 4-9/10"}).kind == "wrong"
