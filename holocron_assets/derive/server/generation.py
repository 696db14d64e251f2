"""Generates a model's text for a request, piece by piece, with its figures."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any

from holocron_assets.derive.server.formats import breaks_format, grammar_schema
from holocron_assets.derive.server.model_files.catalog import Model
from holocron_assets.derive.server.process.loaded import Lease, LoadedModels
from holocron_assets.derive.server.process.loopback import LlamaError
from holocron_assets.derive.server.prompts import Tokens
from holocron_assets.derive.server.requests import Generating, Options

_ANSWERS_PER_CONTEXT = 10
"""A model that never ends is stopped when it wrote this many times its context, as Ollama does."""


@dataclass(frozen=True)
class Piece:
    """A part of an answer. The last has a reason and figures; durations in ns as in Ollama's API.

    Attributes:
        done_reason: "stop" or "length" in the last piece.
        tokens: all tokens of the prompt and the answer, in the last piece.
    """

    text: str
    logprobs: list[dict[str, Any]] | None = None
    done_reason: str | None = None
    figures: dict[str, int] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)


async def generate(
    models: LoadedModels, model: Model, asked: Generating, tokens_of: Tokens
) -> AsyncGenerator[Piece, None]:
    """Generate an answer. Closing the iterator stops the model, and the slot is free for another.

    Raises:
        LlamaError: the model refused, went away, or did not keep to the format; also what
            `LoadedModels.borrow` and the prompt raise.
    """
    started, tokens, text = monotonic_ns(), list[int](), ""
    borrowed = models.borrow(model, num_ctx=asked.how.num_ctx, keep_alive=asked.keep_alive)
    async with borrowed as lease:
        llama, num_ctx = lease.loaded.llama, lease.loaded.num_ctx
        prompt = await tokens_of(llama, num_ctx)
        async with aclosing(llama.complete(_order(prompt, asked, num_ctx))) as written:
            async for part in written:
                tokens += part["tokens"]
                text += part["content"]
                is_whole = part["stop"] and part["stop_type"] != "limit"
                if asked.format is not None and breaks_format(asked.format, text, is_whole=is_whole):
                    raise LlamaError(400, f"invalid format: {lease.loaded.runner.grammar_problem}")
                if part["stop"]:
                    last = part
                elif part["content"] or part["tokens"]:
                    yield Piece(part["content"], _logprobs(part, asked))
    # Sent only now: after the last piece, the model is free, or unloaded if it was not to stay.
    yield Piece(
        last["content"],
        done_reason="length" if last["stop_type"] == "limit" else "stop",
        figures=_figures(last, lease, started),
        tokens=prompt + tokens,
    )


def _order(prompt: list[int], asked: Generating, num_ctx: int) -> dict[str, Any]:
    order = {
        "prompt": prompt,
        "cache_prompt": True,  # the shared beginning of prompts is read once
        "n_predict": _limit(asked.how, num_ctx),
        **asked.how.model_dump(exclude={"num_ctx", "num_predict", "num_keep"}),
    }
    if asked.format is not None:
        order["json_schema"] = grammar_schema(asked.format)
    if asked.logprobs:
        order["n_probs"] = max(1, asked.top_logprobs or 0)
    return order


def _limit(options: Options, num_ctx: int) -> int:
    most = _ANSWERS_PER_CONTEXT * num_ctx
    return most if options.num_predict < 0 else min(options.num_predict, most)


def _figures(last: dict[str, Any], lease: Lease, started: int) -> dict[str, int]:
    timings = last["timings"]
    return {
        "total_duration": monotonic_ns() - started,
        "load_duration": round(lease.load_seconds * 1e9),
        "prompt_eval_count": last["tokens_evaluated"],
        "prompt_eval_duration": round(timings["prompt_ms"] * 1e6),
        "eval_count": last["tokens_predicted"],
        "eval_duration": round(timings["predicted_ms"] * 1e6),
    }


def _logprobs(part: dict[str, Any], asked: Generating) -> list[dict[str, Any]] | None:
    if not asked.logprobs:
        return None
    return [
        {
            **_logprob(token),
            "top_logprobs": [_logprob(top) for top in token["top_logprobs"][: asked.top_logprobs or 0]],
        }
        for token in part.get("completion_probabilities", ())
    ]


def _logprob(token: dict[str, Any]) -> dict[str, Any]:
    return {"token": token["token"], "logprob": token["logprob"], "bytes": token["bytes"]}
