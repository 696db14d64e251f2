"""What a program may have done over HTTP: a question in the next slot, holds, and tries of what failed."""

import errno
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest
from asked_holocron import AskedHolocron, asked_holocron, write_interrogation
from fake_ollama import SMALL, FakeOllama
from starlette.testclient import TestClient

from holocron_assets.decisions.controls import standing_controls
from holocron_assets.doors import control
from holocron_assets.doors.control import control_routes
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.views import named_pages
from holocron_assets.lake.views.database import connect
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk

QUESTION = {"interrogation": "kinds", "title": "Page wiki1 0"}
WHO = {"author": "Ada", "reason": "the operators called"}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedHolocron]:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0))
    write_interrogation(tmp_path, "kinds", SMALL, 500, wants={"types": ["Droid"]})
    with FakeOllama() as ollama:
        yield asked_holocron(tmp_path, ollama, monkeypatch, batches=2, pages=2)


@pytest.fixture
def web(asked: AskedHolocron) -> Iterator[TestClient]:
    lake = asked.holocron.lake
    app = make_app(Desk(lake, "Ada", ("Concept",)), control_routes(lake))
    with TestClient(app, base_url="http://127.0.0.1:8001") as client:
        yield client


def ended(web: TestClient, link: str) -> dict[str, Any]:
    deadline = monotonic() + 60
    while monotonic() < deadline:
        found: dict[str, Any] = web.get(link).json()
        if found["state"] != "asked":
            return found
        sleep(0.05)
    pytest.fail("it was never answered")


def test_a_question_is_taken_at_once_and_answered_under_its_id(web: TestClient, asked: AskedHolocron) -> None:
    taken = web.post("/ask", json=QUESTION)
    assert taken.status_code == 202
    assert (taken.json()["title"], taken.json()["answers"]) == ("Page wiki1 0", [])
    found = ended(web, taken.json()["link"])
    assert found["state"] == "answered"
    (answer,) = found["answers"]
    assert (answer["answer"], answer["is_new"], answer["model"]) == ({"kind": "person"}, True, SMALL)
    again = ended(web, web.post("/ask", json=QUESTION).json()["link"])
    assert again["answers"][0]["is_new"] is False
    assert len(asked.ollama.chats) == 1


def test_a_second_question_is_refused_until_the_first_is_answered_or_expires(
    web: TestClient, asked: AskedHolocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering = Event()

    def slowly(_: Any) -> dict[str, str]:
        answering.wait(60)
        return {"kind": "person"}

    asked.ollama.answer = slowly
    first = web.post("/ask", json=QUESTION).json()
    second = web.post("/ask", json={**QUESTION, "title": "Page wiki1 1"})
    assert second.status_code == 409
    assert f"kinds about 'Page wiki1 0' goes first; see {first['link']}" in second.json()["error"]
    monkeypatch.setattr(control, "utc_now", lambda: utc_now() + timedelta(seconds=601))
    assert web.get(first["link"]).json()["state"] == "expired"
    answering.set()
    monkeypatch.undo()
    assert ended(web, first["link"])["state"] == "answered"


def test_why_a_question_has_no_answer_is_said_without_secrets(
    web: TestClient, asked: AskedHolocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.ollama.answer = lambda _: {"kind": "no such kind"}
    monkeypatch.setenv("SOME_TOKEN", "Page wiki1 0")  # as an error of others may repeat one
    assert ended(web, web.post("/ask", json=QUESTION).json()["link"])["error"].startswith("***: ")


def test_a_question_without_an_answer_says_why(web: TestClient, asked: AskedHolocron) -> None:
    asked.ollama.answer = lambda _: {"kind": "no such kind"}
    found = ended(web, web.post("/ask", json=QUESTION).json()["link"])
    assert (found["state"], found["answers"]) == ("failed", [])
    assert found["error"].startswith("Page wiki1 0: ")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"interrogation": "kind", "title": "x"}, "no interrogation is called 'kind'; there are kinds"),
        ({"interrogation": "kinds", "title": "Nowhere"}, "no page is called 'Nowhere'"),
        ({"interrogation": "kinds"}, "title: Field required"),
        ({**QUESTION, "priority": 1}, "priority: Extra inputs are not permitted"),
        ([], "body: Input should be an object"),
    ],
)
def test_a_wrong_question_is_refused_with_what_to_do(web: TestClient, body: Any, error: str) -> None:
    answer = web.post("/ask", json=body)
    assert answer.status_code == 400
    assert error in answer.json()["error"]


