"""The one module that knows httpx: a request goes in, a plain answer comes out, whatever happens between."""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

import httpx

Verb = Literal["GET", "POST"]


@dataclass(frozen=True)
class HttpAnswer:
    """What came back for one request.

    Attributes:
        status: HTTP status; None when none came.
        headers: the answer's headers, their names in lower case.
        body: the decompressed body; empty when `error` is set.
        elapsed_seconds: from sending to the body's end, or to the error.
        error: why there is no whole answer; None when there is one.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    elapsed_seconds: float = 0.0
    error: str | None = None


class HttpClient:
    """Sends requests over kept connections. A context manager, safe to use from several threads.

    No redirect is followed: each request that leaves is one that was counted, and goes where it was meant to.
    The requests run on an event loop of their own, for only there does a deadline cover a whole request: name
    look-up, a peer that drips its headers, and the body.
    """

    def __init__(
        self, user_agent: str, *, deadline_seconds: float = 60.0, body_limit_bytes: int = 64 * 2**20
    ) -> None:
        """Start the client.

        Args:
            user_agent: names the project and a contact.
            deadline_seconds: longest time that one request may take in all.
            body_limit_bytes: largest body, after decompression.
        """
        self._deadline_seconds = deadline_seconds
        self._body_limit_bytes = body_limit_bytes
        headers = {"User-Agent": user_agent, "Accept-Encoding": "gzip"}
        # Its timeouts count between two bytes; ours, around the whole request, is the only one.
        self._client = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(None))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections and stop."""
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def send(self, verb: Verb, url: str, parameters: Mapping[str, str]) -> HttpAnswer:
        """Send one request and wait for its answer.

        Args:
            verb: GET sends the parameters in the address, POST as a form.
            url: the address, without parameters.
            parameters: the parameters.

        Returns:
            The answer. Nothing that the network or the peer does raises: it is told in `error`.
        """
        try:
            # Empty parameters would take away those that the address has.
            request = (
                self._client.build_request("GET", url, params=parameters or None)
                if verb == "GET"
                else self._client.build_request("POST", url, data=parameters)
            )
        except httpx.InvalidURL as problem:  # a peer's redirect may say anything
            return HttpAnswer(error=f"InvalidURL: {problem}")
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result()

    async def _answer(self, request: httpx.Request) -> HttpAnswer:
        started = time.monotonic()
        status, headers, body, error = None, httpx.Headers(), b"", None
        try:
            async with asyncio.timeout(self._deadline_seconds):
                response = await self._client.send(request, stream=True)
                try:
                    status, headers = response.status_code, response.headers
                    body = await self._body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            error = f"no whole answer within {self._deadline_seconds:g} s"
        except (httpx.HTTPError, _BodyRefusedError) as problem:
            error = f"{type(problem).__name__}: {problem}".removesuffix(": ")
        elapsed = time.monotonic() - started
        return HttpAnswer(status, dict(headers), body, elapsed, error)

    async def _body(self, response: httpx.Response) -> bytes:
        # Nested encodings multiply: a few kilobytes could fill the memory within one chunk.
        if (encoding := response.headers.get("content-encoding", "identity")) not in {"gzip", "identity"}:
            raise _BodyRefusedError(f"the body comes as {encoding!r}, which was not asked for")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._body_limit_bytes:
                raise _BodyRefusedError(f"the body is larger than {self._body_limit_bytes} bytes")
        return bytes(body)


class _BodyRefusedError(Exception):
    pass
