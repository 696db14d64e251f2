"""Replies of a server that is broken, hostile or gone: none is taken for an answer, none costs much."""

import asyncio
import json
import tracemalloc
from time import monotonic
from typing import Any

import pytest
from asked import DIGEST, GOOD, ask, interrogation, item, outcomes
from fake_ollama import SMALL, Behaviour, Chat, FakeOllama, Handler, answers, comes_true, fails, hangs, says
from hostile_ollama import (
    CHUNKED,
    HEADERS,
    bomb,
    chunk,
    chunked,
    goes_on_with,
    last_line,
    line,
    lines,
    redirects,
    sends,
    with_length,
)

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.engine.problems import ModelServerUnavailable
from holocron_assets.derive.items.items import Item

TEXT = json.dumps(GOOD)
WHOLE = chunked(lines(TEXT))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))


def asked(*script: Behaviour, about: Item | None = None, attempt: int = 1) -> tuple[Outcome, FakeOllama]:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        fake.script.extend(script)
        return asyncio.run(ask(fake, about or item(), attempt=attempt)), fake


def test_a_reply_in_pieces_is_put_together() -> None:
    outcome, _ = asked(sends(WHOLE))
    assert (outcome.status, outcome.answer) == ("ok", GOOD)
    assert outcome.calls[0]["tokens_in"] == 20


@pytest.mark.fault(9, "the connection lost at any moment of a reply")
def test_a_reply_that_breaks_off_at_any_byte_is_no_answer() -> None:
    moments = [*range(0, len(WHOLE) - 1, 41), len(WHOLE) - 5, len(WHOLE) - 1]
    with FakeOllama(answer=lambda _: GOOD) as fake:
        for moment in moments:
            fake.script.append(sends(WHOLE[:moment]))
            outcome = asyncio.run(ask(fake, item()))
            assert (outcome.status, outcomes(outcome)) == ("failed", ["server_error"]), moment
            assert outcome.counts
            assert outcome.answer is None


@pytest.mark.fault(9, "a reply that is no reply")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(with_length(last_line(TEXT), 5000), "connection broke", id="longer than sent"),
        pytest.param(with_length(last_line(TEXT), 50), "no Ollama", id="shorter than sent"),
        pytest.param(CHUNKED + b"zz\r\n" + line(TEXT), "connection broke", id="garbage for a chunk's length"),
        pytest.param(with_length(b"\x00\xff\xfe" * 99), "no Ollama", id="bytes that are no text"),
        pytest.param(with_length(b"[" * 100_000), "no Ollama", id="JSON nested without end"),
        pytest.param(with_length(b"<html>busy</html>"), "no Ollama", id="a page in HTML"),
        pytest.param(with_length(b"null"), "no Ollama", id="JSON that is nothing"),
        pytest.param(chunked([line(TEXT)]), "before it was done", id="never done"),
        pytest.param(chunked([]), "before it was done", id="nothing"),
        pytest.param(
            chunked([line(TEXT[:9]), b'{"error": "out of order"}\n']), "out of order", id="an error"
        ),
        pytest.param(with_length(last_line(TEXT, eval_count="many")), "no Ollama", id="a text for a count"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", "connection broke", id="another protocol"),
    ],
)
def test_what_is_no_reply_is_no_answer_and_the_item_is_asked_again(reply: bytes, said: str) -> None:
    outcome, _ = asked(sends(reply))
    assert (outcome.status, outcomes(outcome)) == ("failed", ["server_error"])
    assert said in (outcome.error or "")
    assert outcome.due_at


@pytest.mark.fault(9, "a gzip bomb for a reply")
def test_a_packed_reply_is_refused_before_it_is_unpacked() -> None:
    reply = bomb(60)
    tracemalloc.start()
    outcome, _ = asked(sends(reply))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcomes(outcome) == ["server_error"]
    assert "packed as gzip" in (outcome.error or "")
    assert most < 20 * 1024**2


