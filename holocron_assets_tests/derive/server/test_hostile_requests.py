"""Requests to the embedded server that ask for too much: refused or cut to what there is, and it goes on."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from holocron_assets.derive.server import disconnects
from holocron_assets.derive.server.disconnects import body_of
from holocron_assets.derive.server.process.connection import embedded_server
from holocron_assets.lake.place.paths import Lake

MODEL = "smollm2:135m"
HI = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def server(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    environment = {
        **os.environ,
        "HOLOCRON_MODELS": str(folder / "models"),
        "HOLOCRON_MODEL_FILES": str(model_file),
    }
    with embedded_server(Lake(folder), environment) as url:
        yield url


def chat(server: str, **options: Any) -> httpx.Response:
    asked = {"model": MODEL, "messages": HI, "stream": False, "options": {"num_predict": 4, **options}}
    return httpx.post(f"{server}/api/chat", json=asked, timeout=120, trust_env=False)


@pytest.mark.fault(9, "a request that asks the embedded server for too much")
@pytest.mark.parametrize(
    "options",
    [{"num_ctx": 1}, {"num_ctx": 16}, {"num_ctx": 10**12}, {"num_keep": 2**31 - 1}, {"stop": ["x"] * 1000}],
    ids=["a context of 1", "a context of 16", "a context of 10^12", "all kept", "1,000 stop words"],
)
def test_an_absurd_context_is_cut_to_what_the_model_has_(server: str, options: dict[str, Any]) -> None:
    answer = chat(server, **options)
    assert answer.is_success, answer.text
    assert chat(server, num_ctx=512).is_success, "and the next one is answered"


@pytest.mark.fault(9, "a request with a number that no 32 bits hold")
@pytest.mark.parametrize(
    "options",
    [{name: 2**31} for name in ("num_predict", "seed", "top_k", "repeat_last_n", "num_keep")],
    ids=lambda options: next(iter(options)),
)
def test_a_number_that_would_become_another_is_refused(server: str, options: dict[str, Any]) -> None:
    answer = chat(server, **options)
    assert answer.status_code == 400
    assert next(iter(options)) in answer.json()["error"]


@pytest.mark.fault(9, "a request larger than memory")
def test_a_body_that_is_too_large_is_refused_while_it_comes(server: str) -> None:
    where = urlsplit(server)
    sent = 0
    with socket.create_connection((where.hostname, where.port), timeout=30) as connection:
        head = f"POST /api/chat HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {10**10}\r\n\r\n"
        connection.sendall(head.encode())
        try:
            while sent < 200 * 1024**2:
                sent += connection.send(b" " * 1024**2)
        except OSError:
            pass
        assert sent < 100 * 1024**2
        assert b" 413 " in connection.recv(100)
    assert chat(server).is_success


@pytest.mark.fault(9, "a request that comes a byte at a time")
def test_a_body_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disconnects, "SECONDS_TO_SEND", 0.3)

    async def receive() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    with pytest.raises(HTTPException, match="too long") as refused:
        asyncio.run(body_of(Request({"type": "http", "method": "POST", "headers": []}, receive)))
    assert refused.value.status_code == 408
