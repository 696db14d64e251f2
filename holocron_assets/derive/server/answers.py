"""The model server's answers, in the shapes of Ollama's API."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from holocron_assets.derive.server.generation import Piece
from holocron_assets.derive.server.model_files.catalog import Model
from holocron_assets.derive.server.process.loaded import Loaded

Answer = dict[str, Any]


class Shape(Protocol):
    """How one endpoint sends a piece of text."""

    def __call__(self, text: str, tokens: list[int]) -> Answer:
        """The endpoint's own fields; `tokens` are all of the conversation, in the last piece only."""


def chat_shape(text: str, tokens: list[int]) -> Answer:
    """A piece of a chat's answer."""
    del tokens
    return {"message": {"role": "assistant", "content": text}}


def generate_shape(text: str, tokens: list[int]) -> Answer:
    """A piece of an answer to a prompt."""
    return {"response": text, **({"context": tokens} if tokens else {})}


def at_once(name: str, shape: Shape, reason: str, load_seconds: float = 0) -> Answer:
    """The answer to a request that only loads or unloads a model."""
    loading = {"load_duration": round(load_seconds * 1e9)} if load_seconds else {}
    return {**_head(name), **shape("", []), "done": True, "done_reason": reason, **loading}


async def streamed(
    name: str, shape: Shape, pieces: AsyncGenerator[Piece, None]
) -> AsyncGenerator[Answer, None]:
    """An answer in pieces."""
    async with aclosing(pieces):
        async for piece in pieces:
            yield _answer(name, shape, piece)


async def whole(name: str, shape: Shape, pieces: AsyncGenerator[Piece, None]) -> Answer:
    """An answer as a whole."""
    texts, logprobs = [], list[dict[str, Any]]()
    async for piece in pieces:
        texts.append(piece.text)
        logprobs += piece.logprobs or []
        last = piece
    complete = Piece("".join(texts), logprobs or None, last.done_reason, last.figures, last.tokens)
    return _answer(name, shape, complete)


def _answer(name: str, shape: Shape, piece: Piece) -> Answer:
    answer = {**_head(name), **shape(piece.text, piece.tokens), "done": piece.done_reason is not None}
    if piece.logprobs is not None:
        answer["logprobs"] = piece.logprobs
    if piece.done_reason:
        answer |= {"done_reason": piece.done_reason, **piece.figures}
    return answer


def _head(name: str) -> Answer:
    return {"model": name, "created_at": _time(datetime.now(UTC))}


def listed(model: Model, file: Path) -> Answer:
    """A model whose file is here."""
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": _modified_at(file),
        "size": model.size,
        "digest": model.sha256,
        "details": _details(model),
    }


def running(loaded: Loaded) -> Answer:
    """A model that is loaded."""
    model = loaded.model
    return {
        "name": model.name,
        "model": model.name,
        "size": model.size,
        "digest": model.sha256,
        "details": _details(model),
        "expires_at": _time(loaded.expires_at),
        "size_vram": 0,  # llama.cpp does not say how much of the model is on a graphics card
        "context_length": loaded.num_ctx,
    }


def shown(model: Model, file: Path) -> Answer:
    """All that is known of a model."""
    return {
        "license": model.licence,
        "modelfile": f"FROM {model.name}\n",
        "details": _details(model),
        "model_info": {
            "general.architecture": model.family,
            "general.parameter_count": model.parameters,
            f"{model.family}.context_length": model.context_length,
            f"{model.family}.embedding_length": model.embedding_length,
        },
        "capabilities": ["completion", "embedding"],
        "modified_at": _modified_at(file),
    }


def _details(model: Model) -> Answer:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": model.family,
        "families": [model.family],
        "parameter_size": model.parameter_size,
        "quantization_level": model.quantization,
        "context_length": model.context_length,
        "embedding_length": model.embedding_length,
    }


def _modified_at(file: Path) -> str:
    return _time(datetime.fromtimestamp(file.stat().st_mtime, UTC))


def _time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
