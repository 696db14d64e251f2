"""The HTTP client against a server that misbehaves on command."""

import asyncio
import gzip
import socket
import threading
from collections.abc import Iterator
from time import monotonic
from typing import NoReturn

import pytest
from fake_mediawiki import (
    CAPTCHA,
    Behaviour,
    FakeWiki,
    drip_body,
    drip_headers,
    hang,
    page,
    reset,
    truncated,
)

from holocron_assets.crawl.http import connections
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.http.outcomes import HttpAnswer

AGENT = "Holocron-tests/1 (tests@example.org)"


@pytest.fixture
def wiki() -> Iterator[FakeWiki]:
    with FakeWiki() as wiki:
        yield wiki


@pytest.fixture
def client() -> Iterator[HttpClient]:
    with HttpClient(
        AGENT, deadline_seconds=0.5, body_limit_bytes=100_000, private_hosts=["127.0.0.1"]
    ) as client:
        yield client


def ask(client: HttpClient, wiki: FakeWiki) -> HttpAnswer:
    return client.send("GET", wiki.api_url, {"action": "query"})


def test_a_get_brings_status_headers_and_body(client: HttpClient, wiki: FakeWiki) -> None:
    answer = ask(client, wiki)
    assert (answer.status, answer.error) == (200, None)
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.body == b'{"batchcomplete": true, "query": {}}'
    assert 0 < answer.elapsed_seconds < 0.5


def test_every_request_names_the_project_and_asks_for_gzip(client: HttpClient, wiki: FakeWiki) -> None:
    ask(client, wiki)
    assert wiki.requests[0].headers["User-Agent"] == AGENT
    assert wiki.requests[0].headers["Accept-Encoding"] == "gzip"


def test_a_post_sends_its_parameters_as_a_form(client: HttpClient, wiki: FakeWiki) -> None:
    client.send("POST", wiki.api_url, {"titles": "Ä|b&c=d"})
    assert (wiki.requests[0].verb, wiki.requests[0].parameters) == ("POST", {"titles": "Ä|b&c=d"})


def test_requests_share_one_connection(client: HttpClient, wiki: FakeWiki) -> None:
    for _ in range(5):
        ask(client, wiki)
    assert len(wiki.connections) == 1


def test_a_gzipped_body_arrives_decompressed(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.will(lambda handler: handler.reply(200, gzip.compress(b"plain"), {"Content-Encoding": "gzip"}))
    assert ask(client, wiki).body == b"plain"


def test_a_gzip_bomb_is_refused(client: HttpClient, wiki: FakeWiki) -> None:
    bomb = gzip.compress(bytes(10_000_000))
    wiki.will(lambda handler: handler.reply(200, bomb, {"Content-Encoding": "gzip"}))
    answer = ask(client, wiki)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.error is not None
    assert "larger than 100000 bytes" in answer.error


def test_a_bomb_within_a_bomb_is_refused_unread(client: HttpClient, wiki: FakeWiki) -> None:
    bomb = gzip.compress(gzip.compress(bytes(10_000_000)))
    wiki.will(lambda handler: handler.reply(200, bomb, {"Content-Encoding": "gzip, gzip"}))
    assert "'gzip, gzip', which was not asked for" in str(ask(client, wiki).error)


def test_broken_gzip_is_an_error_not_a_crash(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.will(lambda handler: handler.reply(200, b"no gzip", {"Content-Encoding": "gzip"}))
    assert "the body's gzip is damaged" in str(ask(client, wiki).error)


def test_an_oversized_body_is_refused(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.will(page(200, "x" * 100_001))
    assert "larger than 100000 bytes" in str(ask(client, wiki).error)


@pytest.mark.fault(4, "thirty refused bodies in a row")
def test_refused_bodies_leave_no_connection_open(client: HttpClient, wiki: FakeWiki) -> None:
    # the client opens 32 connections at most
    wiki.will(*[page(200, "unread", Content_Encoding="unknown")] * 33)
    assert {ask(client, wiki).status for _ in range(33)} == {200}
    assert ask(client, wiki).error is None


def test_a_body_of_exactly_the_limit_is_taken(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.will(page(200, "x" * 100_000))
    assert len(ask(client, wiki).body) == 100_000


@pytest.mark.fault(4, "a server that hangs or drips")
@pytest.mark.parametrize("behaviour", [hang, drip_headers, drip_body])
def test_the_deadline_covers_the_whole_request(
    behaviour: Behaviour, client: HttpClient, wiki: FakeWiki
) -> None:
    wiki.will(behaviour)
    started = monotonic()
    answer = ask(client, wiki)
    assert monotonic() - started < 3  # each of them goes on for 5 s
    assert answer.error == "no whole answer within 0.5 s"


@pytest.mark.fault(4, "a name server that hangs")
def test_the_deadline_covers_the_lookup_of_the_name(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: woken.wait(10) and [])
    started = monotonic()
    answer = client.send("GET", "http://wiki.example/api.php", {})
    took = monotonic() - started
    woken.set()
    assert took < 5
    assert answer.error == "no whole answer within 0.5 s"


def test_a_truncated_body_is_an_error(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.will(truncated)
    answer = ask(client, wiki)
    assert (answer.status, answer.body) == (200, b"")
    assert "RemoteProtocolError" in str(answer.error)


def test_a_reset_connection_is_an_error_and_the_next_request_works(
    client: HttpClient, wiki: FakeWiki
) -> None:
    wiki.will(reset)
    answer = ask(client, wiki)
    assert answer.status is None
    assert "ReadError" in str(answer.error)
    assert ask(client, wiki).status == 200


@pytest.mark.fault(4, "nobody listens")
def test_nobody_listening_is_an_error(client: HttpClient) -> None:
    with FakeWiki() as gone:
        url = gone.api_url
    answer = client.send("GET", url, {})
    assert answer.status is None
    assert "ConnectError" in str(answer.error)


def test_attempts_to_connect_that_something_cancelled_are_an_error(
    client: HttpClient, wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancelled(*_: object) -> NoReturn:
        raise asyncio.CancelledError

    monkeypatch.setattr(connections, "connected", cancelled)
    answer = ask(client, wiki)
    assert answer.status is None
    assert answer.error == "ConnectError: the attempts to connect were cancelled"


@pytest.mark.fault(4, "an API that redirects to another host")
def test_a_redirect_is_reported_and_not_followed(client: HttpClient, wiki: FakeWiki) -> None:
    with FakeWiki() as other:
        wiki.will(page(302, "", Location=other.api_url))
        answer = ask(client, wiki)
        assert (answer.status, answer.headers["location"]) == (302, other.api_url)
        assert other.requests == []


def test_an_error_page_is_an_answer_like_any_other(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.will(page(403, CAPTCHA))
    answer = ask(client, wiki)
    assert (answer.status, answer.error, answer.body) == (403, None, CAPTCHA.encode())


def test_threads_share_a_client_and_each_gets_its_own_answer(wiki: FakeWiki) -> None:
    wiki.answer = lambda parameters: {"asked": parameters["number"]}
    wiki.delay_seconds = 0.02
    answers: dict[int, bytes] = {}

    def ask_for(number: int, shared: HttpClient) -> None:
        for _ in range(5):
            answers[number] = shared.send("GET", wiki.api_url, {"number": str(number)}).body

    with HttpClient(AGENT, private_hosts=["127.0.0.1"]) as shared:
        threads = [threading.Thread(target=ask_for, args=(number, shared)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {number: f'{{"asked": "{number}"}}'.encode() for number in range(8)}
    assert wiki.most_in_flight > 1
