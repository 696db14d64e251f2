"""The HTTP client against all that a server can do wrong: a named error in time, and then it goes on."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic

import pytest
from broken_server import BOMBS, BROKEN, GOOD, MORE_THAN_IT_SAYS, ODD, gzipped, zeros
from fake_mediawiki import Behaviour, FakeWiki, api, to_be_reset

from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.http.outcomes import HttpAnswer
from holocron_assets.crawl.mediawiki.answers import read_answer

pytestmark = pytest.mark.system

READ_BOMB = Path(__file__).parent / "read_bomb.py"
DEADLINE = 0.7
LIMIT = 40_000_000
AGENT = "Holocron-tests/1 (tests@example.org)"


@pytest.fixture
def wiki() -> Iterator[FakeWiki]:
    with FakeWiki(answer=lambda asked: {"query": {"asked": asked["number"]}}) as wiki:
        yield wiki


@pytest.fixture
def client() -> Iterator[HttpClient]:
    with HttpClient(
        AGENT, deadline_seconds=DEADLINE, body_limit_bytes=LIMIT, private_hosts=["127.0.0.1"]
    ) as client:
        yield client


def faulty(table: Mapping[str, object]) -> pytest.MarkDecorator:
    mark = pytest.mark.fault(4, "an answer")
    return pytest.mark.parametrize(
        "broken", [pytest.param(table[name], id=name, marks=mark) for name in table]
    )


@faulty(BROKEN)
def test_no_whole_answer_is_an_error_in_time_and_the_next_request_gets_its_own(
    broken: Behaviour, client: HttpClient, wiki: FakeWiki
) -> None:
    zeros(60_000_000)
    wiki.will(broken)
    started = monotonic()
    answer = client.send("GET", wiki.api_url, {"number": "1"})
    took = monotonic() - started
    assert (answer.body, bool(answer.error)) == (b"", True), answer.error
    assert took < DEADLINE + 3
    for number in ("2", "3"):
        good = client.send("GET", wiki.api_url, {"number": number})
        assert (good.error, json.loads(good.body)) == (None, {"query": {"asked": number}})


@faulty(ODD)
def test_a_strange_answer_that_is_whole_is_read(
    broken: Behaviour, client: HttpClient, wiki: FakeWiki
) -> None:
    wiki.will(broken)
    answer = client.send("GET", wiki.api_url, {"number": "1"})
    assert (answer.error, json.loads(answer.body or b"null")) == (None, GOOD)
    good = client.send("GET", wiki.api_url, {"number": "2"})
    assert (good.error, json.loads(good.body)) == (None, {"query": {"asked": "2"}})


@pytest.mark.fault(4, "an answer with another behind it")
def test_what_comes_behind_an_answer_is_not_the_next_one(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.will(MORE_THAN_IT_SAYS)
    assert json.loads(client.send("GET", wiki.api_url, {"number": "1"}).body) == GOOD
    after = client.send("GET", wiki.api_url, {"number": "2"})
    assert (after.error, json.loads(after.body)) == (None, {"query": {"asked": "2"}})


@pytest.mark.fault(4, "a connection that is reset before a request is read")
def test_a_connection_that_is_reset_at_the_door_is_an_error(client: HttpClient, wiki: FakeWiki) -> None:
    wiki.doors.append(to_be_reset)
    assert client.send("GET", wiki.api_url, {"number": "1"}).error
    assert client.send("GET", wiki.api_url, {"number": "2"}).error is None


@faulty(BOMBS)
def test_a_body_that_is_no_answer_of_the_api_is_refused_by_name(broken: Callable[[], bytes]) -> None:
    said = read_answer(HttpAnswer(200, {}, broken()))
    assert said.content is None
    assert str(said.problem).startswith("HTTP 200; its ")
    assert len(str(said.problem)) < 400


@pytest.mark.fault(4, "a bomb, and the memory of the process that meets it")
@pytest.mark.parametrize(
    ("bomb", "limit", "problem", "most_mb"),
    [
        # 64 KiB as they come from the socket unpack to 67 MB.
        (lambda: gzipped(zeros(100_000_000)), 1_000_000, "larger than 1000000 bytes", 20),
        (lambda: gzipped(gzip.compress(b"[" + b"[]," * 10_000_000 + b"1]")), 32 * 2**20, "values", 150),
        (lambda: gzipped(gzip.compress(b" " * 31_000_000)), 32 * 2**20, "not JSON", 150),
    ],
    ids=["gzip of 100 MB", "10 million empty lists", "31 MB of nothing"],
)
def test_a_bomb_takes_no_more_memory_than_the_limit_allows(
    bomb: Callable[[], Behaviour], limit: int, problem: str, most_mb: float, wiki: FakeWiki
) -> None:
    wiki.answer = lambda _: GOOD
    wiki.will(api(lambda _: GOOD), bomb())
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(READ_BOMB), wiki.api_url, str(limit)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert problem in report["problem"]
    assert report["grew_mb"] < most_mb
