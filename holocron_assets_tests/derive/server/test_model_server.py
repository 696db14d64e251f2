"""The official client's surface that we use, against the real embedded server and its smallest model."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import jsonschema
import ollama
import pytest

from holocron_assets.derive.server.process.connection import embedded_server
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system

MODEL = "smollm2:135m"
SHORT = {"num_predict": 6, "temperature": 0.0, "seed": 1, "num_ctx": 512}
HI = [{"role": "user", "content": "Say hi"}]
ENDLESS = {"type": "array", "items": {"type": "integer"}, "minItems": 4000}
"""A format that keeps the model writing until its context is full."""

SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["planet", "person"]},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 2},
    },
    "required": ["kind", "names"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def server(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an embedded server that works on two requests at a time."""
    folder = tmp_path_factory.mktemp("served")
    environment = {
        **os.environ,
        "HOLOCRON_MODELS": str(folder / "models"),
        "HOLOCRON_MODEL_FILES": str(model_file),
        "OLLAMA_NUM_PARALLEL": "2",
    }
    with embedded_server(Lake(folder), environment) as url:
        yield url


@pytest.fixture(scope="module")
def client(server: str) -> ollama.Client:
    return ollama.Client(host=server, trust_env=False)


def together(server: str, work: Callable[[ollama.AsyncClient], Awaitable[None]]) -> None:
    """Do something with the asynchronous client."""

    async def run() -> None:
        await work(ollama.AsyncClient(host=server, trust_env=False))

    asyncio.run(run())


def post(server: str, path: str, body: object) -> httpx.Response:
    return httpx.post(server + path, json=body, timeout=60, trust_env=False)


def test_a_chat_is_answered_with_true_figures(client: ollama.Client) -> None:
    started = monotonic()
    answer = client.chat(MODEL, HI, options=SHORT)
    wall = (monotonic() - started) * 1e9
    assert answer.message.role == "assistant"
    assert answer.message.content
    assert (answer.model, answer.done, answer.done_reason) == (MODEL, True, "length")
    assert answer.eval_count == 6
    assert answer.prompt_eval_count == 32
    parts = [answer.load_duration, answer.prompt_eval_duration, answer.eval_duration]
    assert answer.total_duration
    assert sum(part or 0 for part in parts) <= answer.total_duration <= wall


def test_the_same_question_with_the_same_seed_has_the_same_answer(client: ollama.Client) -> None:
    first, second = (client.chat(MODEL, HI, options=SHORT) for _ in range(2))
    assert first.message.content == second.message.content
    assert second.load_duration == 0, "it was loaded already"


def test_a_stream_gives_the_same_text_in_pieces(client: ollama.Client) -> None:
    whole = client.chat(MODEL, HI, options=SHORT)
    pieces = list(client.chat(MODEL, HI, options=SHORT, stream=True))
    assert "".join(piece.message.content or "" for piece in pieces) == whole.message.content
    assert [piece.done for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert len(pieces) > 2
    assert pieces[-1].eval_count == whole.eval_count


def test_a_prompt_is_answered_as_a_chat_with_one_message_unless_it_is_raw(client: ollama.Client) -> None:
    chat = client.chat(MODEL, [{"role": "system", "content": "Be kind"}, *HI], options=SHORT)
    asked = client.generate(MODEL, "Say hi", system="Be kind", options=SHORT)
    assert asked.response == chat.message.content
    assert asked.prompt_eval_count == chat.prompt_eval_count
    raw = client.generate(MODEL, "Say hi", raw=True, options=SHORT)
    assert raw.prompt_eval_count == 2


def test_an_answer_ends_where_a_stop_word_stands(client: ollama.Client) -> None:
    free = client.generate(MODEL, "1, 2, 3,", raw=True, options={**SHORT, "num_predict": 12})
    assert ", 5" in (free.response or "")
    stopped = client.generate(
        MODEL, "1, 2, 3,", raw=True, options={**SHORT, "num_predict": 12, "stop": [", 5"]}
    )
    assert stopped.done_reason == "stop"
    assert stopped.response == (free.response or "").split(", 5")[0]


def test_an_answer_keeps_to_a_schema(client: ollama.Client) -> None:
    for temperature in (0.0, 1.5):
        options = {**SHORT, "num_predict": 80, "temperature": temperature}
        answer = client.chat(MODEL, [{"role": "user", "content": "A poem?"}], format=SCHEMA, options=options)
        jsonschema.validate(json.loads(answer.message.content or ""), SCHEMA)


def test_an_answer_in_a_schema_is_written_without_needless_space(client: ollama.Client) -> None:
    answer = client.chat(MODEL, HI, format=SCHEMA, options={**SHORT, "num_predict": 80})
    assert json.dumps(json.loads(answer.message.content or ""), ensure_ascii=False) == answer.message.content


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_llama_cannot_follow_is_400_and_not_ignored(server: str, stream: bool) -> None:  # noqa: FBT001 - a parameter
    looking_ahead = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)y"}}}
    asked = {"model": MODEL, "messages": HI, "format": looking_ahead, "options": SHORT, "stream": stream}
    answer = post(server, "/api/chat", asked)
    assert answer.status_code == 400
    assert "invalid format" in answer.json()["error"]
    assert "look-around" in answer.json()["error"] or "JSON schema" in answer.json()["error"]


