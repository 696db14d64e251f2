"""A firewall that refuses us as a whole is told from a server that refuses one file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fetching_rig import SwiftClock
from file_server import Behaviour, FileServer, answer, file
from reading_rig import BATCH, a_list, a_wiki, attempts, read_one, reading, wanted

from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.file_batches import FILES_OF_A_BATCH
from holocron_assets.crawl.sources.file_source import FileSource, Resolver
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 1000
PAGE = b"<html><title>Sorry, you have been blocked</title></html>"
BLOCKED = answer(403, PAGE, Content_Type="text/html; charset=UTF-8")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SwiftClock:
    return SwiftClock(monkeypatch)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def read_all(folder: Path, source: FileSource, urls: list[str]) -> list[Row]:
    """The rows of a batch of files."""
    lake = Lake(folder / "data")
    rows = [wanted(f"{place}.png", url, position=place) for place, url in enumerate(urls)]
    write_partition(lake, FILE_BATCHES, BATCH, rows)
    with reading(folder, source) as reader:
        return fetch_batch(lake, BATCH, reader, "a-run", FILES_OF_A_BATCH)


def test_a_file_that_a_firewall_refuses_is_tried_again_and_comes_when_the_block_is_over(
    server: FileServer, tmp_path: Path
) -> None:
    row = wanted("a.png", server.serve("/a.png", file(PNG)))
    server.wall = BLOCKED
    found = read_one(tmp_path, a_list(), row)
    assert (found["status"], found["reason"], found["http_status"]) == ("failed", "wall", 403)
    assert (found["attempts"], found["due_at"] > utc_now()) == (1, True)
    assert "nothing shows that its host answers anything else" in found["error"]
    server.wall = None
    assert read_one(tmp_path, a_list(), row)["status"] == "ok"


@pytest.mark.parametrize("kind", ["list", "wiki"])
def test_a_block_holds_the_host_and_gives_no_file_up(server: FileServer, tmp_path: Path, kind: str) -> None:
    urls = [server.serve(f"/{number}.png", file(PNG)) for number in range(40)]
    server.wall = BLOCKED
    politeness = a_list().politeness.model_copy(update={"requests_in_flight": 1})
    if kind == "list":
        rows = read_all(tmp_path, a_list(politeness=politeness), urls)
        assert {row["status"] for row in rows} == {"failed"}
        assert sum(row["attempts"] for row in rows) < 20
    else:
        with pytest.raises(WikiUnavailable, match="it is being left alone"):
            read_all(tmp_path, a_wiki(server.url("/api.php"), politeness=politeness), urls)
    assert len(server.asked) + server.robots_asked < 30
    assert {row["outcome"] for row in attempts(tmp_path)} <= {"client_error", "held", "breaker_open"}


def test_a_file_that_its_server_refuses_alone_is_refused_for_good_and_costs_its_host_no_rest(
    server: FileServer, tmp_path: Path, clock: SwiftClock
) -> None:
    url = server.serve("/a.png", BLOCKED)
    found = read_one(tmp_path, a_list(), wanted("a.png", url))
    assert (found["status"], found["reason"], found["due_at"]) == ("refused", "http-403", None)
    assert (len(server.asked), server.robots_asked, clock.ahead < 1) == (1, 2, True)


def test_many_files_that_are_refused_alone_open_no_breaker_and_cost_one_more_request(
    server: FileServer, tmp_path: Path
) -> None:
    urls = [server.serve(f"/{number}.png", BLOCKED) for number in range(40)]
    politeness = a_list().politeness.model_copy(update={"requests_in_flight": 1})
    rows = read_all(tmp_path, a_list(politeness=politeness), [*urls, server.serve("/good.png", file(PNG))])
    assert [row["status"] for row in rows] == ["refused"] * 40 + ["ok"]
    assert server.robots_asked == 2  # once as robots.txt, and once to tell a firewall


def test_a_file_is_not_refused_for_good_while_its_host_may_not_be_asked_for_anything_else(
    server: FileServer, tmp_path: Path
) -> None:
    url = server.serve("/a.png", BLOCKED)
    politeness = a_list().politeness.model_copy(update={"requests_per_day": 2})
    [row] = read_all(tmp_path, a_list(politeness=politeness), [url])
    assert (row["status"], row["reason"], row["due_at"] > utc_now()) == ("failed", "wall", True)
    assert server.robots_asked == 1


@pytest.mark.parametrize(
    "said",
    [
        answer(403, b"<Error><Code>AccessDenied</Code></Error>", Content_Type="application/xml"),
        answer(403),
        answer(401, PAGE, Content_Type="text/html"),
    ],
)
def test_a_refusal_that_is_no_page_for_people_is_one_of_the_file_and_asks_nothing_more(
    server: FileServer, tmp_path: Path, said: Behaviour
) -> None:
    url = server.serve("/a.png", said)
    assert read_one(tmp_path, a_list(), wanted("a.png", url))["status"] == "refused"
    assert (len(server.asked), server.robots_asked) == (1, 1)


def test_the_firewall_of_the_host_that_a_redirect_leads_to_counts(server: FileServer, tmp_path: Path) -> None:
    with FileServer(wall=BLOCKED) as other:
        url = server.serve("/a.png", answer(302, Location=other.url("/a.png")))
        assert read_one(tmp_path, a_list(), wanted("a.png", url))["reason"] == "wall"
        assert (server.robots_asked, other.robots_asked) == (1, 2)


def test_behind_a_firewall_the_next_resolver_is_tried_at_once(server: FileServer, tmp_path: Path) -> None:
    mirror = Resolver(use="template", name="mirror", template=server.url("/mirror/{name}"))
    server.serve("/mirror/a.png", file(PNG))
    with FileServer(wall=BLOCKED) as other:
        row = wanted("a.png", other.url("/a.png"))
        found = read_one(tmp_path, a_list(resolvers=(Resolver(use="direct"), mirror)), row)
    assert (found["status"], found["resolver"]) == ("ok", "mirror")
