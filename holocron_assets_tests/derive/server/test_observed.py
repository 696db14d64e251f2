"""What the model server logs of each request: under the caller's id, whatever it answers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from holocron_assets.derive.server.app import make_app
from holocron_assets.derive.server.endpoints import Endpoints
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.derive.server.model_files.fetching import own_model_files
from holocron_assets.derive.server.settings import ServerSettings
from holocron_assets.telemetry.logs import configure_logs


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of the server's application, which has no model."""
    monkeypatch.setenv("HOLOCRON_MODELS", str(tmp_path_factory.mktemp("models")))
    monkeypatch.setenv("HOLOCRON_LOG", "json")
    configure_logs()
    endpoints = Endpoints(shipped_catalog(), own_model_files(), ServerSettings(), instance="one")
    with TestClient(make_app(endpoints), base_url="http://127.0.0.1") as one:
        yield one
    configure_logs({})


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    logged = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    return [line for line in logged if line["event"] == "answered"]


def test_a_question_is_logged_under_the_callers_id(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"model": "nobody:1b", "messages": [{"role": "user", "content": "Hi"}]}
    assert client.post("/api/chat", json=asked, headers={"X-Request-ID": "q1"}).status_code == 404
    (line,) = lines(capsys)
    assert (line["request_id"], line["path"], line["status"]) == ("q1", "/api/chat", 404)
    assert line["milliseconds"] >= 0


def test_requests_for_the_version_are_not_logged_and_a_long_id_is_cut(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert client.get("/api/version").status_code == 200
    client.post("/api/chat", content=b"no json", headers={"X-Request-ID": "x" * 5000})
    (line,) = lines(capsys)
    assert line["request_id"] == "x" * 64