def test_what_llama_cannot_check_of_a_schema_leaves_the_rest_of_it(client: ollama.Client) -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2, "uniqueItems": True}
    answer = client.chat(MODEL, HI, format=schema, options={**SHORT, "num_predict": 40})
    assert set(json.loads(answer.message.content or "")) <= {"a", "b"}


def test_json_means_an_object(client: ollama.Client) -> None:
    question = [{"role": "user", "content": 'Answer with {"colour": "red"}'}]
    pieces = client.chat(MODEL, question, format="json", options={**SHORT, "num_predict": 3}, stream=True)
    assert "".join(piece.message.content or "" for piece in pieces).lstrip().startswith("{")


def test_probabilities_are_returned_when_asked_for(client: ollama.Client) -> None:
    answer = client.chat(MODEL, HI, options=SHORT, logprobs=True, top_logprobs=2)
    assert answer.logprobs
    assert "".join(token.token for token in answer.logprobs) == answer.message.content
    assert all(token.logprob <= 0 and len(token.top_logprobs or ()) == 2 for token in answer.logprobs)


def test_the_beginning_that_prompts_share_is_read_once(client: ollama.Client) -> None:
    shared = [{"role": "system", "content": "You sort pages. " * 80}]
    questions = ([*shared, {"role": "user", "content": f"Page {number}"}] for number in range(2))
    first, second = (client.chat(MODEL, question, options=SHORT) for question in questions)
    assert first.prompt_eval_count == second.prompt_eval_count
    assert (second.prompt_eval_duration or 0) < (first.prompt_eval_duration or 0) / 3


def test_a_prompt_that_is_too_long_is_cut_and_the_count_shows_it(server: str, client: ollama.Client) -> None:
    long = [{"role": "user", "content": "word " * 1000}]
    answer = client.chat(MODEL, long, options=SHORT)
    assert answer.prompt_eval_count == 258, "the first 4 tokens, and the last of half the context"
    refused = post(
        server, "/api/chat", {"model": MODEL, "messages": long, "options": SHORT, "truncate": False}
    )
    assert refused.status_code == 400
    assert "exceeds the context length" in refused.json()["error"]


def test_of_a_long_chat_the_oldest_messages_are_left_out(client: ollama.Client) -> None:
    system = {"role": "system", "content": "Be kind"}
    alone = client.chat(MODEL, [system, *HI], options=SHORT)
    old = {"role": "user", "content": "word " * 1500}
    answer = client.chat(MODEL, [system, old, *HI], options=SHORT)
    assert answer.prompt_eval_count == alone.prompt_eval_count


def test_another_context_loads_the_model_anew(client: ollama.Client) -> None:
    client.chat(MODEL, HI, options=SHORT)
    again = client.chat(MODEL, HI, options={**SHORT, "num_ctx": 1024})
    assert again.load_duration
    assert [model.context_length for model in client.ps().models] == [1024]
    unsaid = {name: value for name, value in SHORT.items() if name != "num_ctx"}
    assert client.chat(MODEL, HI, options=unsaid).load_duration == 0, "who does not say takes what is loaded"
    assert client.chat(MODEL, HI, options=SHORT).load_duration


def test_an_empty_prompt_loads_and_a_keep_alive_of_0_unloads(client: ollama.Client) -> None:
    assert client.generate(MODEL, keep_alive=0).done_reason == "unload"
    assert not client.ps().models
    loaded = client.generate(MODEL, options=SHORT, keep_alive="1h")
    assert loaded.done_reason == "load"
    assert loaded.load_duration
    [running] = client.ps().models
    assert running.model == MODEL
    assert running.expires_at
    assert client.chat(MODEL, [], keep_alive=-1).load_duration is None, "loaded already"
    assert client.ps().models[0].expires_at.year > running.expires_at.year + 50  # type: ignore[union-attr]
    assert client.chat(MODEL, []).done_reason == "load"


def test_a_model_leaves_when_its_time_is_over(client: ollama.Client) -> None:
    client.chat(MODEL, HI, options=SHORT, keep_alive="200ms")
    until = monotonic() + 10
    while client.ps().models and monotonic() < until:
        pass
    assert not client.ps().models
    list(client.chat(MODEL, HI, options=SHORT, keep_alive=0, stream=True))
    assert not client.ps().models


