"""Who is let in, what is sealed, and that no other site can have anything decided."""

import base64
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from review_lake import NEM, copied
from starlette.testclient import TestClient

from holocron_assets.cli.main import main
from holocron_assets.decisions.log import all_decisions
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk
from holocron_assets.review.web.guard import token_of
from holocron_assets.review.web.serving import CannotServeError, serve

pytestmark = pytest.mark.system

HERE = "http://127.0.0.1:8001"
ENTITY = f"/entity/{NEM}"
SESSION = "a-session"
TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - of these tests


@pytest.fixture
def lake(made_review_lake: Lake, tmp_path: Path) -> Lake:
    return copied(made_review_lake, tmp_path)


@pytest.fixture
def page(lake: Lake) -> Iterator[TestClient]:
    desk = Desk(lake, "Ada", ("Concept",))
    cookies = {"holocron-8001": SESSION}
    with TestClient(make_app(desk), base_url=HERE, cookies=cookies, follow_redirects=False) as client:
        yield client


def accept(page: TestClient, headers: dict[str, str] | None = None, **fields: str) -> int:
    undecided = {"token": token_of(SESSION), "shown": content_hash("")}
    given = {**undecided, "choice": "accept.fact-varn", "author": "Ada", **fields}
    return page.post(ENTITY, data=given, headers=headers or {}).status_code


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://elsewhere.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8001"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_decides_nothing(
    page: TestClient, lake: Lake, headers: dict[str, str]
) -> None:
    assert accept(page, headers) == 403
    assert list(all_decisions(lake)) == []


@pytest.mark.parametrize(
    "token",
    ["", "0" * 64, token_of("another session"), "ü"],
    ids=["none", "zeros", "of another session", "not ASCII"],
)
def test_a_form_without_this_sessions_token_decides_nothing(page: TestClient, lake: Lake, token: str) -> None:
    assert accept(page, token=token) == 403
    assert page.post("/undo", data={"token": token, "decision": "x"}).status_code == 403
    assert list(all_decisions(lake)) == []


def test_a_token_without_its_cookie_is_worth_nothing(page: TestClient, lake: Lake) -> None:
    page.cookies.clear()
    assert accept(page) == 403
    assert accept(page, token=token_of("")) == 403
    assert list(all_decisions(lake)) == []


def test_tabs_that_a_browser_opens_together_before_it_has_a_cookie_take_each_others_forms(
    page: TestClient, lake: Lake
) -> None:
    tokens = []
    for _ in ("one tab", "the other tab"):
        page.cookies.clear()
        found = re.search(r'name="token" value="([0-9a-f]+)"', page.get(ENTITY).text)
        assert found
        tokens.append(found[1])
    decision = {"decision": "none", "back": "/"}
    for token in tokens:
        assert page.post("/undo", data={"token": token, **decision}).status_code == 409, "no such decision"
        elsewhere = {"origin": "http://127.0.0.1:9999"}
        assert page.post("/undo", data={"token": token, **decision}, headers=elsewhere).status_code == 403
    page.cookies.clear()
    assert page.post("/undo", data={"token": tokens[0], **decision}).status_code == 403
    assert list(all_decisions(lake)) == []


def test_a_form_that_is_too_large_or_does_not_say_how_large_is_refused(page: TestClient) -> None:
    assert accept(page, reason="x" * 70_000) == 413
    chunks = iter([f"token={token_of(SESSION)}&choice=accept.fact-varn".encode()])
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert page.post(ENTITY, content=chunks, headers=form).status_code == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_no_other_method_does_anything(page: TestClient, method: str) -> None:
    assert page.request(method, ENTITY).status_code == 405


def test_reading_a_page_decides_nothing(page: TestClient, lake: Lake) -> None:
    page.get(f"{ENTITY}?choice=accept.fact-varn&token={token_of(SESSION)}")
    assert page.get("/undo").status_code == 405
    assert list(all_decisions(lake)) == []


@pytest.mark.parametrize(
    "host",
    ["elsewhere.example", "elsewhere.example:8001", "127.0.0.1.elsewhere.example", "", "[", "10.0.0.1"],
)
def test_another_name_for_this_machine_is_refused(page: TestClient, host: str) -> None:
    answer = page.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "this machine only" in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8001", "localhost:8001", "[::1]:8001"])
def test_this_machines_own_names_are_answered(page: TestClient, host: str) -> None:
    assert page.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("address", ["/", ENTITY, "/nowhere", "/static/keys.js", "/static/holocron.css"])
def test_every_answer_is_sealed(page: TestClient, address: str) -> None:
    headers = page.get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
    assert (headers["referrer-policy"], headers["cache-control"]) == ("same-origin", "no-store")


def test_the_sessions_cookie_comes_with_a_link_of_another_site_and_no_script_reads_it(
    page: TestClient,
) -> None:
    page.cookies.clear()
    cookie = page.get("/").headers["set-cookie"].lower()
    assert cookie.startswith("holocron-8001=")
    assert "httponly" in cookie
    assert "samesite=lax" in cookie, "a link of another site starts no new session"


