"""Connecting to hosts of the public Internet only. The address that was checked is the one connected to.

Every new connection is made here, also after a redirect or with a false answer of a name server. It resolves
the name, checks every address that came, and connects to one of these addresses, never to the name.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import chain, zip_longest

import anyio
import httpcore
from httpcore import SOCKET_OPTION, AsyncNetworkStream

from holocron_assets.crawl.http.addresses import why_not_public

# RFC 8305 section 5: the head start of each address before the next one is tried too.
_HEAD_START_SECONDS = 0.25


class AddressRefusedError(Exception):
    """No connection was made to a host, since an address of it is not public. The message names both.

    Attributes:
        host: the host, as an address writes it.
    """

    def __init__(self, host: str, address: str, what: str) -> None:
        """Say which address the host leads to, and what kind of address that is."""
        super().__init__(f"{host} is {what}" if address == host else f"{host} leads to {address}, {what}")
        self.host = host


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """Makes the connections of a pool, but only to public addresses. For asyncio."""

    def __init__(self, private_hosts: Collection[str] = ()) -> None:
        """Connect to public addresses, and to any address of `private_hosts` (as requests write them)."""
        self._private_hosts = frozenset(private_hosts)
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's name
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """Connect to a host, at the address that answers first.

        Raises:
            AddressRefusedError: an address of the host is not public, and the host may not be private. One
                such address is enough: the host's public addresses are not trusted then.
            httpcore.ConnectError: the host has no address, or none that answers.
        """
        addresses = await _look_up(host, port)
        if host.lower() not in self._private_hosts:
            for address in addresses:
                if what := why_not_public(address):
                    raise AddressRefusedError(host, address, what)

        async def connect(address: str) -> AsyncNetworkStream:
            return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)

        return await _first_connected(connect, addresses)


async def _look_up(host: str, port: int) -> list[str]:
    """A host's addresses, IPv4 and IPv6 alternately, so that a kind that does not work costs little time."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # a name that no host can have raises UnicodeError
        raise httpcore.ConnectError(f"{host} cannot be looked up: {error}") from error
    families: dict[int, list[str]] = {}
    for family, *_, address in found:
        families.setdefault(family, []).append(str(address[0]))
    in_turn = chain.from_iterable(zip_longest(*families.values()))
    return list(dict.fromkeys(address for address in in_turn if address is not None))


async def _first_connected(
    connect: Callable[[str], Awaitable[AsyncNetworkStream]], addresses: Sequence[str]
) -> AsyncNetworkStream:
    """The first connection that is made; each address has a head start before the next (RFC 8305)."""
    made: list[AsyncNetworkStream] = []
    errors: list[Exception] = []

    async def attempt(address: str, ended: anyio.Event) -> None:
        try:
            made.append(await connect(address))
            attempts.cancel_scope.cancel()
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            errors.append(error)
        finally:
            ended.set()

    try:
        async with anyio.create_task_group() as attempts:
            for address in addresses:
                ended = anyio.Event()
                attempts.start_soon(attempt, address, ended)
                with anyio.move_on_after(_HEAD_START_SECONDS):
                    await ended.wait()
    except BaseException:
        for stream in made:
            await stream.aclose()
        raise
    for stream in made[1:]:
        await stream.aclose()
    if not made:
        raise errors[0]
    return made[0]