def test_models_are_listed_and_shown(client: ollama.Client) -> None:
    [listed] = client.list().models
    assert (listed.model, listed.size) == (MODEL, 98362432)
    assert listed.digest == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    shown = client.show("SmolLM2:135m-instruct-q4_1")
    assert shown.details
    assert (shown.details.family, shown.details.quantization_level) == ("llama", "Q4_1")
    assert (shown.modelinfo or {})["llama.context_length"] == 8192


def test_texts_are_embedded(server: str, client: ollama.Client) -> None:
    near = client.embed(MODEL, ["The desert planet", "A planet of deserts", "int main() { return 0; }"])
    first, second, other = near.embeddings

    def similarity(one: Sequence[float], another: Sequence[float]) -> float:
        return sum(a * b for a, b in zip(one, another, strict=True))

    assert similarity(first, first) == pytest.approx(1, abs=1e-3)
    assert similarity(first, second) > similarity(first, other)
    assert client.embeddings(MODEL, "The desert planet").embedding == pytest.approx(first, abs=1e-3)
    shorter = post(server, "/api/embed", {"model": MODEL, "input": "a", "dimensions": 8}).json()
    assert [len(vector) for vector in shorter["embeddings"]] == [8]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat", {"messages": HI}),
        ("/api/generate", {"prompt": "hi"}),
        ("/api/generate", {}),
        ("/api/embed", {"input": "hi"}),
        ("/api/show", {}),
        ("/api/pull", {}),
    ],
)
def test_a_model_that_is_not_known_is_404(server: str, path: str, body: dict[str, object]) -> None:
    answer = post(server, path, {**body, "model": "llama9:1b"})
    assert (answer.status_code, answer.json()) == (404, {"error": "model 'llama9:1b' not found"})


def test_a_model_that_is_not_fetched_is_404_and_says_how_to(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match=r"holocron models fetch qwen2\.5-coder:0\.5b") as caught:
        client.chat("qwen2.5-coder:0.5b", HI)
    assert caught.value.status_code == 404


@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_read_is_400(client: ollama.Client, stream: bool) -> None:  # noqa: FBT001 - a parameter
    def ask() -> None:
        if stream:
            list(client.chat(MODEL, HI, options={"num_ctx": "many"}, stream=True))
        else:
            client.chat(MODEL, HI, options={"num_ctx": "many"})

    with pytest.raises(ollama.ResponseError, match="num_ctx") as caught:
        ask()
    assert caught.value.status_code == 400


def test_a_model_that_is_here_is_pulled_at_once(client: ollama.Client) -> None:
    assert [step.status for step in client.pull(MODEL, stream=True)][-1] == "success"
    assert client.pull(MODEL).status == "success"


def test_a_person_with_curl_is_answered(server: str) -> None:
    assert httpx.get(server, trust_env=False).text == "Ollama is running"
    assert httpx.head(server, trust_env=False).status_code == 200
    assert "version" in httpx.get(f"{server}/api/version", trust_env=False).json()
    assert httpx.get(f"{server}/api/nothing", trust_env=False).json() == {"error": "not found"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "[::1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://[half"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_a_website_cannot_use_it(server: str, headers: dict[str, str], status: int) -> None:
    assert httpx.get(f"{server}/api/tags", headers=headers, trust_env=False).status_code == status


def test_requests_at_the_same_time_are_all_answered(server: str) -> None:
    async def work(client: ollama.AsyncClient) -> None:
        questions = [[{"role": "user", "content": f"Count to {number}"}] for number in range(6)]
        answers = await asyncio.gather(*(client.chat(MODEL, asked, options=SHORT) for asked in questions))
        alone = await client.chat(MODEL, questions[0], options=SHORT)
        assert [answer.eval_count for answer in answers] == [6] * 6
        assert alone.message.content

    together(server, work)


@pytest.mark.fault(9, "clients that go in the middle of an answer without end")
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_frees_its_slot(server: str, stream: bool) -> None:  # noqa: FBT001 - a parameter
    async def endless(client: ollama.AsyncClient) -> None:
        how: dict[str, Any] = {"format": ENDLESS, "options": {**SHORT, "num_predict": -1}}
        if stream:
            async for _ in await client.chat(MODEL, HI, stream=True, **how):
                pass
        else:
            await client.chat(MODEL, HI, **how)

    async def work(client: ollama.AsyncClient) -> None:
        both_slots = [asyncio.create_task(endless(client)) for _ in range(2)]
        await asyncio.sleep(1.5)
        assert not any(task.done() for task in both_slots)
        for task in both_slots:
            task.cancel()
        await asyncio.gather(*both_slots, return_exceptions=True)
        started = monotonic()
        await client.chat(MODEL, HI, options=SHORT)
        assert monotonic() - started < 5, "the others would have written on for many seconds"

    together(server, work)
