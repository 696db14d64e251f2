"""Embeddings of texts by a language model: the mean over its tokens, as a unit vector."""

import math
from time import monotonic_ns
from typing import Any

from holocron_assets.derive.server.model_files.catalog import Model
from holocron_assets.derive.server.process.loaded import LoadedModels
from holocron_assets.derive.server.prompts import fit
from holocron_assets.derive.server.requests import EmbedRequest


async def embed(models: LoadedModels, model: Model, asked: EmbedRequest) -> dict[str, Any]:
    """Embed one text or several; without any, only load the model. A long text is cut at its end.

    Raises:
        BadRequestError: a text does not fit, and must not be cut; also what `LoadedModels.borrow` raises.
    """
    started = monotonic_ns()
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    borrowed = models.borrow(model, num_ctx=asked.how.num_ctx, keep_alive=asked.keep_alive, embedding=True)
    async with borrowed as lease:
        num_ctx = lease.loaded.num_ctx
        inputs = [
            fit(
                await lease.loaded.llama.tokens_of(text),
                num_ctx,
                may_cut=asked.may_cut,
                keep=num_ctx,
            )
            for text in texts
            if text
        ]
        vectors = await lease.loaded.llama.embeddings_of(inputs) if inputs else []
    return {
        "model": asked.wanted,
        "embeddings": [_shortened(vector, asked.dimensions) for vector in vectors],
        "total_duration": monotonic_ns() - started,
        "load_duration": round(lease.load_seconds * 1e9),
        "prompt_eval_count": sum(map(len, inputs)),
    }


def _shortened(vector: list[float], dimensions: int | None) -> list[float]:
    """The first so many dimensions, as a unit vector again."""
    if dimensions is None or dimensions >= len(vector):
        return vector
    kept = vector[:dimensions]
    length = math.hypot(*kept) or 1.0
    return [value / length for value in kept]
