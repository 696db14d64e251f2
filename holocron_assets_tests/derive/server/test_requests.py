"""What the server takes from a client, and what it refuses."""

import json

import pytest

from holocron_assets.derive.server.requests import (
    BadRequestError,
    ChatRequest,
    EmbedRequest,
    Named,
    read_request,
)

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def read_chat(**fields: object) -> ChatRequest:
    return read_request(ChatRequest, json.dumps({**CHAT, **fields}).encode())


def test_what_is_not_said_is_as_with_ollama() -> None:
    how = read_chat().how
    assert (how.temperature, how.top_k, how.top_p, how.num_predict) == (0.8, 40, 0.9, -1)
    assert (how.num_ctx, read_chat().keep_alive, read_chat().stream) == (None, None, True)


def test_unknown_fields_and_options_are_ignored_and_null_is_the_default() -> None:
    asked = read_chat(new_field=1, options={"new_option": 2, "seed": None, "top_k": 3})
    assert (asked.how.seed, asked.how.top_k) == (-1, 3)


@pytest.mark.parametrize("format_", ["json", {"type": "object"}])
def test_json_means_any_object(format_: object) -> None:
    assert read_chat(format=format_).format == {"type": "object"}


@pytest.mark.parametrize("format_", [None, ""])
def test_no_format_means_text(format_: object) -> None:
    assert read_chat(format=format_).format is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"options": {"num_ctx": "many"}}, "options.num_ctx"),
        ({"options": {"num_ctx": 0}}, "options.num_ctx"),
        ({"options": {"temperature": "warm"}}, "options.temperature"),
        ({"options": {"stop": "."}}, "options.stop"),
        ({"options": []}, "options"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"content": "hi"}]}, "messages.0.role"),
        ({"format": "xml"}, "invalid format"),
        ({"format": {"type": "banana"}}, "invalid format: 'banana'"),
        ({"keep_alive": "soon"}, "keep_alive"),
        ({"top_logprobs": 21}, "top_logprobs"),
    ],
)
def test_a_field_of_another_kind_is_refused_by_its_name(fields: dict[str, object], message: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        read_chat(**fields)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "missing request body"),
        (b"{", "invalid JSON"),
        (b"\x80", "invalid JSON"),
        (b"[" * 100_000, "invalid JSON"),
        (b"[]", "valid dictionary"),
    ],
)
def test_a_body_that_is_no_object_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        read_request(ChatRequest, body)


def test_a_model_must_be_named_and_older_clients_call_it_name() -> None:
    assert read_request(Named, b'{"name": "m"}').wanted == "m"
    with pytest.raises(BadRequestError, match="model is required"):
        _ = read_request(Named, b"{}").wanted


def test_one_text_or_several_are_embedded() -> None:
    assert read_request(EmbedRequest, b'{"input": "a"}').input == "a"
    assert read_request(EmbedRequest, b'{"input": ["a", "b"]}').input == ["a", "b"]


def test_what_no_model_of_ours_can_do_is_named() -> None:
    message = {"role": "user", "content": "hi", "images": ["aGk="]}
    asked = read_chat(messages=[message], tools=[{"type": "function"}], think=True)
    assert asked.unsupported == ("thinking", "tools", "images")
    assert read_chat(think=False, tools=[]).unsupported == ()