@pytest.mark.parametrize(
    "back", ["//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example", "javascript:1"]
)
def test_no_way_back_leads_to_another_site(page: TestClient, lake: Lake, back: str) -> None:
    assert accept(page) == 303
    decision = all_decisions(lake)[-1]["decision_id"]
    answer = page.post("/undo", data={"token": token_of(SESSION), "decision": decision, "back": back})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/?undone={decision}"


@pytest.mark.parametrize(("host", "number"), [("127.0.0.1", signal.SIGINT), ("localhost", signal.SIGTERM)])
def test_the_web_server_answers_under_the_name_that_was_given_and_ends_at_once_when_asked_to_stop(
    tmp_path: Path, host: str, number: signal.Signals
) -> None:
    command = [str(Path(sys.executable).with_name("holocron")), "web", "--port", "0", "--host", host]
    environment = {**os.environ, "HOLOCRON_DATA": str(tmp_path)}
    with subprocess.Popen(  # noqa: S603 - our own command
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        address = process.stdout.readline().split()[2]
        assert host in address
        assert httpx.get(address, trust_env=False).status_code == 200
        process.send_signal(number)
        _, errors = process.communicate(timeout=10)
    assert errors == ""


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "192.168.1.2", "127.0.0.2", "elsewhere.example", ""],  # noqa: S104 - refused
)
def test_what_others_reach_or_would_not_be_answered_cannot_be_served(lake: Lake, host: str) -> None:
    with pytest.raises(CannotServeError, match="who reaches the page can decide"):
        serve(make_app(Desk(lake, "Ada", ())), host, 0, print)


def test_an_address_that_others_reach_is_refused_with_a_way_out() -> None:
    result = CliRunner().invoke(main, ["web", "--host", "0.0.0.0", "--port", "0"])  # noqa: S104 - it is refused
    assert result.exit_code == 1
    assert "ssh -L" in result.stderr


@pytest.mark.parametrize("token", ["", "short", "with a space in it, and long", "\u00fc" * 30])
def test_an_address_that_others_reach_is_refused_without_a_token_that_nobody_guesses(token: str) -> None:
    environment = {"HOLOCRON_WEB_TOKEN": token}
    result = CliRunner().invoke(main, ["web", "--host", "0.0.0.0"], env=environment)  # noqa: S104
    assert result.exit_code == 1
    assert "HOLOCRON_WEB_TOKEN must have 24 or more characters" in result.stderr
    assert token == "" or token not in result.stderr


def test_a_page_of_another_program_is_not_let_in_where_a_token_is_asked_for() -> None:
    arguments = ["web", "--port", "0", "--allow-origin", "http://127.0.0.1:3333"]
    result = CliRunner().invoke(main, arguments, env={"HOLOCRON_WEB_TOKEN": "t" * 32})
    assert result.exit_code == 2
    assert "--allow-origin needs a server that asks for no token" in result.stderr


def basic(password: str) -> str:
    return f"Basic {base64.b64encode(f'ada:{password}'.encode()).decode()}"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (basic(TOKEN), 200),
        (None, 401),
        ("Bearer wrong", 401),
        (f"bearer {TOKEN}x", 401),
        (basic("wrong"), 401),
        ("Basic !!!", 401),
        (f"Digest {TOKEN}", 401),
    ],
)
def test_where_others_can_ask_each_request_must_carry_the_token(
    lake: Lake, authorization: str | None, status: int
) -> None:
    app = make_app(Desk(lake, "Ada", ("Concept",)), token=TOKEN)
    headers = {"authorization": authorization} if authorization else {}
    with TestClient(app, base_url="http://holocron.lan:8001") as client:
        answer = client.get("/", headers=headers)
        assert answer.status_code == status
        if status == 401:
            assert answer.headers["www-authenticate"].startswith("Basic realm=")
            assert client.get("/static/style.css").status_code == 401, "nothing is left open"
        elsewhere = {**headers, "origin": "http://elsewhere.example"}
        assert client.get("/", headers=elsewhere).status_code == (403 if status == 200 else 401)


@pytest.mark.system
@pytest.mark.parametrize("host", ["127.0.0.2", "127.0.0.1"], ids=["another address", "loopback"])
def test_holocron_web_answers_only_who_has_the_token_where_one_is_set(tmp_path: Path, host: str) -> None:
    command = [str(Path(sys.executable).with_name("holocron")), "web", "--host", host, "--port", "0"]
    environment = {**os.environ, "HOLOCRON_DATA": str(tmp_path), "HOLOCRON_WEB_TOKEN": TOKEN}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout
        url = re.search(r"http://\S+/", process.stdout.readline())
        try:
            assert url
            assert httpx.get(f"{url[0]}ask/x").status_code == 401
            assert (
                httpx.get(f"{url[0]}ask/x", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 404
            )
        finally:
            process.send_signal(signal.SIGTERM)


def test_a_taken_port_says_what_to_do(lake: Lake) -> None:
    desk = Desk(lake, "Ada", ())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotServeError, match=f"port {port} of 127.0.0.1 cannot be used"):
            serve(make_app(desk), "127.0.0.1", port, print)
