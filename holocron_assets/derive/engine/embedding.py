"""The engine of spaces: asks a model for the vectors of passages."""

import base64
import json
from collections.abc import Awaitable, Iterable, Sequence

import numpy as np

from holocron_assets.derive.engine.calls import KEEP_ALIVE, Reply, Request, bounded
from holocron_assets.derive.engine.engine import Engine
from holocron_assets.derive.engine.listening import refuse_another
from holocron_assets.derive.engine.official_client import ollama

_LARGEST = 127
_NANOSECONDS_PER_MS = 1e6


class EmbeddingEngine(Engine):
    """Asks embedding models: the same items, attempts and failures as where a model writes."""

    def _loading(self, model: str, num_ctx: int) -> Awaitable[ollama.EmbedResponse]:
        # Without a text, a server only loads the model.
        return self._client.embed(model, input=[], options={"num_ctx": num_ctx}, keep_alive=KEEP_ALIVE)

    async def _chat(self, request: Request) -> Reply:
        if not request.passages:
            return Reply(json.dumps({"passages": []}), "stop", 0, 0, 0.0, 0.0, 0.0)
        given = await self._client.embed(**request.body)
        refuse_another(given.model, request.model)
        rows = [
            {"passage_id": passage, "vector": packed_vector(vector)}
            for passage, vector in zip(request.passages, given.embeddings, strict=True)
        ]
        return Reply(
            text=json.dumps({"passages": rows}),
            done_reason="stop",
            tokens_in=bounded(given.prompt_eval_count),
            tokens_out=0,
            load_ms=bounded(given.load_duration) / _NANOSECONDS_PER_MS,
            prompt_ms=bounded(given.total_duration) / _NANOSECONDS_PER_MS,
            generation_ms=0.0,
        )


def packed_vector(vector: Sequence[float]) -> str:
    """The direction of a vector, as base64 of one signed byte a number: the largest number becomes 127.

    Its length is lost, which a comparison by angle does not need.

    Raises:
        ValueError: the vector has no direction, or a number in it is none.
    """
    numbers = np.asarray(vector, dtype=np.float32)
    largest = float(np.abs(numbers).max(initial=0.0))
    if not np.isfinite(largest) or largest == 0:
        raise ValueError("an embedding of the model has no direction")
    return base64.b64encode(np.rint(numbers * (_LARGEST / largest)).astype(np.int8).tobytes()).decode()


def unpacked_vectors(packed: Iterable[str], dimensions: int) -> np.ndarray:
    """The vectors of packed ones: an array of int8, a row each.

    Raises:
        ValueError: one has another number of dimensions.
    """
    joined = b"".join(map(base64.b64decode, packed))
    return np.frombuffer(joined, dtype=np.int8).reshape(-1, dimensions)
