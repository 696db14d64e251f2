"""HTTP requests to our own processes on this machine; none leaves it."""

import json
from collections.abc import AsyncGenerator, Sequence
from functools import cache
from typing import Any

import httpx

_NO_TIMEOUT = httpx.Timeout(None, connect=10)
"""No limit: a long prompt on a slow machine takes long; the caller sets a limit."""
_tls_context = cache(httpx.create_ssl_context)  # it reads certificates for 20 ms, though none is needed here


class LlamaError(Exception):
    """llama.cpp refused a request.

    Attributes:
        status: as in HTTP.
    """

    def __init__(self, status: int, message: str) -> None:
        """Keep the status and the message."""
        super().__init__(message)
        self.status = status


class LlamaGoneError(LlamaError):
    """llama.cpp's process went away in the middle of a request."""

    def __init__(self, why: str) -> None:
        """Say why, as far as it is known."""
        super().__init__(500, f"llama runner process has terminated: {why}")


class Llama:
    """One llama.cpp server."""

    def __init__(self, address: str, key: str) -> None:
        """Ask the server at an address, with the key that it was started with."""
        self._http = httpx.AsyncClient(
            base_url=address,
            headers={"Authorization": f"Bearer {key}"},
            timeout=_NO_TIMEOUT,
            # llama.cpp closes some connections after a streamed answer without saying so: one that is used
            # again may then end before it answers.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            trust_env=False,  # a proxy knows nothing of this machine's own ports
            verify=_tls_context(trust_env=False),
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def prompt_of(self, messages: Sequence[dict[str, str]]) -> str:
        """The text that the model's own chat template makes of messages."""
        answer = await self._post("/apply-template", {"messages": messages})
        return str(answer["prompt"])

    async def tokens_of(self, text: str) -> list[int]:
        """The tokens of a prompt, with those that the model wants at its beginning."""
        asked = {"content": text, "add_special": True, "parse_special": True}
        answer = await self._post("/tokenize", asked)
        return list(answer["tokens"])

    async def embeddings_of(self, inputs: Sequence[list[int]]) -> list[list[float]]:
        """A unit vector for each input."""
        answer = await self._post("/v1/embeddings", {"input": inputs})
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        return [row["embedding"] for row in rows]

    async def complete(self, asked: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """What the model writes, piece by piece; the last piece has `stop` true and the figures.

        Closing the iterator cancels the generation.

        Raises:
            LlamaError: refused.
            LlamaGoneError: the process went away meanwhile.
        """
        try:
            async with self._http.stream("POST", "/completion", json={**asked, "stream": True}) as answer:
                if answer.is_error:
                    raise _refusal(answer.status_code, await answer.aread())
                async for line in answer.aiter_lines():
                    if line.startswith("data: {"):
                        yield json.loads(line.removeprefix("data: "))
                    elif line.startswith("error: "):
                        raise _refusal(500, line.removeprefix("error: ").encode())
        except httpx.TransportError as error:
            raise LlamaGoneError(type(error).__name__) from error

    async def _post(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = await self._http.post(path, json=asked)
        except httpx.TransportError as error:
            raise LlamaGoneError(type(error).__name__) from error
        if answer.is_error:
            raise _refusal(answer.status_code, answer.content)
        return dict(answer.json())


def _refusal(status: int, body: bytes) -> LlamaError:
    try:
        content = json.loads(body)
        return LlamaError(status, str(content.get("error", content).get("message", content)))
    except (ValueError, AttributeError):
        return LlamaError(status, body.decode(errors="replace")[:500])


def version_at(url: str) -> dict[str, Any] | None:
    """A model server's version; None if nothing answers there, or no model server does."""
    try:
        answer = httpx.get(
            f"{url}/api/version", timeout=10, trust_env=False, verify=_tls_context(trust_env=False)
        )
        return dict(answer.json()) if answer.is_success else None
    except (httpx.HTTPError, ValueError, TypeError):
        return None
