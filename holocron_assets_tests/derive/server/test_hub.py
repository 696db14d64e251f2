"""Fetching from the model hub: the real client, against a hub of our own on loopback."""

import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from holocron_assets.derive.server.model_files.catalog import HubFile, Model, shipped_catalog
from holocron_assets.derive.server.model_files.hub import fetch_from_hub
from holocron_assets.derive.server.model_files.sources import ModelSourceError, no_report

CONTENTS = b"model " * 2_000_000  # more than the client reads in one go
SHA256 = hashlib.sha256(CONTENTS).hexdigest()


class Hub(BaseHTTPRequestHandler):
    """Serves one file as the hub does; breaks off in its middle as often as a test wants."""

    protocol_version = "HTTP/1.1"
    breaks: int
    asked: list[tuple[str, str]]

    def do_HEAD(self) -> None:
        self.asked.append(("HEAD", ""))
        self._head(200, len(CONTENTS))

    def do_GET(self) -> None:
        if self.path.startswith("/api/"):  # the client's own question, once a day: is an assistant at work?
            self.send_error(404)
            return
        wanted = self.headers.get("Range", "")
        self.asked.append(("GET", wanted))
        start = int(found[1]) if (found := re.search(r"bytes=(\d+)-", wanted)) else 0
        self._head(206 if start else 200, len(CONTENTS) - start)
        if type(self).breaks:
            type(self).breaks -= 1
            self.wfile.write(CONTENTS[start : start + 11_000_000])
            self.close_connection = True
        else:
            self.wfile.write(CONTENTS[start:])

    def _head(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{SHA256}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    handler = type("OneHub", (Hub,), {"breaks": 0, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield handler
    server.shutdown()
    server.server_close()


def hub_model(sha256: str = SHA256) -> Model:
    known = shipped_catalog().models[0]
    file = HubFile(repository="someone/models", file="model.gguf")
    return known.model_copy(update={"sha256": sha256, "size": len(CONTENTS), "hub": file})


@pytest.mark.usefixtures("hub")
def test_a_file_comes_from_the_hub_and_its_progress_is_reported(tmp_path: Path) -> None:
    progress: list[int] = []
    path = fetch_from_hub(hub_model(), tmp_path, lambda _, done, __: progress.append(done))
    assert path.read_bytes() == CONTENTS
    assert progress[-1] == len(CONTENTS)


def test_a_download_that_broke_off_goes_on_where_it_stopped(hub: type[Hub], tmp_path: Path) -> None:
    hub.breaks = 1
    assert fetch_from_hub(hub_model(), tmp_path, no_report).read_bytes() == CONTENTS
    first, second = (wanted for method, wanted in hub.asked if method == "GET")
    assert first == ""
    assert int(second.removeprefix("bytes=").removesuffix("-")) > len(CONTENTS) // 2


def test_another_file_under_the_name_is_refused_before_it_is_fetched(hub: type[Hub], tmp_path: Path) -> None:
    with pytest.raises(ModelSourceError, match="another file as someone/models"):
        fetch_from_hub(hub_model("0" * 64), tmp_path, no_report)
    assert [method for method, _ in hub.asked] == ["HEAD"]


def test_without_a_network_it_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelSourceError, match="cannot be reached"):
        fetch_from_hub(hub_model(), tmp_path, no_report)
