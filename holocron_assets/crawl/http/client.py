"""The one module that speaks HTTP. Each request gets a plain answer, whatever happens on the way."""

import asyncio
import os
import ssl
import threading
import time
import zlib
from collections.abc import AsyncIterable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

import httpcore
import httpx

from holocron_assets.crawl.http.connecting import AddressRefusedError, PublicNetwork
from holocron_assets.crawl.http.outcomes import HttpAnswer
from holocron_assets.crawl.http.streaming import PEEKED_BYTES, Pouring, Receiver, ReceiverFailedError, peek

BODY_LIMIT_BYTES = 32 * 2**20
"""MediaWiki answers with up to 8 MiB of text, about twice that as JSON; a wiki can be set up to give more."""
_GZIP = zlib.MAX_WBITS | 16
_MEMBER_STARTS = b"\x1f"
_PLAIN = frozenset({"", "identity"})
_GZIPPED = frozenset({"gzip", "x-gzip"})  # RFC 9110 section 8.4.1.3: both mean the same


class BodyRefusedError(Exception):
    """A body is larger than the limit, or not what its headers say. The message says which."""


class BodyTooLargeError(BodyRefusedError):
    """A body is larger than the limit."""


async def read_body(parts: AsyncIterable[bytes], encoding: str, limit: int) -> bytes:
    """Read a body to its end, unpacked.

    A few kilobytes can unpack to gigabytes. So memory holds one packed part and at most the limit of unpacked
    bytes.

    Args:
        parts: the body's bytes as they come.
        encoding: header Content-Encoding; empty without one.
        limit: the most bytes that the body may have, packed or unpacked.

    Raises:
        BodyRefusedError: the body is too large, packed in a way that was not asked for, damaged or cut off.
    """
    encoding = encoding.strip().lower()
    if encoding not in _PLAIN | _GZIPPED:
        # Encodings can be nested, and the limit would have to count at each level.
        raise BodyRefusedError(f"the body comes as {encoding[:100]!r}, which was not asked for")
    body = _Body(limit) if encoding in _PLAIN else _GzippedBody(limit)
    async for part in parts:
        body.add(part)
    return body.whole()


class _Body:
    """A body that is not packed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content = bytearray()

    def add(self, part: bytes) -> None:
        self._content += part
        if len(self._content) > self._limit:
            raise BodyTooLargeError(f"the body is larger than {self._limit} bytes")

    def whole(self) -> bytes:
        return bytes(self._content)


class _GzippedBody(_Body):
    """A body that is unpacked as it comes. It may have several members (RFC 1952 section 2.2)."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._packed_bytes = 0
        self._member = zlib.decompressobj(_GZIP)

    def add(self, part: bytes) -> None:
        self._packed_bytes += len(part)
        if self._packed_bytes > self._limit:
            raise BodyTooLargeError(f"the packed body is larger than {self._limit} bytes")
        while part:
            if self._member.eof:
                if not part.startswith(_MEMBER_STARTS):
                    return  # padding, which gzip ignores too
                self._member = zlib.decompressobj(_GZIP)
            part = self._unpacked(part)

    def whole(self) -> bytes:
        if self._packed_bytes and not self._member.eof:
            raise BodyRefusedError("the body's gzip breaks off")
        return super().whole()

    def _unpacked(self, part: bytes) -> bytes:
        """Unpack a part, to at most one byte beyond the limit; bytes after its member are left for later."""
        room = self._limit + 1 - len(self._content)
        try:
            super().add(self._member.decompress(part, room))
        except zlib.error as error:
            raise BodyRefusedError(f"the body's gzip is damaged: {error}") from error
        return self._member.unused_data


Verb = Literal["GET", "POST", "HEAD"]

_MOST_CONNECTIONS = 32  # a source's settings allow at most as many requests at once
_KEPT_SECONDS = 5.0  # servers close connections that are idle for longer

