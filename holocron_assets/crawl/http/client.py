"""The one module that speaks HTTP: a request goes in, a plain answer comes out, whatever happens between."""

import asyncio
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

import httpcore
import httpx

from holocron_assets.crawl.http.bodies import BodyRefusedError, read_body
from holocron_assets.crawl.http.connecting import AddressRefusedError, PublicNetwork

Verb = Literal["GET", "POST"]

_MOST_CONNECTIONS = 32  # as many requests may be under way by a source's settings
_KEPT_SECONDS = 5.0  # servers close connections that rest for longer

_FAILURES = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    OSError,  # of a TLS record that is damaged, which passes through the library as it is
    BodyRefusedError,
)


@dataclass(frozen=True)
class HttpAnswer:
    """What came back for one request.

    Attributes:
        status: HTTP status; None when none came.
        headers: the answer's headers, their names in lower case.
        body: the decompressed body; empty when `error` is set.
        elapsed_seconds: from sending to the body's end, or to the error.
        error: why there is no whole answer; None when there is one.
        private_host: the host that was not connected to, since its address is not public; None otherwise.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    elapsed_seconds: float = 0.0
    error: str | None = None
    private_host: str | None = None


class HttpClient:
    """Sends requests over kept connections. A context manager, safe to use from several threads.

    No redirect is followed: each request that leaves is one that was counted, and goes where it was meant to.
    No cookie is kept, and no proxy of the environment is used: it would connect to what we must not.
    The requests run on an event loop of their own, for only there does a deadline cover a whole request: name
    look-up, a peer that drips its headers, and the body.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        deadline_seconds: float = 60.0,
        body_limit_bytes: int = 32 * 2**20,
        private_hosts: Collection[str] = (),
    ) -> None:
        """Start the client.

        Args:
            user_agent: names the project and a contact.
            deadline_seconds: longest time that one request may take in all.
            body_limit_bytes: largest body, after decompression. MediaWiki's answers have 8 MiB, about twice
                that when written as JSON; a wiki can be set up to give more.
            private_hosts: hosts that may be connected to though their addresses are not public.
        """
        self._deadline_seconds = deadline_seconds
        self._body_limit_bytes = body_limit_bytes
        self._headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip"}
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            network_backend=PublicNetwork({_as_sent(host) for host in private_hosts}),
            max_connections=_MOST_CONNECTIONS,
            keepalive_expiry=_KEPT_SECONDS,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)
        self._thread.start()
        self._under_way: set[Future[HttpAnswer]] = set()
        self._is_given_up = False

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections and stop."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
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
                httpx.Request("GET", url, params=parameters or None, headers=self._headers)
                if verb == "GET"
                else httpx.Request("POST", url, data=parameters, headers=self._headers)
            )
        except httpx.InvalidURL as problem:  # a peer's redirect may say anything
            return HttpAnswer(error=f"InvalidURL: {problem}")
        return self._wait_for(request)

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a body as it is, and wait for the answer; else as `send`.

        Args:
            url: the address.
            body: what is sent.
            headers: sent besides the client's own; they say what the body is.
        """
        try:
            request = httpx.Request("POST", url, content=body, headers={**self._headers, **headers})
        except httpx.InvalidURL as problem:
            return HttpAnswer(error=f"InvalidURL: {problem}")
        return self._wait_for(request)

    def _wait_for(self, request: httpx.Request) -> HttpAnswer:
        answer = asyncio.run_coroutine_threadsafe(self._answer(request), self._loop)
        self._under_way.add(answer)
        try:
            if self._is_given_up:
                answer.cancel()
            return answer.result()
        finally:
            self._under_way.discard(answer)

    def give_up(self) -> None:
        """End the requests under way, from another thread; they and all later ones raise CancelledError."""
        self._is_given_up = True
        for answer in list(self._under_way):
            answer.cancel()

    async def _close(self) -> None:
        await self._pool.aclose()
        # Bodies that were left in the middle end in tasks of their own.
        endings = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*endings, return_exceptions=True)

    async def _answer(self, request: httpx.Request) -> HttpAnswer:
        started = time.monotonic()
        status, headers, body, error, private_host = None, {}, b"", None, None
        try:
            async with asyncio.timeout(self._deadline_seconds):
                response = await self._pool.handle_async_request(_on_the_wire(request))
                try:
                    status, headers = response.status, _readable(response.headers)
                    encoding = headers.get("content-encoding", "")
                    body = await read_body(response.aiter_stream(), encoding, self._body_limit_bytes)
                    await self._refuse_what_is_behind(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            error = f"no whole answer within {self._deadline_seconds:g} s"
        except AddressRefusedError as problem:
            error, private_host = str(problem), problem.host
        except _FAILURES as problem:
            error = f"{type(problem).__name__}: {problem}".removesuffix(": ")
        elapsed = time.monotonic() - started
        return HttpAnswer(status, headers, body, elapsed, error, private_host)

    async def _refuse_what_is_behind(self, response: httpcore.Response) -> None:
        """Close a connection on which more came than the answer, for the next one would begin with that.

        Raises:
            BodyRefusedError: it is more than line breaks, so the answer's length was wrong.
        """
        stream = response.extensions["network_stream"]
        for connection in self._pool.connections:
            # The library gives no other way to see it, and would read it as the next request's answer.
            speaking = getattr(connection, "_connection", None)
            if speaking is not None and speaking._network_stream is stream:  # noqa: SLF001
                behind, _ = speaking._h11_state.trailing_data  # noqa: SLF001
                if behind:
                    await stream.aclose()
                if behind.strip():
                    raise BodyRefusedError("more came than the answer's headers say")


def _as_sent(host: str) -> str:
    """A host as requests have it: in small letters, and a name of other alphabets in ASCII."""
    return httpx.URL(scheme="http", host=host).raw_host.decode("ascii")


def _on_the_wire(request: httpx.Request) -> httpcore.Request:
    url = request.url
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.content,
    )


def _readable(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case; those of one name as one (RFC 9110 section 5.3)."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return {name: ", ".join(said) for name, said in values.items()}


def is_address(url: str) -> bool:
    """Whether a request can be sent to an address: its host and port are possible ones."""
    try:
        return bool(httpx.Request("GET", url).url.host) and urlsplit(url).port != 0
    except (ValueError, httpx.InvalidURL):
        return False
