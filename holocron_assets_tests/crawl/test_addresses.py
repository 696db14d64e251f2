"""Which addresses are public. Nothing is connected to."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.http.connecting import why_not_public


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("0.0.0.0", "an unspecified"),  # noqa: S104 - nothing is bound
        ("0.1.2.3", "an unspecified"),
        ("10.0.0.1", "a private"),
        ("100.64.0.1", "a carrier's shared"),
        ("100.127.255.255", "a carrier's shared"),
        ("127.0.0.1", "a loopback"),
        ("127.255.255.254", "a loopback"),
        ("169.254.169.254", "a link-local"),
        ("172.16.0.1", "a private"),
        ("172.31.255.255", "a private"),
        ("192.0.0.192", "a protocol's"),
        ("192.168.1.1", "a private"),
        ("198.19.255.255", "a benchmark's"),
        ("224.0.0.1", "a multicast"),
        ("239.255.255.255", "a multicast"),
        ("255.255.255.255", "a reserved"),
        ("::", "an unspecified"),
        ("::1", "a loopback"),
        ("::127.0.0.1", "a reserved"),
        ("::ffff:127.0.0.1", "a loopback"),
        ("::ffff:a9fe:a9fe", "a link-local"),
        ("64:ff9b::10.0.0.1", "a private"),
        ("64:ff9b:1::10.0.0.1", "a reserved"),
        ("100::1", "a reserved"),
        ("2001::1", "a protocol's or tunnel's"),
        ("2001:db8::1", "a documentation"),
        ("2002:7f00:1::", "a 6to4 tunnel's"),
        ("5f00::1", "a reserved"),
        ("fc00::1", "a private"),
        ("fd12:3456::1", "a private"),
        ("fe80::1", "a link-local"),
        ("fe80::1%eth0", "a link-local"),
        ("fec0::1", "a private"),
        ("ff02::1", "a multicast"),
    ],
)
def test_an_address_that_is_not_public_is_named_for_what_it_is(address: str, what: str) -> None:
    assert why_not_public(address) == f"{what} address"


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450::1",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
    ],
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert why_not_public(address) is None


_SPECIAL_V4 = ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"]
_SPECIAL_V6 = ["::/16", "64:ff9b::/32", "2001::/16", "2002::/16", "fc00::/7", "fe80::/9", "ff00::/8"]
_V4 = st.one_of(st.ip_addresses(v=4), *(st.ip_addresses(network=one) for one in _SPECIAL_V4))
_V6 = st.one_of(st.ip_addresses(v=6), *(st.ip_addresses(network=one) for one in _SPECIAL_V6))


def special(address: IPv4Address | IPv6Address) -> bool:
    return address.is_private or address.is_multicast or address.is_reserved


@given(_V4)
def test_whatever_python_takes_for_special_is_not_public(address: IPv4Address) -> None:
    if why_not_public(str(address)) is None:
        assert not special(address)


@given(_V6)
def test_an_ipv6_address_is_public_only_if_it_is_unicast_or_carries_a_public_one(
    address: IPv6Address,
) -> None:
    if why_not_public(str(address)) is None:
        carried = [IPv6Network("64:ff9b::/96"), IPv6Network("::ffff:0:0/96")]
        if any(address in network for network in carried):
            assert IPv4Address(int(address) & 0xFFFFFFFF).is_global
        else:
            assert not special(address)
            assert address.sixtofour is None
            assert address.teredo is None