_FAILURES = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    OSError,  # a damaged TLS record raises it, and the library passes it on
    BodyRefusedError,
)
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables of the environment that say where certificates are."""


def _places_of_certificates() -> tuple[tuple[str, int], ...]:
    """The places that the environment names, and when each changed."""
    places = [Path(place) for name in _CERTIFICATES if (place := os.environ.get(name))]
    return tuple((str(place), place.stat().st_mtime_ns) for place in places if place.exists())


@cache
def _tls_context(_places: tuple[tuple[str, int], ...]) -> ssl.SSLContext:
    """Certificates of the given places. To read them takes 20 ms, and each batch has its own client."""
    return httpx.create_ssl_context()


class HttpClient:
    """Sends requests and keeps connections open. A context manager, safe to use from several threads.

    It follows no redirect: each request is counted, and goes to the address that was meant.
    It keeps no cookie, and uses no proxy of the environment: a proxy would connect to forbidden addresses.
    The requests run on an event loop of their own. Only there does a deadline cover a whole request:
    resolving the name, headers that come slowly, and the body.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        deadline_seconds: float = 60.0,
        body_limit_bytes: int = BODY_LIMIT_BYTES,
        private_hosts: Collection[str] = (),
    ) -> None:
        """Start the client.

        Args:
            user_agent: names the project and a contact.
            deadline_seconds: the longest time that one whole request may take.
            body_limit_bytes: largest body, after decompression.
            private_hosts: hosts that may be connected to though their addresses are not public.
        """
        self._deadline_seconds = deadline_seconds
        self._body_limit_bytes = body_limit_bytes
        self._headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip"}
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls_context(_places_of_certificates()),
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
            verb: GET and HEAD send the parameters in the address, POST as a form.
            url: the address, without parameters.
            parameters: the parameters.

        Returns:
            The answer. No failure of the network or the peer raises an exception: `error` names it.
        """
        try:
            # Empty parameters would remove those that the address has.
            request = (
                httpx.Request("POST", url, data=parameters, headers=self._headers)
                if verb == "POST"
                else httpx.Request(verb, url, params=parameters or None, headers=self._headers)
            )
        except httpx.InvalidURL as problem:  # the address of a redirect may be anything
            return HttpAnswer(error=f"InvalidURL: {problem}")
        return self._wait_for(request)

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a body unchanged, and wait for the answer; otherwise like `send`.

        Args:
            url: the address.
            body: what is sent.
            headers: sent in addition to the client's own; they say what the body is.
        """
        try:
            request = httpx.Request("POST", url, content=body, headers={**self._headers, **headers})
        except httpx.InvalidURL as problem:
            return HttpAnswer(error=f"InvalidURL: {problem}")
        return self._wait_for(request)

    def stream(self, verb: Verb, url: str, headers: Mapping[str, str], receiver: Receiver) -> HttpAnswer:
        """Ask for a body of any length, and give it to a receiver as it comes; otherwise like `send`.

        The deadline moves on with the bytes: a body of n bytes may take n / 4096 seconds more.

        Args:
            verb: HTTP method.
            url: the address.
            headers: sent in addition to the client's own, and in place of those of the same name.
            receiver: takes status, headers and body. Of a body that it does not want, the answer holds the
                start.

        Raises:
            Exception: the receiver raised it.
        """
        # A server's own ETag goes back to it, and may hold any byte (RFC 9110 section 8.8.3).
        sent = httpx.Headers({**self._headers, **headers}, encoding="latin-1")
        try:
            request = httpx.Request(verb, url, headers=sent)
        except httpx.InvalidURL as problem:
            return HttpAnswer(error=f"InvalidURL: {problem}")
        pouring = Pouring(receiver)
        try:
            answer = self._wait_for(request, _Streaming(receiver, pouring))
            pouring.take_rest()
        except ReceiverFailedError as failed:
            raise failed.__cause__ or failed from None
        return answer

    def _wait_for(self, request: httpx.Request, streaming: "_Streaming | None" = None) -> HttpAnswer:
        answer = asyncio.run_coroutine_threadsafe(self._answer(request, streaming), self._loop)
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
        # Bodies that were not read to the end are closed by tasks of their own.
        endings = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*endings, return_exceptions=True)
        await self._loop.shutdown_default_executor()

    async def _answer(self, request: httpx.Request, streaming: "_Streaming | None") -> HttpAnswer:
        started = time.monotonic()
        status, headers, body, error, private_host = None, {}, b"", None, None
        cause: Exception | None = None
        headers_seconds: float | None = None
        try:
            async with asyncio.timeout(self._deadline_seconds) as timer:
                response = await self._pool.handle_async_request(_on_the_wire(request))
                try:
                    status, headers = response.status, _readable(response.headers)
                    if streaming:
                        headers_seconds = time.monotonic() - started
                        body, is_read = await streaming.body(response, headers, timer)
                    else:
                        encoding = headers.get("content-encoding", "")
                        body = await read_body(response.aiter_stream(), encoding, self._body_limit_bytes)
                        is_read = True
                    if is_read:
                        await self._refuse_what_is_behind(response)
                finally:
                    await response.aclose()
        except TimeoutError as problem:
            error, cause = f"no whole answer within {self._deadline_seconds:g} s", problem
        except AddressRefusedError as problem:
            error, private_host, cause = str(problem), problem.host, problem
        except _FAILURES as problem:
            error, cause = f"{type(problem).__name__}: {problem}".removesuffix(": "), problem
        elapsed = time.monotonic() - started
        streamed = streaming.pouring.received if streaming else 0
        return HttpAnswer(
            status, headers, body, elapsed, error, private_host, streamed, cause, headers_seconds
        )

    async def _refuse_what_is_behind(self, response: httpcore.Response) -> None:
        """Close a connection on which more came than the answer: the next answer would begin with the rest.

        Raises:
            BodyRefusedError: the rest is more than line breaks, so the answer's length was wrong.
        """
        stream = response.extensions["network_stream"]
        for connection in self._pool.connections:
            # The library has no other way to see the rest, and would read it as the next request's answer.
            speaking = getattr(connection, "_connection", None)
            if speaking is not None and speaking._network_stream is stream:  # noqa: SLF001
                behind, _ = speaking._h11_state.trailing_data  # noqa: SLF001
                if behind:
                    await stream.aclose()
                if behind.strip():
                    raise BodyRefusedError("more came than the answer's headers say")


