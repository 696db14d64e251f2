"""Dagster's web UI does what its own pages ask for, and nothing for a page of another site."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pytest
from served_ui import LIMIT_A_POOL, dagster_ui, is_limited, post
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol
from whole_holocron import until, whole_holocron

GRAPHQL_WS = Subprotocol("graphql-ws")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with dagster_ui(folder) as address:
        yield address


def test_dagsters_own_pages_can_change_things(address: str, folder: Path) -> None:
    own = {"origin": address, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
    assert post(address, LIMIT_A_POOL, **own).status_code == 200
    assert is_limited(folder)


def test_what_is_no_browser_can_too(address: str, folder: Path) -> None:
    assert post(address, LIMIT_A_POOL).status_code == 200
    assert is_limited(folder)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "rebound.example"}, 421),
        ({"host": "rebound.example:3000"}, 421),
        ({"host": "127.0.0.1.rebound.example"}, 421),
        ({"host": "10.0.0.1"}, 421),
        ({"host": ""}, 421),
        ({"host": "["}, 421),
        ({"origin": "http://elsewhere.example"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 403),
    ],
    ids=str,
)
def test_another_site_changes_nothing(
    address: str, folder: Path, headers: dict[str, str], status: int
) -> None:
    assert post(address, LIMIT_A_POOL, **headers).status_code == status
    assert not is_limited(folder)


@pytest.mark.parametrize("kind", ["text/plain;application/json", "application/x-www-form-urlencoded"])
def test_a_form_of_another_site_changes_nothing(address: str, folder: Path, kind: str) -> None:
    """Browsers send these without asking first whether the site may."""
    answer = httpx.post(
        f"{address}/graphql",
        content=f'{{"query": "{LIMIT_A_POOL}"}}'.encode(),
        params={"query": LIMIT_A_POOL},
        headers={"content-type": kind, "origin": "http://elsewhere.example"},
        trust_env=False,
    )
    assert answer.status_code == 403
    assert not is_limited(folder)


@pytest.mark.parametrize("path", ["/graphql", "/graphql/", "//graphql"])
def test_an_address_changes_nothing_even_if_the_browser_sends_no_origin(
    address: str, folder: Path, path: str
) -> None:
    httpx.get(f"{address}{path}?query={quote(LIMIT_A_POOL)}", follow_redirects=True, trust_env=False)
    assert not is_limited(folder)


def test_a_link_from_another_site_may_be_followed_but_not_framed(address: str) -> None:
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    answer = httpx.get(address, headers=followed, trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    framed = followed | {"sec-fetch-dest": "iframe"}
    assert httpx.get(address, headers=framed, trust_env=False).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://elsewhere.example", "http://127.0.0.1:1", "null", "https://{host}"], ids=str
)
def test_a_web_socket_of_another_site_is_refused(address: str, origin: str) -> None:
    host = urlsplit(address).netloc
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://{host}/graphql", origin=Origin(origin.format(host=host)), subprotocols=[GRAPHQL_WS])
    assert refused.value.response.status_code == 403


def test_a_web_socket_of_its_own_page_is_taken(address: str) -> None:
    url = f"ws://{urlsplit(address).netloc}/graphql"
    with connect(url, origin=Origin(address), subprotocols=[GRAPHQL_WS]) as opened:
        opened.send('{"type": "connection_init"}')
        assert "connection_ack" in str(opened.recv(timeout=30))


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET http://rebound.example/ HTTP/1.1\r\nHost: rebound.example", 421),
        ("GET http://rebound.example/ HTTP/1.1\r\nHost: 127.0.0.1", 421),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: rebound.example", 400),
        ("GET / HTTP/1.1", 400),
        ("GET / HTTP/1.0", 421),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1", 200),
    ],
)
def test_a_request_names_its_host_once_and_plainly(address: str, head: str, status: int) -> None:
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode())
        with connection.makefile("rb") as answer:
            assert int(answer.readline().split()[1]) == status


PAGE = {"accept": "text/html,application/xhtml+xml"}


@pytest.mark.parametrize("path", ["/status", "/metrics", "/metrics.json", "/health", "/runs", "/runs/none"])
def test_the_endpoints_for_machines_are_behind_the_same_guard(address: str, path: str) -> None:
    answer = httpx.get(f"{address}{path}", trust_env=False, timeout=60)
    assert answer.status_code == {"/health": 503, "/runs/none": 404}.get(path, 200), "its daemon does not run"
    assert answer.headers["x-frame-options"] == "DENY"
    refused = httpx.get(f"{address}{path}", headers={"host": "rebound.example"}, trust_env=False)
    assert refused.status_code == 421


@pytest.mark.parametrize("path", ["/runs", "/runs/", "/runs/none", "/health"])
def test_a_browser_that_opens_dagsters_page_gets_it(address: str, path: str) -> None:
    answer = httpx.get(f"{address}{path}", headers=PAGE, trust_env=False)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")


def is_well(url: str) -> bool:
    answer = httpx.get(f"{url}/health", trust_env=False, timeout=60)
    return answer.status_code == 200 and answer.json()["health"] == "ok"


@pytest.mark.full
def test_holocron_ui_serves_dagsters_pages_behind_the_guard(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        with suppress(httpx.TransportError):
            return post(url, "{ version }").status_code == 200
        return False

    with whole_holocron(tmp_path, pages=0) as whole:
        started = whole.start("ui", "--port", str(port))
        until(answers, "the web UI answers", seconds=300, every=1)
        assert post(url, "{ version }", host="rebound.example").status_code == 421
        assert post(url, "{ version }", origin="http://elsewhere.example").status_code == 403
        until(lambda: is_well(url), "the daemon is heard of, and all is well", seconds=300, every=1)
        assert "holocron_up 1.0" in httpx.get(f"{url}/metrics", trust_env=False, timeout=60).text
        started.terminate()
        assert started.wait(timeout=120) == 0
