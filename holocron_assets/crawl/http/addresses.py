"""Which network addresses are public. Others are connected to only if a source's file lists the host.

The tables are copied from IANA's registries of special addresses: which addresses Python's `ipaddress`
counts as global differs from release to release.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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