def test_a_body_that_is_no_json_or_too_large_does_nothing(web: TestClient, asked: AskedHolocron) -> None:
    assert web.post("/pause", data={"all": "true"}).status_code == 415
    assert web.post("/pause", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    large = b'"' + b"x" * 70_000 + b'"'
    assert web.post("/pause", content=large, headers={"content-type": "application/json"}).status_code == 413
    assert (
        web.post("/pause", json={**WHO, "all": True}, headers={"origin": "http://x.example"}).status_code
        == 403
    )
    assert not standing_controls(asked.holocron.lake).held


def test_a_source_that_was_paused_goes_on_though_its_file_is_gone(
    web: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "their_sources" / "old_wiki.yaml"
    file.parent.mkdir()
    file.touch()
    monkeypatch.setenv("HOLOCRON_SOURCES", str(file.parent))
    about = {**WHO, "source": "old_wiki"}
    assert web.post("/pause", json=about).status_code == 200
    file.unlink()
    resumed = web.post("/resume", json=about).json()
    assert (resumed["scope"], resumed["recorded"], resumed["hold"]) == ("source old_wiki", True, None)
    assert web.post("/pause", json=about).status_code == 400


def test_a_fault_of_the_server_is_no_fault_of_the_body(
    web: TestClient, asked: AskedHolocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = {**WHO, "all": True}
    web.post("/pause", json=everything)
    (log,) = asked.holocron.lake.root.glob("lake/*/controls/*/data.parquet")
    log.write_bytes(log.read_bytes()[:40])
    damaged = web.post("/resume", json=everything)
    assert (damaged.status_code, "cannot be read" in damaged.json()["error"]) == (503, True)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(control, "hold_or_resume", full)
    failed = web.post("/drain", json=everything)
    assert (failed.status_code, failed.json()) == (503, {"error": "[Errno 28] No space left on device"})


def test_work_is_held_back_and_goes_on_and_a_held_question_is_refused(
    web: TestClient, asked: AskedHolocron
) -> None:
    held = web.post("/pause", json={**WHO, "interrogation": "kinds"})
    assert (held.status_code, held.json()["recorded"]) == (200, True)
    assert "interrogation kinds is paused since" in held.json()["hold"]
    assert web.post("/pause", json={**WHO, "interrogation": "kinds"}).json()["recorded"] is False
    refused = web.post("/ask", json=QUESTION)
    assert refused.status_code == 423
    assert "by Ada: the operators called" in refused.json()["error"]
    assert web.post("/drain", json={**WHO, "all": True}).json()["scope"] == "everything"
    resumed = web.post("/resume", json={**WHO, "interrogation": "kinds"}).json()
    assert (resumed["hold"], len(resumed["still_held"])) == (None, 1)
    web.post("/resume", json={**WHO, "all": True})
    assert not standing_controls(asked.holocron.lake).held


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (WHO, "name one thing that it is about"),
        ({**WHO, "source": "wiki9"}, "no source is called 'wiki9'"),
        ({**WHO, "interrogation": "kind"}, "did you mean kinds?"),
        ({"all": True, "author": "Ada"}, "reason: Field required"),
        ({"all": True, "author": "Ada", "reason": " "}, "reason"),
    ],
)
def test_a_hold_of_nothing_or_without_a_reason_is_refused(web: TestClient, body: Any, error: str) -> None:
    answer = web.post("/pause", json=body)
    assert answer.status_code == 400
    assert error in answer.json()["error"]


def test_what_was_given_up_is_tried_again_and_unknown_titles_are_named(web: TestClient) -> None:
    done = web.post("/requeue", json={**WHO, "titles": ["Page wiki1 0", "Nowhere"]})
    assert done.status_code == 200
    assert done.json() == {
        "requeued": [],
        "due_now": [{"source": "wiki1", "title": "Page wiki1 0"}],
        "unknown": ["Nowhere"],
    }
    assert web.post("/requeue", json={**WHO, "all": True}).json()["requeued"] == []
    assert web.post("/requeue", json=WHO).status_code == 400
    assert web.post("/requeue", json={**WHO, "all": True, "source": ""}).status_code == 400


def test_many_titles_are_looked_up_with_one_reading_of_the_lake(
    web: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def counted(*about: Any, **columns: Any) -> Any:
        made.append(columns["relations"])
        return connect(*about, **columns)

    monkeypatch.setattr(named_pages, "connect", counted)
    titles = ["Page wiki1 0", "page_WIKI1 1", *(f"Nowhere {number:02}" for number in range(60))]
    done = web.post("/requeue", json={**WHO, "titles": titles}).json()
    assert [row["title"] for row in done["due_now"]] == ["Page wiki1 0", "Page wiki1 1"]
    assert done["unknown"] == titles[2:]
    assert made == [("lake.seed_titles", "last_attempts", "page_links"), ["file_list"]]


def test_an_unknown_id_says_that_a_kept_answer_makes_no_call(web: TestClient) -> None:
    answer = web.get("/ask/0000")
    assert answer.status_code == 404
    assert "a kept answer makes no call" in answer.json()["error"]
