"""Public addresses, by the IANA registries of special addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.access.guard import Guard, is_public_address

PUBLIC = [
    *["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.0", "192.167.255.255"],
    *["11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1"],
    *["2606:4700:4700::1111", "2a00:1450:4001:830::200e", "::ffff:8.8.8.8"],
]
PRIVATE = [
    *["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
    *["fc00::1", "fdff::1", "100.64.0.1", "198.18.0.1"],
]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "0.0.0.0", "::", "0.1.2.3"]
LINK_LOCAL = ["169.254.0.1", "169.254.169.254", "fe80::1", "fe80::1%eth0", "fe80::1%25eth0"]
NO_HOSTS = [
    *["224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "ff02::1", "ff0e::1"],
    *["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"],
]
MAPPED = ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1"]
NO_ADDRESSES = [
    *["", "example.com", "127.1", "2130706433", "0x7f.1", "017.0.0.1", "1.1.1", "1.1.1.1.1"],
    *["::g", "[::1]", " 8.8.8.8", "8.8.8.8/32", "１.1.1.1", "%eth0"],
]


def test_the_guards_of_the_setting() -> None:
    assert [guard.value for guard in Guard] == ["any", "same-site", "public"]


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize(
    "address", [*PRIVATE, *LOOPBACK, *LINK_LOCAL, *NO_HOSTS, *MAPPED, *NO_ADDRESSES]
)
def test_not_public(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize(
    "prefix",
    [
        "2002:{}::",  # 6to4, RFC 3056
        "64:ff9b::{}",  # NAT64, RFC 6052
        "::{}",  # IPv4-compatible, RFC 4291, 2.5.5.1
    ],
)
@pytest.mark.parametrize("inner", ["7f00:1", "a00:1", "a9fe:a9fe", "c0a8:1"])
def test_an_inner_address_hides_nothing(prefix: str, inner: str) -> None:
    assert not is_public_address(prefix.format(inner))


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_a_mapped_address_is_as_its_inner_one(address: IPv4Address) -> None:
    mapped = IPv6Address(f"::ffff:{address}")
    assert is_public_address(str(mapped)) == is_public_address(str(address))


@given(st.text(max_size=50))
def test_never_raises(text: str) -> None:
    assert is_public_address(text) in (True, False)