@pytest.mark.fault(9, "a reply that never ends")
@pytest.mark.parametrize(
    ("behaviour", "outcome", "said"),
    [
        pytest.param(goes_on_with(CHUNKED, chunk(line("word "))), "malformed", "100 tokens", id="words"),
        pytest.param(
            goes_on_with(CHUNKED, chunk(line("\n  "))), "malformed", "white space", id="white space"
        ),
        pytest.param(
            goes_on_with(CHUNKED, chunk(line("", message={"role": "assistant", "thinking": "hm "}))),
            "malformed",
            "100 tokens",
            id="thoughts",
        ),
        pytest.param(
            goes_on_with(CHUNKED, chunk(b"x" * 60_000)), "server_error", "more than 16 MiB", id="one line"
        ),
        pytest.param(
            goes_on_with(CHUNKED, chunk(line("") * 300)), "server_error", "16 MiB", id="pieces of nothing"
        ),
        pytest.param(goes_on_with(HEADERS, b"X-More: more\r\n" * 50), "server_error", "broke", id="headers"),
    ],
)
def test_a_reply_that_never_ends_is_ended_by_us(behaviour: Behaviour, outcome: str, said: str) -> None:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        fake.script.append(behaviour)
        found = asyncio.run(ask(fake, item(interrogation=interrogation(timeout_seconds=60))))
        assert comes_true(lambda: fake.given_up == 1), "the server was left working"
    assert outcomes(found)[0] == outcome
    assert said in found.calls[0]["error"]
    assert found.status == ("ok" if outcome == "malformed" else "failed")


@pytest.mark.fault(9, "a reply that comes drop by drop")
@pytest.mark.parametrize("start", [b"", HEADERS, CHUNKED + b"ffff\r\n"], ids=["status", "headers", "body"])
def test_a_reply_drop_by_drop_ends_at_the_deadline_of_the_whole_call(start: bytes) -> None:
    about = item(interrogation=interrogation(timeout_seconds=0.6))
    started = monotonic()
    outcome, fake = asked(goes_on_with(start, b"x", pause=0.05), about=about)
    assert outcomes(outcome) == ["timeout"]
    assert monotonic() - started < 10
    assert comes_true(lambda: fake.given_up == 1)


@pytest.mark.fault(9, "an answer that ends in white space")
def test_an_answer_that_runs_out_in_white_space_gets_another_try_but_no_more_room() -> None:
    outcome, fake = asked(says(TEXT[:-1] + " \n" * 500, done_reason="length"))
    assert (outcome.status, outcomes(outcome)) == ("ok", ["malformed", "ok"])
    assert [chat.options["num_predict"] for chat in fake.chats] == [100, 100]
    assert "white space" in fake.chats[1].messages[-1]["content"]


@pytest.mark.fault(9, "a redirect")
def test_a_redirect_is_not_followed_so_that_no_prompt_reaches_another_server() -> None:
    with FakeOllama() as elsewhere:
        outcome, _ = asked(redirects(elsewhere.url))
        assert elsewhere.chats == []
    assert outcomes(outcome) == ["server_error"]
    assert "307" in (outcome.error or "")


@pytest.mark.fault(9, "figures that cannot be")
@pytest.mark.parametrize(
    "figures",
    [
        {"eval_count": -5, "prompt_eval_count": -1},
        {"eval_count": None, "prompt_eval_count": None, "total_duration": None},
        {"load_duration": 10**400, "eval_duration": -(10**30), "prompt_eval_duration": 10**25},
        {"created_at": "40000-99-99T99:99:99Z"},
        {"created_at": "0001-01-01T00:00:00Z", "done_reason": None},
    ],
    ids=["negative counts", "no counts", "absurd durations", "no date", "a date long ago"],
)
def test_figures_that_cannot_be_cost_no_answer_and_fit_their_columns(figures: dict[str, Any]) -> None:
    outcome, _ = asked(sends(chunked(lines(TEXT, **figures))))
    assert (outcome.status, outcome.answer) == ("ok", GOOD)
    [call] = outcome.calls
    for name in ("tokens_in", "tokens_out", "load_ms", "prompt_ms", "generation_ms"):
        assert 0 <= call[name] < 2**63