@dataclass(frozen=True)
class _Streaming:
    """A request whose body goes to a receiver."""

    receiver: Receiver
    pouring: Pouring

    async def body(
        self, response: httpcore.Response, headers: Mapping[str, str], timer: asyncio.Timeout
    ) -> tuple[bytes, bool]:
        """Pour the body if it is wanted; if not, give its start. Also say whether it was all read."""
        if not self.receiver.begins(response.status, headers):
            start = await peek(response.aiter_stream())
            return start, len(start) < PEEKED_BYTES
        return b"", await self.pouring.pour(response.aiter_stream(), timer)


def _as_sent(host: str) -> str:
    """A host as requests write it: in small letters, with a name of other alphabets in ASCII."""
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
    """Headers by their names in lower case; headers of one name are joined (RFC 9110 section 5.3)."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return {name: ", ".join(parts) for name, parts in values.items()}


def is_address(url: str) -> bool:
    """Whether a request can be sent to an address: its host and port are valid."""
    try:
        return bool(httpx.Request("GET", url).url.host) and urlsplit(url).port != 0
    except (ValueError, httpx.InvalidURL):
        return False


def normal_address(url: str) -> str:
    """An address as requests write it: characters are escaped in one way (RFC 3986 section 6.2.2).

    Raises:
        ValueError: it is no address.
    """
    try:
        return str(httpx.URL(url))
    except httpx.InvalidURL as error:
        raise ValueError(str(error)) from error
