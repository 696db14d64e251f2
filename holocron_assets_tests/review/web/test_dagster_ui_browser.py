"""Dagster's web UI in a real browser: its own pages work, and another site's page gets nothing out of it."""

import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, WebSocket, sync_playwright
from served_ui import LIMIT_A_POOL, dagster_ui, is_limited, post

from holocron_assets.settings import PROJECT_FOLDER

pytestmark = [pytest.mark.browser, pytest.mark.full]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_REBOUND = "rebound.example"
_PATIENCE_MS = 60_000
_HOSTILE = """
<form method="post" enctype="text/plain" action="{ui}/graphql" target="out">
<input name='{{"query": "{change}", "x": "' value='"}}'></form><iframe name="out"></iframe>
<iframe src="{ui}/"></iframe>
<img src="{ui}/graphql?query={asked}">
<script>
const tried = [
  fetch("{ui}/graphql", {{method: "POST", mode: "no-cors", headers: {{"content-type": "text/plain"}},
    body: JSON.stringify({{query: decodeURIComponent("{asked}")}})}}),
  fetch("{ui}/graphql?query={asked}", {{method: "POST", mode: "no-cors"}}),
  fetch("{ui}/graphql?query={asked}", {{mode: "no-cors"}}),
  new Promise((done) => {{
    const opened = new WebSocket("{ws}/graphql", "graphql-ws");
    opened.onopen = () => {{ document.title = "let in"; done(); }};
    opened.onerror = done;
  }}),
];
document.querySelector("form").submit();
Promise.allSettled(tried).then(() => setTimeout(() => {{ document.body.id = "tried"; }}, 1000));
</script>
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The machine's own browser, for which a name of another site means this machine."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"needs a browser: none of {', '.join(_NAMES)} is on PATH")
    arguments = ["--no-sandbox", "--disable-gpu", f"--host-resolver-rules=MAP {_REBOUND} 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with dagster_ui(folder, workspace=PROJECT_FOLDER / "workspace.yaml") as address:
        yield address


@pytest.fixture
def hostile(address: str, tmp_path: Path) -> Iterator[str]:
    """The address of another site's page, which tries all that a page can."""
    asked, web_socket = quote(LIMIT_A_POOL), f"ws://{urlsplit(address).netloc}"
    change = LIMIT_A_POOL.replace('"', '\\"')
    page = _HOSTILE.format(ui=address, ws=web_socket, asked=asked, change=change)
    (tmp_path / "index.html").write_text(page)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path))  # type: ignore[arg-type] # as they came

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{_REBOUND}:{server.server_port}/"
        server.shutdown()


def test_dagsters_own_pages_load_ask_and_subscribe(chromium: Browser, address: str) -> None:
    page, said = chromium.new_page(), list[str]()

    def listen(opened: WebSocket) -> None:
        opened.on("framereceived", lambda frame: said.append(str(frame)))

    page.on("websocket", listen)
    page.goto(f"{address}/jobs", timeout=_PATIENCE_MS)
    page.get_by_text("resolve_entities").first.wait_for(timeout=_PATIENCE_MS)
    page.wait_for_timeout(500)
    assert any("connection_ack" in frame for frame in said)
    page.close()


def test_another_sites_page_changes_nothing_and_shows_nothing(
    chromium: Browser, address: str, folder: Path, hostile: str
) -> None:
    page = chromium.new_page()
    page.goto(hostile)
    page.locator("#tried").wait_for(state="attached", timeout=_PATIENCE_MS)
    assert page.title() != "let in"
    assert not is_limited(folder)
    assert all(not frame.url.startswith(address) for frame in page.frames)
    page.close()


def test_a_site_whose_name_is_made_to_mean_this_machine_reads_nothing(
    chromium: Browser, address: str, folder: Path
) -> None:
    page = chromium.new_page()
    answer = page.goto(f"http://{_REBOUND}:{urlsplit(address).port}/")
    assert answer is not None
    assert answer.status == 421
    status = page.evaluate(
        "query => fetch('/graphql', {method: 'POST', headers: {'content-type': 'application/json'},"
        " body: JSON.stringify({query})}).then(answer => answer.status)",
        LIMIT_A_POOL,
    )
    assert status == 421
    assert not is_limited(folder)
    page.close()


def test_what_the_hostile_page_tries_does_work_where_nobody_refuses(address: str, folder: Path) -> None:
    assert post(address, LIMIT_A_POOL).status_code == 200
    assert is_limited(folder)
