"""Whose fault a failure is: the item's, the server's or the model's, and what a person is asked to do."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from asked import DIGEST, GOOD, ask, interrogation, item, outcomes
from fake_ollama import (
    LARGE,
    SMALL,
    Behaviour,
    Chat,
    FakeOllama,
    Handler,
    answers,
    comes_true,
    drops_the_connection,
    fails,
    hangs,
    malformed,
    no_ollama,
    out_of_memory,
    refused_url,
    slow,
)

from holocron_assets.derive.engine.call_times import calls_at_once, server_slots
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.engine.problems import (
    ContextTooSmallError,
    ModelMissingError,
    ModelServerUnavailable,
    ModelTooLargeError,
)
from holocron_assets.derive.engine.tries import BUSY_PAUSES
from holocron_assets.errors import PermanentError, TransientError
from holocron_assets.lake.place.clock import utc_now


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr("holocron_assets.derive.engine.tries.BUSY_PAUSES", (0.0,) * len(BUSY_PAUSES))


def asked(*script: Behaviour, **options: Any) -> Outcome:
    with FakeOllama(answer=lambda _: GOOD) as fake:
        fake.script.extend(script)
        return asyncio.run(ask(fake, item(), **options))


def busy(status: int, retry_after: str | None = None) -> Behaviour:
    """Answer that there is too much to do, as proxies before model servers do."""

    def behave(handler: Handler, _: Chat) -> None:
        handler.send_response(status)
        if retry_after is not None:
            handler.send_header("Retry-After", retry_after)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return behave


async def ask_in_turn(engine: Engine, items: int) -> list[Outcome]:
    return [
        await engine.answer(item(f"Page {number}"), model=SMALL, digest=DIGEST, attempt=1)
        for number in range(items)
    ]


async def ask_two(engine: Engine, timeout_seconds: float) -> list[Outcome]:
    """Ask a question, and another one while the server is at work on the first."""

    async def ask_after(seconds: float) -> Outcome:
        await asyncio.sleep(seconds)
        one = item(f"Page {seconds}", interrogation=interrogation(timeout_seconds=timeout_seconds))
        return await engine.answer(one, model=SMALL, digest=DIGEST, attempt=1)

    return [*await asyncio.gather(ask_after(0), ask_after(0.5))]


def with_engine(fake: FakeOllama | str, work: Callable[[Engine], Awaitable[Any]], **settings: Any) -> Any:
    async def working() -> Any:
        async with open_client(fake if isinstance(fake, str) else fake.url) as client:
            return await work(Engine(client, **settings))

    return asyncio.run(working())


@pytest.mark.fault(9, "a broken answer")
@pytest.mark.parametrize(
    ("behaviour", "outcome", "said"),
    [
        (fails(500, "something broke"), "server_error", "answered 500: something broke"),
        (fails(400, "invalid format"), "server_error", "answered 400: invalid format"),
        (drops_the_connection, "server_error", "the connection broke"),
        (no_ollama(), "server_error", "no Ollama"),
        (lambda handler, _: handler.send(200, {"done": True}), "server_error", "no Ollama"),
        (lambda handler, _: handler.send(500, "[]"), "server_error", "no Ollama"),
        (lambda handler, _: handler.send(404, "404 page not found"), "server_error", "answered 404"),
    ],
)
def test_a_broken_answer_is_another_attempt_of_the_item(
    behaviour: Behaviour, outcome: str, said: str
) -> None:
    found = asked(behaviour)
    assert (found.status, outcomes(found)) == ("failed", [outcome])
    assert found.counts
    assert found.problem is None
    assert found.due_at is not None
    assert said in (found.error or "")
    assert (found.error or "").startswith("Varn: ")


@pytest.mark.fault(9, "a call that hangs")
def test_a_call_that_hangs_is_given_up_at_its_deadline() -> None:
    with FakeOllama() as fake:
        fake.script.append(hangs)
        about = item(interrogation=interrogation(timeout_seconds=2.0))
        found = asyncio.run(ask(fake, about))
        assert comes_true(lambda: fake.given_up == 1)
    assert (found.status, outcomes(found), found.counts) == ("failed", ["timeout"], True)
    assert "no whole answer within 2 s" in (found.error or "")
    assert 2000 <= found.calls[0]["total_ms"] < 9000


def test_a_slow_call_within_its_time_is_an_answer() -> None:
    found = asked(slow(0.3, answers(GOOD)))
    assert (found.status, found.calls[0]["total_ms"] >= 300) == ("ok", True)


def test_the_time_that_a_call_waits_behind_another_is_not_its_own() -> None:
    with FakeOllama(answer=lambda _: GOOD, slots=1, delay_seconds=2.0) as fake:
        found = with_engine(fake, partial(ask_two, timeout_seconds=3.0))
    assert [outcomes(one) for one in found] == [["ok"], ["ok"]]
    assert max(one.calls[0]["total_ms"] for one in found) > 3000, "with the time that it waited"


def test_a_call_behind_one_that_hangs_has_a_deadline_of_its_own() -> None:
    with FakeOllama(on={"Page": hangs}) as fake:
        found = with_engine(fake, partial(ask_two, timeout_seconds=0.3))
    assert [outcomes(one) for one in found] == [["timeout"], ["timeout"]]
    assert max(one.calls[0]["total_ms"] for one in found) < 3000


@pytest.mark.fault(9, "no server")
def test_a_server_that_is_down_stops_the_run_and_costs_the_item_nothing() -> None:
    found = asyncio.run(ask(refused_url(), item()))
    assert (found.status, outcomes(found), found.counts, found.due_at) == (
        "failed",
        ["server_down"],
        False,
        None,
    )
    assert isinstance(found.problem, ModelServerUnavailable)
    assert isinstance(found.problem, TransientError)
    assert "ollama serve" in str(found.problem)
    assert found.problem.due_at.isoformat(timespec="seconds") in str(found.problem)


@pytest.mark.fault(9, "503, the server's queue is full")
def test_a_server_that_stays_busy_is_as_good_as_none() -> None:
    found = asked(*[fails(503, "server busy, please try again.  maximum pending requests exceeded")] * 9)
    assert (set(outcomes(found)), found.counts, bool(found.problem)) == ({"server_down"}, False, True)
    assert len(outcomes(found)) == 1 + len(BUSY_PAUSES)
    assert "busy (503)" in str(found.problem)


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_busy_for_a_while_is_waited_for_and_costs_the_item_nothing(status: int) -> None:
    found = asked(busy(status), busy(status), malformed())
    assert outcomes(found) == ["server_down", "server_down", "malformed", "ok"]
    assert (found.status, found.problem, [call["try"] for call in found.calls]) == ("ok", None, [1, 1, 1, 2])


def test_a_busy_server_is_asked_again_no_earlier_than_it_says() -> None:
    found = asked(busy(429, retry_after="1"))
    first, second = (call["started_at"] for call in found.calls)
    assert (second - first).total_seconds() >= 1


@pytest.mark.parametrize("retry_after", ["soon", "-5", "", "Sun, 21 Nov 1999 12:00:00 GMT"])
def test_a_time_that_cannot_be_waited_for_is_none(retry_after: str) -> None:
    assert asked(busy(503, retry_after=retry_after)).status == "ok"


def test_a_server_that_is_busy_for_long_stops_the_run_until_then() -> None:
    found = asked(busy(503, retry_after="600"))
    assert outcomes(found) == ["server_down"]
    assert isinstance(found.problem, ModelServerUnavailable)
    assert 590 < (found.problem.due_at - utc_now()).total_seconds() <= 600


@pytest.mark.fault(9, "404, the model is not there")
def test_a_missing_model_names_the_command_that_gets_it() -> None:
    with FakeOllama(models={}) as fake:
        found = asyncio.run(ask(fake, item()))
    assert (outcomes(found), found.counts) == (["model_missing"], False)
    assert isinstance(found.problem, ModelMissingError)
    assert isinstance(found.problem, PermanentError)
    assert f"`ollama pull {SMALL}`" in str(found.problem)


def test_the_client_is_there_whatever_ollama_host_says() -> None:
    code = "import os, holocron_assets.derive.engine.engine; print(os.environ['OLLAMA_HOST'])"
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code],
        env={**os.environ, "OLLAMA_HOST": "http://[bad"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "http://[bad\n"


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_access_is_a_permanent_error_that_names_the_key(status: int) -> None:
    found = asked(fails(status, "no key"))
    assert (outcomes(found), found.counts, found.due_at) == (["refused"], False, None)
    assert isinstance(found.problem, PermanentError)
    assert f"({status}): no key" in str(found.problem)
    assert "OLLAMA_API_KEY" in str(found.problem)


@pytest.mark.fault(9, "no memory for the model")
def test_out_of_memory_is_tried_once_more_and_then_is_for_good() -> None:
    found = asked(out_of_memory(), out_of_memory())
    assert (outcomes(found), found.counts) == (["out_of_memory"] * 2, False)
    assert isinstance(found.problem, ModelTooLargeError)
    assert "smaller model" in str(found.problem)


@pytest.mark.fault(9, "no memory for a moment")
def test_out_of_memory_for_a_moment_costs_nothing() -> None:
    found = asked(out_of_memory())
    assert (found.status, outcomes(found)) == ("ok", ["out_of_memory", "ok"])


@pytest.mark.parametrize(
    "text",
    [
        "model requires more system memory (10.9 GiB) than is available (5.4 GiB)",
        "llama runner process has terminated: error loading model: unable to allocate backend buffer",
        "CUDA error: out of memory",
        "llama_model_load: error loading model: mmap failed: Cannot allocate memory",
        "GGML_ASSERT(ctx->mem_buffer != NULL) failed",
        "terminate called after throwing an instance of 'std::bad_alloc'",
    ],
)
def test_every_way_of_saying_that_memory_lacks_is_known(text: str) -> None:
    assert outcomes(asked(fails(500, text)))[0] == "out_of_memory"


@pytest.mark.parametrize(
    "text",
    [
        "request (351 tokens) exceeds the available context size (256 tokens), try increasing it",
        "the request exceeds the available context size. try increasing the context size",
        "Context size has been exceeded.",
        "prompt too long; exceeded max context length by 12 tokens",
    ],
)
def test_every_way_of_refusing_a_long_prompt_is_known(text: str) -> None:
    assert outcomes(asked(fails(400, text)))[0] == "overflow"


@pytest.mark.fault(9, "errors 500 for whatever is about an item")
def test_three_server_errors_in_a_row_stop_the_run_and_still_count_where_only_items_cause_them() -> None:
    with FakeOllama(on={"Page": fails(500)}) as fake:
        found = with_engine(fake, lambda engine: ask_in_turn(engine, 4))
    assert [outcome.counts for outcome in found] == [True] * 4
    assert [outcome.problem is not None for outcome in found] == [False, False, True, True]


@pytest.mark.fault(9, "errors 500 for everything")
def test_server_errors_for_everything_are_the_servers_and_the_items_are_spared() -> None:
    with FakeOllama(on={"": fails(500)}) as fake:
        found = with_engine(fake, lambda engine: ask_in_turn(engine, 4))
    assert [(outcome.counts, outcome.problem is not None) for outcome in found] == [(False, True)] * 4


def test_a_number_of_slots_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "auto")
    with pytest.raises(PermanentError, match="OLLAMA_NUM_PARALLEL is 'auto'"):
        server_slots()


@pytest.mark.fault(9, "a schema of which the server can make no grammar")
@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "failed to parse grammar"),
        (500, "failed to parse grammar"),
        (500, "failed to load model vocabulary required for format"),
        (500, "Failed to create new sequence: unable to create sampling context"),
    ],
)
def test_a_schema_that_the_server_refuses_costs_its_interrogations_items_their_attempts(
    status: int, text: str
) -> None:
    with RefusesFormats(status=status, text=text) as fake:
        found = with_engine(fake, lambda engine: ask_in_turn(engine, 5))
    assert [(outcome.status, outcome.counts, outcome.problem) for outcome in found] == [
        ("failed", True, None)
    ] * 5
    (said,) = {outcome.error.removeprefix(f"Page {n}: ") for n, outcome in enumerate(found) if outcome.error}
    assert said.startswith("the server refuses every question of kinds because of its answer_schema")
    assert f"answered {status}: {text}" in said


@pytest.mark.fault(9, "a server that makes no grammar at all")
def test_a_server_that_refuses_every_schema_is_at_fault_and_no_interrogation() -> None:
    with RefusesFormats(kept=()) as fake:
        (found,) = with_engine(fake, lambda engine: ask_in_turn(engine, 1))
    assert (found.counts, isinstance(found.problem, ModelServerUnavailable)) == (False, True)


@dataclass
class RefusesFormats(FakeOllama):
    """Makes a grammar only of schemas with the types that it keeps."""

    status: int = 400
    text: str = "failed to parse grammar"
    kept: Sequence[str] = ("boolean",)

    def serve(self, handler: Handler, chat: Chat) -> None:
        parts = chat.body.get("format", {}).get("properties", {}).values()
        is_refused = not {part["type"] for part in parts} <= {*self.kept}
        self.on = {"": fails(self.status, self.text)} if is_refused else {}
        super().serve(handler, chat)


@pytest.mark.fault(9, "an item that breaks the server each time")
def test_an_item_that_always_breaks_the_server_does_not_stop_the_others() -> None:
    with FakeOllama(answer=lambda _: GOOD, on={"Page 1": fails(500), "Page 3": hangs}) as fake:
        about = [item(f"Page {n}", interrogation=interrogation(timeout_seconds=2.0)) for n in range(5)]

        async def all_of(engine: Engine) -> list[Outcome]:
            return [await engine.answer(one, model=SMALL, digest=DIGEST, attempt=1) for one in about]

        found = with_engine(fake, all_of)
    assert [outcome.status for outcome in found] == ["ok", "failed", "ok", "failed", "ok"]
    assert not any(outcome.problem for outcome in found)


def test_an_item_whose_replies_are_never_any_good_does_not_stop_the_others() -> None:
    with FakeOllama(answer=lambda _: GOOD, on={"Page 1": malformed()}) as fake:
        found = with_engine(fake, lambda engine: ask_in_turn(engine, 3))
    assert [outcome.status for outcome in found] == ["ok", "failed", "ok"]


def test_the_first_model_that_the_server_has_is_chosen_with_its_digest() -> None:
    with FakeOllama(models={LARGE: "7" * 64, "plain:latest": "9" * 64}) as fake:
        assert with_engine(fake, lambda engine: engine.digest([SMALL, LARGE])) == (LARGE, "7" * 64)
        assert with_engine(fake, lambda engine: engine.digest(["plain"])) == ("plain", "9" * 64)
        assert with_engine(fake, lambda engine: engine.digest(["plain:latest"])) == ("plain:latest", "9" * 64)


def test_no_model_of_those_wanted_names_the_command() -> None:
    with FakeOllama(models={}) as fake, pytest.raises(ModelMissingError) as caught:
        with_engine(fake, lambda engine: engine.digest([SMALL, LARGE]), fetch_command="holocron models fetch")
    assert str(caught.value) == (
        f"the model server lacks {SMALL}, or one of {LARGE}; get it with `holocron models fetch {SMALL}`"
    )


@pytest.mark.parametrize("work", [lambda engine: engine.models(), lambda engine: engine.unload(SMALL)])
def test_a_server_that_is_down_is_reported_whatever_is_asked_of_it(work: Callable[[Engine], Any]) -> None:
    with pytest.raises(ModelServerUnavailable, match="ollama serve"):
        with_engine(refused_url(), work)


def test_a_model_is_warmed_up_once_and_unloaded() -> None:
    async def work(engine: Engine) -> list[Any]:
        seconds = [await engine.warm_up(SMALL, 4096), await engine.warm_up(SMALL, 4096)]
        loaded = [*fake.loaded]
        await engine.unload(SMALL)
        return [*seconds, loaded, [*fake.loaded]]

    with FakeOllama(load_seconds=0.1) as fake:
        first, second, loaded, after = with_engine(fake, work)
    assert first >= 0.1
    assert second < 0.1
    assert (loaded, after) == ([SMALL], [])
    assert fake.loads == {SMALL: 1}
    assert fake.chats == []


def test_warming_up_spares_the_first_call_a_load_because_num_ctx_is_the_same() -> None:
    async def work(engine: Engine) -> None:
        await engine.warm_up(SMALL, interrogation().options.num_ctx)
        await ask_in_turn(engine, 3)

    with FakeOllama(answer=lambda _: GOOD) as fake:
        with_engine(fake, work)
    assert fake.loads == {SMALL: 1}


class ListsTags(FakeOllama):
    """Names each loaded model with its tag, as an Ollama does."""

    def running(self, name: str) -> dict[str, Any]:
        tagged = name if ":" in name else f"{name}:latest"
        return {**super().running(name), "name": tagged, "model": tagged}


@pytest.mark.fault(9, "a model with less context than was asked for")
@pytest.mark.parametrize("model", [SMALL, "plain"])
def test_a_model_with_a_smaller_context_than_asked_for_is_refused_before_it_cuts(model: str) -> None:
    with (
        ListsTags(models={model: DIGEST}, context_length=2048) as fake,
        pytest.raises(ContextTooSmallError, match="reads 2048 tokens"),
    ):
        with_engine(fake, lambda engine: engine.warm_up(model, 4096))


def test_warming_up_a_missing_model_says_what_gets_it() -> None:
    with FakeOllama() as fake, pytest.raises(ModelMissingError, match="ollama pull none:1b"):
        with_engine(fake, lambda engine: engine.warm_up("none:1b", 4096))


@pytest.mark.parametrize(("setting", "calls"), [("", 2), ("4", 5), ("0", 2)])
def test_one_more_call_is_under_way_than_the_server_has_slots(
    setting: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", setting)
    assert calls_at_once() == calls


def test_no_proxy_is_asked_for_this_machines_own_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", refused_url())
    with FakeOllama() as fake:
        for address in (fake.url, fake.url.removeprefix("http://")):
            assert with_engine(address, lambda engine: engine.models()) == fake.models
