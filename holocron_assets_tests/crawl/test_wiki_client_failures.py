"""The API client against a wiki that misbehaves on command."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from broken_server import BOMBS, body, raw
from fake_crawl import Crawl, crawling, page_object
from fake_mediawiki import (
    LOGIN_PAGE,
    Behaviour,
    api_error,
    hang,
    page,
    reset,
    says,
    truncated,
)

from holocron_assets.crawl.errors import HostBusy, WikiRefused, WikiUnavailable
from holocron_assets.errors import PermanentError

pytestmark = pytest.mark.system


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    with crawling(tmp_path) as crawl:
        yield crawl


@pytest.mark.fault(4, "a failure that passes")
@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        (api_error("maxlag", Retry_After="0"), "maxlag"),
        (page(429, "slow down", Retry_After="0"), "throttled"),
        (api_error("ratelimited"), "throttled"),
        (page(503, "down"), "server_error"),
        (page(200, LOGIN_PAGE), "not_api"),
        (page(403, "forbidden"), "not_api"),
        (page(200, "<html>It works!</html>"), "not_api"),
        (page(200, ""), "not_api"),
        (page(301, "", Location="file:///etc/passwd"), "not_api"),
        (page(302, "", Location="gopher://127.0.0.1:70/_"), "not_api"),
        (
            raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
            "network_error",
        ),
        (body(BOMBS["JSON lists 100,000 deep"]()), "not_api"),
        (says(warnings={"main": {"warnings": "This result was truncated."}}), "not_api"),
        (truncated, "network_error"),
        (reset, "network_error"),
        (hang, "network_error"),
    ],
)
def test_a_failure_that_passes_is_tried_again_and_recorded(
    crawl: Crawl, behaviour: Behaviour, outcome: str
) -> None:
    crawl.wiki.answer = lambda _: {"batchcomplete": True, "query": {"pages": [page_object("A")]}}
    crawl.wiki.will(behaviour)
    assert crawl.fetch("A") == {"A": page_object("A")}
    assert crawl.outcomes() == [outcome, "ok"]
    first, second = crawl.attempts
    assert first["error"]
    assert 1 <= first["retry_wait_s"] <= 1.5
    assert (second["started_at"] - first["started_at"]).total_seconds() >= first["retry_wait_s"]
    assert [first["attempt"], second["attempt"]] == [1, 2]
    assert second["limiter_wait_s"] < 1  # the wait for the host is recorded in the first row


@pytest.mark.fault(4, "500 three times")
def test_after_three_failures_the_wiki_is_unavailable_until_a_stated_time(crawl: Crawl) -> None:
    crawl.wiki.will(*[page(500, "broken")] * 3)
    with pytest.raises(WikiUnavailable, match="HTTP 500; its body is not JSON") as caught:
        crawl.fetch("A")
    assert crawl.outcomes() == ["server_error"] * 3
    assert caught.value.outcome == "server_error"
    assert caught.value.host == crawl.wiki.host
    wait = (caught.value.due_at - datetime.now(UTC)).total_seconds()
    assert 3 < wait < 7


def test_the_waits_of_one_request_stay_within_ten_seconds_in_all(crawl: Crawl) -> None:
    crawl.wiki.will(page(503, "", Retry_After="2"), page(503, "", Retry_After="9"))
    with pytest.raises(WikiUnavailable):
        crawl.fetch("A")
    assert [attempt["retry_wait_s"] for attempt in crawl.attempts] == [2, 9]


@pytest.mark.fault(4, "a long Retry-After")
@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("300", 300),
        ("1000000000", 900),
        ("9" * 5000, 900),
        ("Sun, 21 Nov 2099 12:00:00 GMT", 900),
        ("Sun, 21 Nov 2099 12:00:00 +1400", 900),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_long_retry_after_is_stored_not_slept(crawl: Crawl, retry_after: str, seconds: float) -> None:
    crawl.wiki.will(page(429, "", Retry_After=retry_after))
    with pytest.raises(WikiUnavailable) as caught:
        crawl.fetch("A")
    due_in = caught.value.due_at - datetime.now(UTC)
    assert due_in.total_seconds() == pytest.approx(seconds, abs=5)
    assert crawl.attempts[0]["retry_wait_s"] == seconds
    with pytest.raises(HostBusy):
        crawl.fetch("A")
    assert len(crawl.wiki.requests) == 1
    assert crawl.outcomes() == ["throttled", "held"]
    unsent = crawl.attempts[1]
    assert (unsent["status"], unsent["error"]) == (
        None,
        "it is being left alone (it asked for fewer requests)",
    )
    assert unsent["retry_wait_s"] == pytest.approx(seconds, abs=5)


@pytest.mark.fault(4, "a Retry-After that says nothing")
@pytest.mark.parametrize("retry_after", ["in a while", "", "Sun, 21 Nov 1999 12:00:00 GMT"])
def test_a_garbled_retry_after_means_the_usual_wait(crawl: Crawl, retry_after: str) -> None:
    crawl.wiki.will(page(429, "", Retry_After=retry_after))
    crawl.fetch("A")
    assert crawl.attempts[0]["retry_wait_s"] < 2


@pytest.mark.fault(4, "a refusal for good")
@pytest.mark.parametrize(
    ("behaviour", "outcome", "reason"),
    [
        (
            api_error("readapidenied"),
            "api_error",
            "API error 'readapidenied': Information about readapidenied.",
        ),
        (page(404, "no such file"), "client_error", "HTTP 404"),
    ],
)
def test_a_refusal_is_permanent_and_asked_once(
    crawl: Crawl, behaviour: Behaviour, outcome: str, reason: str
) -> None:
    crawl.wiki.will(behaviour)
    with pytest.raises(WikiRefused, match=reason) as caught:
        crawl.fetch("A")
    assert isinstance(caught.value, PermanentError)
    assert crawl.outcomes() == [outcome] == [caught.value.outcome]


@pytest.mark.fault(4, "an answer that goes on for ever")
@pytest.mark.parametrize(
    ("length", "said"),
    [(1, "its answers for these pages have no end after 200 of them"), (20_000, "its continue has")],
)
def test_an_answer_that_goes_on_for_ever_is_given_up(length: int, said: str, crawl: Crawl) -> None:
    numbers = itertools.count()
    crawl.wiki.answer = lambda _: {
        "query": {"pages": [page_object("A")]},
        "continue": {"rvcontinue": f"{next(numbers):0{length}}", "continue": "||"},
    }
    with pytest.raises(WikiUnavailable, match=said) as caught:
        crawl.fetch("A")
    assert caught.value.outcome == "not_api"
    assert len(crawl.wiki.requests) <= 200