@pytest.mark.fault(9, "the server closes a kept connection")
def test_a_connection_that_was_closed_meanwhile_costs_nothing() -> None:
    def answers_and_hangs_up(handler: Handler, chat: Chat) -> None:
        answers(GOOD)(handler, chat)
        handler.close_connection = True

    async def work(url: str) -> list[Outcome]:
        async with open_client(url) as client:
            engine = Engine(client)
            found = []
            for number in range(4):
                about = item(f"Page {number}")
                found.append(await engine.answer(about, model=SMALL, digest=DIGEST, attempt=1))
                await asyncio.sleep(0.1)
            return found

    with FakeOllama(on={"Page": answers_and_hangs_up}) as fake:
        found = asyncio.run(work(fake.url))
    assert [outcomes(outcome) for outcome in found] == [["ok"]] * 4


@pytest.mark.fault(9, "the server closes the connection on which it is checked")
def test_a_connection_that_ends_during_the_check_of_a_server_does_not_stop_the_run() -> None:
    outcome, _ = asked(fails(500), sends(b""))
    assert outcome.problem is None
    assert outcome.due_at


@pytest.mark.fault(9, "another model answers")
def test_another_models_answer_is_not_taken_and_is_not_the_items_fault() -> None:
    outcome, _ = asked(sends(chunked(lines(TEXT, model="other:1b"))))
    assert (outcome.status, outcomes(outcome), outcome.counts) == ("failed", ["wrong_model"], False)
    assert isinstance(outcome.problem, ModelServerUnavailable)
    assert "other:1b answered" in str(outcome.problem)


@pytest.mark.fault(9, "the model is replaced while it is asked")
def test_a_model_that_was_replaced_under_its_name_is_noticed_by_the_first_answer() -> None:
    with FakeOllama() as fake:

        def replaced(_: Chat) -> dict[str, Any]:
            fake.models[SMALL] = "8" * 64
            return GOOD

        fake.answer = replaced
        outcome = asyncio.run(ask(fake, item()))
    assert (outcome.status, outcomes(outcome), outcome.counts) == ("failed", ["wrong_model"], False)
    assert "another model than when the run began" in str(outcome.problem)


@pytest.mark.fault(9, "the model is loaded with less context while it is asked")
def test_a_model_that_reads_less_by_now_is_noticed_by_the_first_answer() -> None:
    with FakeOllama(answer=lambda _: GOOD, context_length=2048) as fake:
        outcome = asyncio.run(ask(fake, item()))
    assert (outcomes(outcome), outcome.counts) == (["wrong_model"], False)
    assert "2048 tokens" in str(outcome.problem)


@pytest.mark.fault(9, "errors 500, for as long as an item has attempts")
@pytest.mark.parametrize("items", [1, 2, 5])
def test_a_server_that_fails_for_long_costs_no_item_an_attempt(items: int) -> None:
    with FakeOllama(on={"": fails(500)}) as fake:
        for _ in range(5):  # runs, each when the run before said that it was due

            async def run() -> list[Outcome]:
                async with open_client(fake.url) as client:
                    engine = Engine(client)
                    about = [item(f"Page {number}") for number in range(items)]
                    return [await engine.answer(one, model=SMALL, digest=DIGEST, attempt=1) for one in about]

            found = asyncio.run(run())
            assert [outcome.counts for outcome in found] == [False] * items
            assert all(isinstance(outcome.problem, ModelServerUnavailable) for outcome in found)


@pytest.mark.fault(9, "a server that hangs")
def test_a_server_that_hangs_is_to_blame_and_not_the_item_it_hung_on() -> None:
    with FakeOllama(on={"": hangs}) as fake:
        outcome = asyncio.run(ask(fake, item(interrogation=interrogation(timeout_seconds=0.4))))
    assert (outcomes(outcome), outcome.counts) == (["timeout"], False)
