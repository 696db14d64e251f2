"""Connecting to hosts of the public Internet only. The address that was checked is the one connected to.

Every new connection is made here, also after a redirect or with a false answer of a name server. It resolves
the name, checks every address that came, and connects to one of these addresses, never to the name.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import chain, zip_longest

import anyio
import httpcore
from httpcore import SOCKET_OPTION, AsyncNetworkStream

from holocron_assets.crawl.http import connections

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

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - the library's
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
            return await connections.connected(address, port, local_address, socket_options)

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
        # Without an error where something cancelled the attempts, and not the request that waits for them.
        raise errors[0] if errors else httpcore.ConnectError("the attempts to connect were cancelled")
    return made[0]


_V4 = {
    IPv4Network(network): what
    for network, what in {
        "0.0.0.0/8": "an unspecified",
        "10.0.0.0/8": "a private",
        "100.64.0.0/10": "a carrier's shared",
        "127.0.0.0/8": "a loopback",
        "169.254.0.0/16": "a link-local",
        "172.16.0.0/12": "a private",
        "192.0.0.0/24": "a protocol's",
        "192.0.2.0/24": "a documentation",
        "192.88.99.0/24": "a relay's",
        "192.168.0.0/16": "a private",
        "198.18.0.0/15": "a benchmark's",
        "198.51.100.0/24": "a documentation",
        "203.0.113.0/24": "a documentation",
        "224.0.0.0/4": "a multicast",
        "240.0.0.0/4": "a reserved",
    }.items()
}
_V6 = {
    IPv6Network(network): what
    for network, what in {
        "::/128": "an unspecified",
        "::1/128": "a loopback",
        "2001::/23": "a protocol's or tunnel's",
        "2001:db8::/32": "a documentation",
        "2002::/16": "a 6to4 tunnel's",
        "3fff::/20": "a documentation",
        "fc00::/7": "a private",
        "fe80::/10": "a link-local",
        "fec0::/10": "a private",
        "ff00::/8": "a multicast",
    }.items()
}
_UNICAST = IPv6Network("2000::/3")
"""The only IPv6 addresses that are given out for hosts of the Internet."""
_NAT64 = IPv6Network("64:ff9b::/96")
"""How networks without IPv4 write the public address in the last four bytes (RFC 6052)."""
_MAPPED = IPv6Network("::ffff:0:0/96")


def why_not_public(address: str) -> str | None:
    """What kind of address it is, such as "a loopback address"; None for one of the public Internet.

    Args:
        address: an IPv4 or IPv6 address; one with a zone (`fe80::1%eth0`) too.

    Raises:
        ValueError: the text is no address.
    """
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        if parsed in _NAT64 or parsed in _MAPPED:
            return _why_not_v4(IPv4Address(parsed.packed[-4:]))
        return _why_not_v6(parsed)
    return _why_not_v4(parsed)


def _why_not_v4(address: IPv4Address) -> str | None:
    return next((f"{what} address" for network, what in _V4.items() if address in network), None)


def _why_not_v6(address: IPv6Address) -> str | None:
    known = next((f"{what} address" for network, what in _V6.items() if address in network), None)
    return known or (None if address in _UNICAST else "a reserved address")
